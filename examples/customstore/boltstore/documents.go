package boltstore

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 5. A document is swapped iff its revision is the one that the caller has seen, of which
// the plan judges on page 7. Two things are the store's: no revision is ever used again, even
// of a document that was removed, so they come from a sequence of the file; and what was made
// of an entry goes with it, wherever in the ref it is (DOCUMENT, FORGET).

func documentKey(d *driver.Document) []byte { return key("document", d.Tenant, d.Ref, d.Kind, d.Key) }

// document returns a document, whose revision is 0 if there is none.
func (t *tx) document(k []byte) (d driver.Document) {
	t.load(k, &d)
	return d
}

// swap does what a swap that holds says, and returns the revision that the document has
// then. The mutation may have removed it before, with an entry.
func (t *tx) swap(x *driver.DocumentSwap) int64 {
	d, held := x.Document, t.document(documentKey(&x.Document))
	switch {
	case x.Act == driver.Check, x.Act == driver.Retain && held.Rev == 0:
		return held.Rev
	case x.Act == driver.Retain:
		d.Value = held.Value
	}
	if held.Rev > 0 {
		t.discard(held)
	}
	if x.Act == driver.Remove {
		return 0
	}
	rev, err := t.NextSequence() // which bbolt never gives again
	t.note(err)
	d.Due, d.Rev = d.Due.UTC(), int64(rev)
	t.save(documentKey(&d), d)
	if !d.Due.IsZero() {
		t.put(dueKey(&d), documentKey(&d))
	}
	return d.Rev
}

func dueKey(d *driver.Document) []byte {
	return append(with(key("due", d.Kind), millis(d.Due)), key(d.Tenant, d.Ref, d.Key)...)
}

func (t *tx) discard(d driver.Document) { t.remove(documentKey(&d), dueKey(&d)) }

// documents are all whose keys begin so, in their order.
func (t *tx) documents(prefix []byte) (docs []driver.Document) {
	for _, data := range t.ascend(prefix) {
		var d driver.Document
		t.read(data, &d)
		docs = append(docs, d)
	}
	return docs
}

// Documents yields the documents that q asks for, in the order of their keys.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return all(ctx, st, func(t *tx) (docs []driver.Document, err error) {
		for _, d := range t.documents(key("document", q.Tenant)) {
			if q.Bare {
				d.Value = nil
			}
			if q.Matches(&d) && (q.Limit == 0 || len(docs) < q.Limit) {
				docs = append(docs, d)
			}
		}
		return docs, nil
	})
}

// Due returns the documents of a kind, of all tenants, that are due at the instant at: see
// [driver.Scheduler].
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) (docs []driver.Document, err error) {
	err = st.view(ctx, func(t *tx) error {
		end := with(key("due", kind), millis(at)+1)
		for k, document := range t.ascend(key("due", kind)) {
			if len(docs) >= limit || bytes.Compare(k, end) >= 0 {
				break
			}
			docs = append(docs, t.document(document))
		}
		return nil
	})
	return docs, err
}
