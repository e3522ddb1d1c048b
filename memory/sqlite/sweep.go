package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
)

// tables are some whose rows are erased together, as a statement lists them.
type tables string

const (
	memoryTables  tables = `'entries', 'former', 'subjects', 'cells', 'outbox'`
	archiveTables tables = `'archives', 'archive_keys'`
	fileTables    tables = `'files'`
)

// pages are those of the trees of tables, which are the tables and their indexes. SQLite
// fills with zeros what it frees on a page, but when it moves rows from page to page it
// leaves what they were in the gap between the pointers and the rows of the page that they
// left (rebuildPage in its btree.c). That page is one of the same tree: one that leaves a
// tree is filled with zeros (freePage2).
func (of tables) pages() string {
	return `SELECT p.pgno, p.data FROM sqlite_schema s CROSS JOIN dbstat d ON d.name = s.name
		CROSS JOIN sqlite_dbpage p ON p.pgno = d.pageno
		WHERE s.tbl_name IN (` + string(of) + `) AND d.pagetype <> 'overflow'`
}

// sweep fills the gaps in the tables that something was erased from with zeros. It reads
// all pages of these tables.
func (t *tx) sweep() error {
	type page struct {
		number int64
		data   []byte
	}
	var dirty []page
	err := t.query(func(rows *sql.Rows) (bool, error) {
		var number int64
		var data sql.RawBytes
		if err := rows.Scan(&number, &data); err != nil {
			return false, wrap(writeFailed, err)
		}
		from, to, ok := gap(number, data)
		if ok && len(bytes.Trim(data[from:to], "\x00")) > 0 { // what is damaged is for others to find
			clean := bytes.Clone(data)
			clear(clean[from:to])
			dirty = append(dirty, page{number, clean})
		}
		return true, nil
	}, t.erased.pages())
	if err != nil {
		return err
	}
	for _, p := range dirty {
		if _, err := t.exec(`UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, p.data, p.number); err != nil {
			return err
		}
	}
	return nil
}

// gap returns where the gap of a page of a tree is.
// See https://sqlite.org/fileformat2.html#b_tree_pages.
func gap(number int64, data []byte) (from, to int, ok bool) {
	at := 0
	if number == 1 {
		at = 100
	}
	if len(data) < at+12 {
		return 0, 0, false
	}
	from = at + 8
	if data[at] == 2 || data[at] == 5 {
		from = at + 12
	}
	from += 2 * int(binary.BigEndian.Uint16(data[at+3:]))
	if to = int(binary.BigEndian.Uint16(data[at+5:])); to == 0 {
		to = 65536
	}
	return from, to, from <= to && to <= len(data)
}
