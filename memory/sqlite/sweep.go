package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

// SQLite fills with zeros what it frees on a page, and each page that leaves a table. But
// when it moves rows from page to page it leaves what they were in the gap between the
// pointers and the rows of the page that they left (rebuildPage in its btree.c), where an
// erasure later would not reach them. So the rows with text, those of texts and bodies, do
// not move: each is added behind the last one, for which SQLite takes a new page and moves
// nothing (balance_quick), and is only ever made smaller, for which it moves nothing
// either. Purge and DropTenant alone take rows out of these tables, so that others move, to pages
// beside those that they took them from: zeroGapsBeside overwrites the gaps of these in the same
// transaction.

// allPages are the pages of all tables and indexes. Rows of the others move at any time, so
// that names and machinery of a tenant that is dropped are in their gaps too. The first page of
// the file begins with its header, and has no gap in the eyes of the function gap.
const allPages = `SELECT p.pgno, p.data FROM dbstat d CROSS JOIN sqlite_dbpage p ON p.pgno = d.pageno
	WHERE d.pagetype <> 'overflow'`

// zeroAllGaps fills the gaps on all pages with zeros.
func (t *tx) zeroAllGaps() {
	dirty := map[int64][]byte{}
	t.query(func(rows *sql.Rows) (bool, error) {
		var number int64
		var data sql.RawBytes
		err := rows.Scan(&number, &data)
		if clean, ok := zeroed(data); ok {
			dirty[number] = clean
		}
		return true, wrap(writeFailed, err)
	}, allPages)
	for number, data := range dirty {
		t.writePage(number, data)
	}
}

// zeroed returns a copy of a page whose gap is zeros; ok is false if it was so. A damaged page
// is left to the integrity check.
func zeroed(data []byte) ([]byte, bool) {
	from, to, ok := gap(data)
	if !ok || len(bytes.Trim(data[from:to], "\x00")) == 0 {
		return nil, false
	}
	clean := bytes.Clone(data)
	clear(clean[from:to])
	return clean, true
}

func (t *tx) writePage(number int64, data []byte) {
	t.exec(`UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, data, number)
}

// reach is how many leaves on each side of a row that was taken out may hold a copy of one
// that moved: SQLite balances a leaf with two others under the same page, which leaves no
// more of them than there were.
const reach = 2

// zeroGapsBeside fills the gaps on the leaves of a table that rows with those keys were taken out
// of, and on those beside them, with zeros. What it costs does not depend on how large the
// table is, but for its depth.
func (t *tx) zeroGapsBeside(table string, keys []int64) {
	var root int64
	first(t.query, []any{&root}, `SELECT rootpage FROM sqlite_schema WHERE name = ?`, table)
	slices.Sort(keys)
	done := int64(math.MinInt64) // the last key of the leaf that was looked at last
	for _, key := range keys {
		if key <= done {
			continue
		}
		l := t.leafOf(root, key)
		done = l.last
		for range reach {
			if l.after > math.MinInt64 {
				l = t.leafOf(root, l.after)
			}
		}
		for behind := 0; t.err == nil; l = t.leafOf(root, l.last+1) {
			if clean, dirty := zeroed(l.data); dirty {
				t.writePage(l.number, clean)
			}
			if l.last >= key {
				behind++
			}
			if behind > reach || l.last == math.MaxInt64 {
				break
			}
		}
	}
}

// leaf is a leaf of a table, on which the rows are that have keys behind after, up to last.
type leaf struct {
	number      int64
	data        []byte
	after, last int64
}

// leafOf returns the leaf of a table where a key is, or would be.
func (t *tx) leafOf(root, key int64) leaf {
	l := leaf{number: root, after: math.MinInt64, last: math.MaxInt64}
	for range maxDepth {
		first(t.query, []any{&l.data}, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`, l.number)
		if t.err != nil || len(l.data) < 12 || l.data[0] != interiorOfTable {
			return l
		}
		// A cell is the number of a page and the last key in it; behind them is the last page.
		n := int(binary.BigEndian.Uint16(l.data[3:]))
		if 12+2*n > len(l.data) {
			break
		}
		cell := func(i int) []byte { return l.data[min(len(l.data), int(binary.BigEndian.Uint16(l.data[12+2*i:]))):] }
		last := func(i int) int64 { return varint(cell(i)[min(4, len(cell(i))):]) }
		i := sort.Search(n, func(i int) bool { return last(i) >= key })
		if i > 0 {
			l.after = last(i - 1)
		}
		child := l.data[8:]
		if i < n {
			l.last, child = last(i), cell(i)
		}
		if len(child) < 4 {
			break
		}
		l.number = int64(binary.BigEndian.Uint32(child))
	}
	t.err = fail(damaged, nil) // or pages that lead back to each other
	return l
}

// maxDepth is how deep a table may be, as SQLite has it.
const maxDepth = 20

// interiorOfTable is the first byte of a page of a table that is no leaf.
const interiorOfTable = 5

// varint reads an integer as SQLite writes one: seven bits a byte, the highest first, and
// all eight of a ninth.
func varint(b []byte) (n int64) {
	for i, x := range b {
		if i == 8 {
			return n<<8 | int64(x)
		}
		if n = n<<7 | int64(x&0x7f); x < 0x80 {
			break
		}
	}
	return n
}

// gap returns where the gap of a page of a table is, which is not the file's first one.
// See https://sqlite.org/fileformat2.html#b_tree_pages.
func gap(data []byte) (from, to int, ok bool) {
	if len(data) < 12 {
		return 0, 0, false
	}
	from = 8
	if data[0] == 2 || data[0] == 5 {
		from = 12
	}
	from += 2 * int(binary.BigEndian.Uint16(data[3:]))
	if to = int(binary.BigEndian.Uint16(data[5:])); to == 0 {
		to = 65536
	}
	return from, to, from <= to && to <= len(data)
}
