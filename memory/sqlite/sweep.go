package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/openwop/agentmemory/memory/internal/sqlstore"
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
	t.query(func(rows sqlstore.Row) (bool, error) {
		var number int64
		var data sql.RawBytes
		err := rows.Scan(&number, &data)
		if clean, ok := zeroed(data); ok {
			dirty[number] = clean
		}
		return true, err
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

// The leaves of a table, with each row that is on them, before a key and from it on.
const (
	leavesOf     = `SELECT sqlite_offset(%[2]s) / (SELECT page_size FROM pragma_page_size) + 1, rowid FROM %[1]s WHERE rowid `
	leavesBefore = leavesOf + `< ? ORDER BY rowid DESC`
	leavesFrom   = leavesOf + `>= ? ORDER BY rowid`
)

// zeroGapsBeside fills the gaps on the leaves of a table that rows with those keys were taken out
// of, and on those beside them, with zeros. What it costs does not depend on how large the
// table is, but for its depth.
func (t *tx) zeroGapsBeside(table, column string, keys []int64) {
	slices.Sort(keys)
	leaves := map[int64]bool{}
	done := int64(math.MinInt64) // the last key of the leaf that was looked at last
	for _, key := range keys {
		if key <= done {
			continue
		}
		for _, text := range []string{leavesBefore, leavesFrom} {
			var seen []int64
			t.query(func(rows sqlstore.Row) (bool, error) {
				var leaf, row int64
				if err := rows.Scan(&leaf, &row); err != nil {
					return false, err
				}
				if !slices.Contains(seen, leaf) {
					seen = append(seen, leaf)
				}
				switch len(seen) {
				case 1:
					done = row
				case 2 + reach:
					return false, nil
				}
				leaves[leaf] = true
				return true, nil
			}, fmt.Sprintf(text, table, column), key)
		}
	}
	for number := range leaves {
		var data []byte
		first(t.query, []any{&data}, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`, number)
		if clean, dirty := zeroed(data); dirty {
			t.writePage(number, clean)
		}
	}
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
