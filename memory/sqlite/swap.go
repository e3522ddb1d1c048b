package sqlite

import (
	"bytes"

	"github.com/openwop/agentmemory/memory/driver"
)

const (
	// A new row has a new revision and takes the place of the old one, of which it has the
	// value if none is given.
	setMachinery = `INSERT OR REPLACE INTO documents (tenant, ref, kind, key, class, grp, due, value)
		VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ifnull(?7, (SELECT value FROM documents WHERE rev = ?8)))`
	addText        = `INSERT INTO documents (tenant, ref, kind, key, class, grp, body, origin) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	removeDocument = `DELETE FROM documents WHERE rev = ?`
)

func due(d *driver.Document) any {
	if d.Due.IsZero() {
		return nil
	}
	return d.Due.UnixMilli()
}

// swapMachinery swaps documents of the class [driver.Machinery], or returns
// [driver.ErrConflict].
func (t *tx) swapMachinery(swaps []driver.DocumentSwap) ([]int64, error) {
	revs := make([]int64, len(swaps))
	for i := range swaps {
		x := &swaps[i]
		there, err := t.document(x.Tenant, x.Ref, x.Kind, x.Key)
		switch {
		case err != nil:
		case there.rev != x.Rev, there.class != driver.Machinery:
			err = driver.ErrConflict
		case x.Act == driver.Check:
			revs[i] = x.Rev
		case x.Act == driver.Remove:
			err = t.execAll(x.Rev, removeDocument)
		default:
			var value []byte // of the old one
			if x.Act == driver.Set {
				value = summed(x.Value)
			}
			revs[i], err = t.insert(setMachinery, x.Tenant, x.Ref, x.Kind, x.Key, x.Group, due(&x.Document), value, x.Rev)
		}
		if err != nil {
			return nil, err
		}
	}
	return revs, nil
}

// swapAll does what swaps say whose conditions hold, after the entries of their mutation
// were changed, and returns the revisions that there are then.
func (c *change) swapAll(swaps []driver.DocumentSwap) ([]int64, error) {
	if len(swaps) == 0 {
		return nil, nil
	}
	revs := make([]int64, len(swaps))
	for i := range swaps {
		x := &swaps[i]
		if x.Class == driver.Machinery {
			made, err := c.tx.swapMachinery(swaps[i : i+1])
			if err != nil {
				return nil, err
			}
			revs[i] = made[0]
			continue
		}
		old, err := c.tx.document(c.tenant, x.Ref, x.Kind, x.Key)
		switch {
		case err != nil:
		case x.Act == driver.Check, x.Act == driver.Retain && old.rev == 0: // it went with an entry, and its value too
			revs[i] = old.rev
		case x.Act == driver.Remove:
			err = c.tx.removeText(old)
		default:
			revs[i], err = c.putText(x, old)
		}
		if err != nil {
			return nil, err
		}
	}
	return revs, nil
}

// putText stores content or host text in place of what was there.
func (c *change) putText(x *driver.DocumentSwap, old storedDocument) (int64, error) {
	t := c.tx
	subjects := pack(x.Subjects)
	body := old.body
	var err error
	kept := false
	if x.Act == driver.Retain && body != nil {
		var known []byte
		err = t.get([]any{&known}, `SELECT subjects FROM bodies WHERE body = ?`, *body)
		kept = bytes.Equal(known, subjects)
	}
	if err == nil && !kept {
		var added int64
		if x.Act == driver.Retain && body != nil {
			added, err = t.insert(`INSERT INTO bodies (subjects, value) SELECT ?, value FROM bodies WHERE body = ?`, subjects, *body)
		} else {
			added, err = t.insert(`INSERT INTO bodies (subjects, value) VALUES (?, ?)`, subjects, summed(x.Value))
		}
		body = &added
	}
	if err != nil {
		return 0, err
	}
	if kept {
		old.body = nil // stays
	}
	if err := t.removeText(old); err != nil {
		return 0, err
	}
	rev, err := t.insert(addText, c.tenant, x.Ref, x.Kind, x.Key, x.Class, x.Group, *body, pack(x.Of))
	if err == nil && len(x.Of) > 0 {
		_, err = t.exec(`INSERT OR IGNORE INTO document_of (rev, entry) SELECT ?4, e.entry FROM `+listed, c.tenant, x.Ref, idList(x.Of), rev)
	}
	for _, subject := range x.Subjects {
		if err == nil {
			_, err = t.exec(`INSERT OR IGNORE INTO document_labels (rev, label) VALUES (?, ?)`, rev, labelOf(c.tenant, subject))
		}
	}
	return rev, err
}

// removeText removes a document that is no machinery. Its body is emptied: see the README.
func (t *tx) removeText(d storedDocument) error {
	if d.rev == 0 {
		return nil
	}
	if d.body != nil {
		t.erased = true
		if _, err := t.exec(`UPDATE bodies SET subjects = NULL, value = NULL WHERE body = ?`, *d.body); err != nil {
			return err
		}
	}
	return t.execAll(d.rev, `DELETE FROM document_of WHERE rev = ?`, `DELETE FROM document_labels WHERE rev = ?`, removeDocument)
}

// removeMadeOf removes the documents that were made of any of the entries whose keys a list
// has.
func (t *tx) removeMadeOf(keys string) error {
	made, err := collect(t.query, scanStoredDocument, `SELECT rev, body FROM documents WHERE rev IN
		(SELECT rev FROM document_of WHERE entry IN (SELECT value FROM json_each(?)))`, keys)
	for _, d := range made {
		if err == nil {
			err = t.removeText(d)
		}
	}
	return err
}
