package sqlite

import (
	"bytes"
	"database/sql"

	"github.com/openwop/agentmemory/memory/driver"
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

	removeDocument = `DELETE FROM documents WHERE rev = ?`
	addBody        = `INSERT INTO bodies (subjects, value) VALUES (?, ?)`
	copyBody       = `INSERT INTO bodies (subjects, value) SELECT ?, value FROM bodies WHERE body = ?`
	addOf          = `INSERT OR IGNORE INTO document_of (rev, entry) SELECT ?3, e.entry FROM ` + named
	addTextLabels  = `INSERT OR IGNORE INTO document_labels (rev, label) SELECT ?1, unhex(j.value) FROM json_each(?2) j`
)

// loadDocuments looks up what a mutation swaps.
func (c *change) loadDocuments(swaps []driver.DocumentSwap) error {
	c.documents = make([]storedDocument, len(swaps))
	if len(swaps) == 0 {
		return nil
	}
	names := make([][3]string, len(swaps))
	for i := range swaps {
		names[i] = [3]string{inHex(swaps[i].Ref), inHex(swaps[i].Kind), inHex(swaps[i].Key)}
	}
	return c.query(func(rows *sql.Rows) (bool, error) {
		var i int
		var d storedDocument
		var class driver.Class
		if err := rows.Scan(&i, &d.rev, &class, &d.body, &d.subjects); err != nil {
			return false, wrap(readFailed, err)
		}
		c.documents[i], c.stored.Documents[i] = d, driver.Document{Rev: d.rev, Class: class}
		return true, nil
	}, getDocuments, c.tenant, inJSON(names))
}

// swapAll does what swaps say whose conditions hold, after the entries of their mutation
// were changed, and returns the revisions that there are then.
func (c *change) swapAll(swaps []driver.DocumentSwap) (revs []int64, err error) {
	for i := range swaps {
		rev, err := c.swap(&swaps[i], &c.documents[i])
		if err != nil {
			return nil, err
		}
		revs = append(revs, rev)
	}
	return revs, nil
}

func (c *change) swap(x *driver.DocumentSwap, old *storedDocument) (int64, error) {
	switch {
	case x.Act == driver.Check, old.rev == 0 && x.Act != driver.Set: // it may have gone with an entry
		return old.rev, nil
	case x.Act == driver.Remove:
		if x.Class != driver.Machinery {
			c.removed(old.rev, old.body)
		}
		return 0, c.execAll(old.rev, removeDocument)
	}
	var value []byte
	body := old.body
	var err error
	if x.Class == driver.Machinery {
		if x.Act == driver.Set {
			value = summed(x.Value)
		}
	} else {
		body, err = c.putBody(x, old)
	}
	if err != nil {
		return 0, err
	}
	var due any
	if !x.Due.IsZero() {
		due = x.Due.UnixMilli()
	}
	rev, err := c.insert(setDocument, c.tenant, x.Ref, x.Kind, x.Key, x.Class, x.Group, due, value, body, pack(x.Of), x.Whole, old.rev)
	if err == nil && len(x.Of) > 0 {
		_, err = c.exec(addOf, c.tenant, namesIn(x.Scope, x.Of), rev)
	}
	if err == nil && len(x.Subjects) > 0 {
		labels := make([]string, len(x.Subjects))
		for i, subject := range x.Subjects {
			labels[i] = inHex(string(labelOf(c.tenant, subject)))
		}
		_, err = c.exec(addTextLabels, rev, inJSON(labels))
	}
	return rev, err
}

// putBody returns the body of a document that is no machinery: that of the old one, if it is
// to have the same value and subjects.
func (c *change) putBody(x *driver.DocumentSwap, old *storedDocument) (*int64, error) {
	subjects := pack(x.Subjects)
	var body int64
	var err error
	switch {
	case x.Act == driver.Set:
		body, err = c.insert(addBody, subjects, summed(x.Value))
	case bytes.Equal(subjects, old.subjects):
		c.removed(old.rev, nil)
		return old.body, nil
	default:
		body, err = c.insert(copyBody, subjects, old.body)
	}
	c.removed(old.rev, old.body)
	return &body, err
}

// removed notes that a document goes, with its body if it is told.
func (t *tx) removed(rev int64, body *int64) {
	if rev != 0 {
		t.oldRevs = append(t.oldRevs, rev)
	}
	if body != nil {
		t.oldBodies = append(t.oldBodies, *body)
	}
}

// clearRemoved removes what documents that have gone leave. A body is emptied: see the README.
func (t *tx) clearRemoved() error {
	if len(t.oldRevs) > 0 {
		err := t.execAll(inJSON(t.oldRevs), `DELETE FROM document_of WHERE rev IN (SELECT value FROM json_each(?))`,
			`DELETE FROM document_labels WHERE rev IN (SELECT value FROM json_each(?))`)
		if err != nil {
			return err
		}
	}
	if len(t.oldBodies) > 0 {
		t.erased = true
		err := t.execAll(inJSON(t.oldBodies), `UPDATE bodies SET subjects = NULL, value = NULL WHERE body IN (SELECT value FROM json_each(?))`)
		if err != nil {
			return err
		}
	}
	t.oldRevs, t.oldBodies = nil, nil
	return nil
}

// removeMadeOf removes the documents that were made of any of the entries whose keys a list
// has, or of the whole ref of one, and returns their revisions.
func (t *tx) removeMadeOf(keys string) (revs []int64, err error) {
	err = t.query(func(rows *sql.Rows) (bool, error) {
		var rev int64
		var body *int64
		if err := rows.Scan(&rev, &body); err != nil {
			return false, wrap(writeFailed, err)
		}
		t.removed(rev, body)
		revs = append(revs, rev)
		return true, nil
	}, removeMade, keys)
	return revs, err
}

const removeMade = `DELETE FROM documents WHERE rev IN (
	SELECT rev FROM document_of WHERE entry IN (SELECT value FROM json_each(?1))
	UNION ALL SELECT d.rev FROM json_each(?1) j CROSS JOIN entries e ON e.entry = j.value AND e.died > 0
		CROSS JOIN documents d INDEXED BY documents_whole ON d.tenant = e.tenant AND d.ref = e.ref AND d.whole = 1)
	RETURNING rev, body`
