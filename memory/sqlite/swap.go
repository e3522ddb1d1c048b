package sqlite

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// storedDocument is what the database has of a document: nothing if rev is 0.
type storedDocument struct {
	rev      int64
	body     *int64
	subjects []byte
}

const (
	getDocuments = `SELECT j.key, d.rev, d.class, d.body, b.subjects FROM json_each(?2) j
		CROSS JOIN documents d ON d.tenant = ?1 AND d.ref = ` + name0 + ` AND d.kind = ` + name1 + ` AND d.key = ` + name2 + `
		LEFT JOIN bodies b ON b.body = d.body`

	// A new row has a new revision and takes the place of the old one, of which machinery has
	// the value if none is given.
	setDocument = `INSERT OR REPLACE INTO documents (tenant, ref, kind, key, class, grp, due, value, body, origin, whole)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ifnull(?8, (SELECT value FROM documents WHERE rev = ?12)), ?9, ?10, ?11)`

	addBody       = `INSERT INTO bodies (subjects, value) VALUES (?, ?)`
	copyBody      = `INSERT INTO bodies (subjects, value) SELECT ?, value FROM bodies WHERE body = ?`
	addOf         = `INSERT OR IGNORE INTO document_of (rev, entry) SELECT ?3, e.entry FROM json_each(?4) j` + ofRef
	addTextLabels = `INSERT OR IGNORE INTO document_labels (rev, label) SELECT ?1, unhex(j.value) FROM json_each(?2) j`

	// removeMade removes the documents that were made of any of some entries, or of a whole ref.
	removeMade = `DELETE FROM documents WHERE rev IN (
		SELECT rev FROM document_of WHERE entry IN (SELECT value FROM json_each(?2))
		UNION ALL SELECT d.rev FROM json_each(?3) j CROSS JOIN documents d INDEXED BY documents_whole
			ON d.tenant = ?1 AND d.ref = CAST(unhex(j.value) AS TEXT) AND d.whole = 1)
		RETURNING rev, body`
)

// loadDocuments looks up what a mutation swaps.
func (c *change) loadDocuments(swaps []driver.DocumentSwap) {
	c.documents = make([]storedDocument, len(swaps))
	if len(swaps) == 0 {
		return
	}
	names := make([][3]string, len(swaps))
	for i := range swaps {
		names[i] = [3]string{inHex(swaps[i].Ref), inHex(swaps[i].Kind), inHex(swaps[i].Key)}
	}
	c.query(func(rows sqlstore.Row) (bool, error) {
		var i int
		var d storedDocument
		var class driver.Class
		err := rows.Scan(&i, &d.rev, &class, &d.body, &d.subjects)
		c.documents[i], c.stored.Documents[i] = d, driver.Document{Rev: d.rev, Class: class}
		return true, err
	}, getDocuments, c.tenant, inJSON(names))
}

// swap does what a swap says whose condition holds, after the entries of its mutation were
// changed, and returns the revision that there is then.
func (c *change) swap(x *driver.DocumentSwap, old *storedDocument) int64 {
	switch {
	case x.Act == driver.Check, old.rev == 0 && x.Act != driver.Set: // it may have gone with an entry
		return old.rev
	case x.Act == driver.Remove:
		c.removeDocuments(`DELETE FROM documents WHERE rev = ? RETURNING rev, body`, old.rev)
		return 0
	}
	var value []byte
	var due any
	body := old.body
	switch {
	case x.Class != driver.Machinery:
		body = c.putBody(x, old)
	case x.Act == driver.Set:
		value = summed(x.Value)
	}
	if !x.Due.IsZero() {
		due = x.Due.UnixMilli()
	}
	rev, _ := c.exec(setDocument, c.tenant, x.Ref, x.Kind, x.Key, x.Class, x.Group, due, value, body, sqlstore.Pack(x.Of), x.Whole, old.rev)
	if len(x.Of) > 0 {
		c.exec(addOf, c.tenant, x.Ref, rev, hexList(x.Of))
	}
	if len(x.Subjects) > 0 {
		labels := make([]string, len(x.Subjects))
		for i, subject := range x.Subjects {
			labels[i] = hex.EncodeToString(sqlstore.Label(c.tenant, subject))
		}
		c.exec(addTextLabels, rev, inJSON(labels))
	}
	return rev
}

// putBody returns the body of a document that is no machinery: that of the old one, if it is
// to have the same value and subjects.
func (c *change) putBody(x *driver.DocumentSwap, old *storedDocument) *int64 {
	subjects := sqlstore.Pack(x.Subjects)
	var body int64
	switch {
	case x.Act == driver.Set:
		body, _ = c.exec(addBody, subjects, summed(x.Value))
	case bytes.Equal(subjects, old.subjects):
		return old.body
	default:
		body, _ = c.exec(copyBody, subjects, old.body)
	}
	if old.body != nil {
		c.unused = append(c.unused, *old.body)
	}
	return &body
}

// removeDocuments runs a statement that removes documents and returns their revisions and bodies,
// and returns the revisions.
func (t *tx) removeDocuments(text string, args ...any) (revs []int64) {
	t.query(func(rows sqlstore.Row) (bool, error) {
		var rev int64
		var body *int64
		err := rows.Scan(&rev, &body)
		revs = append(revs, rev)
		if body != nil {
			t.unused = append(t.unused, *body)
		}
		return true, err
	}, text, args...)
	return revs
}

// removeMade removes the documents that were made of entries, or of the whole ref of one that was
// not erased before, and returns their revisions.
func (t *tx) removeMade(tenant string, entries []*row) (revs []int64) {
	refs := map[string]bool{}
	for _, r := range entries {
		if !r.Erased {
			refs[r.Ref] = true
		}
	}
	return t.removeDocuments(removeMade, tenant, keysOf(entries), hexList(slices.Collect(maps.Keys(refs))))
}
