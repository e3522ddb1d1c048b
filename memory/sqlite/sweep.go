package sqlite

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/binary"
)

// SQLite fills with zeros what it frees on a page, and each page that leaves a table. But
// when it moves rows from page to page it leaves what they were in the gap between the
// pointers and the rows of the page that they left (rebuildPage in its btree.c), where an
// erasure later would not reach them. So the rows with text, those of texts and bodies, do
// not move: each is added behind the last one, for which SQLite takes a new page and moves
// nothing (balance_quick), and is only ever made smaller, for which it moves nothing
// either. A purge alone takes rows out of these tables, so that others move. In the same
// transaction it notes that a sweep is owed.
const oweSweep = `INSERT INTO meta (key, value) VALUES ('unswept', '') ON CONFLICT DO NOTHING`

// textPages are the pages of the tables with text.
const textPages = `SELECT p.pgno, p.data FROM dbstat d CROSS JOIN sqlite_dbpage p ON p.pgno = d.pageno
	WHERE d.name IN ('texts', 'bodies') AND d.pagetype <> 'overflow'`

// allPages are the pages of all tables and indexes. Rows of the others move at any time, so
// that names and machinery of a tenant that is dropped are in their gaps too.
const allPages = `SELECT p.pgno, p.data FROM dbstat d CROSS JOIN sqlite_dbpage p ON p.pgno = d.pageno
	WHERE d.pageno > 1 AND d.pagetype <> 'overflow'`

// sweep fills the gaps on the pages with text, or those that t.sweeps selects, with zeros,
// if that is owed. It reads them all.
func (t *tx) sweep() error {
	owed, err := t.changed(`DELETE FROM meta WHERE key = 'unswept'`)
	if err != nil || !owed {
		return err
	}
	type page struct {
		number int64
		data   []byte
	}
	var dirty []page
	err = t.query(func(rows *sql.Rows) (bool, error) {
		var number int64
		var data sql.RawBytes
		if err := rows.Scan(&number, &data); err != nil {
			return false, wrap(writeFailed, err)
		}
		from, to, ok := gap(data)
		if ok && len(bytes.Trim(data[from:to], "\x00")) > 0 { // what is damaged is for others to find
			clean := bytes.Clone(data)
			clear(clean[from:to])
			dirty = append(dirty, page{number, clean})
		}
		return true, nil
	}, cmp.Or(t.sweeps, textPages))
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
