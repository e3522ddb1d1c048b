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
// of an entry goes with it, which is why it is found by the entry (DOCUMENT, FORGET).

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
	for _, k := range finders(&d) {
		t.put(k, documentKey(&d))
	}
	return d.Rev
}

// finders are the keys by which a document is found.
func finders(d *driver.Document) (keys [][]byte) {
	for _, id := range d.Of {
		keys = append(keys, key("made", d.Tenant, d.Ref, id, d.Kind, d.Key))
	}
	if d.Whole {
		keys = append(keys, key("made", d.Tenant, d.Ref, "", d.Kind, d.Key))
	}
	if !d.Due.IsZero() {
		keys = append(keys, append(with(key("due", d.Kind), millis(d.Due)), key(d.Tenant, d.Ref, d.Key)...))
	}
	return keys
}

func (t *tx) discard(d driver.Document) { t.remove(append(finders(&d), documentKey(&d))...) }

// Documents yields the documents that q asks for, in the order of their keys.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	prefix := key("document", q.Tenant)
	if !q.EveryRef {
		prefix = key("document", q.Tenant, q.Ref)
	}
	type position struct {
		from []byte
		seen int
	}
	return loop(ctx, st, position{from: prefix}, func(t *tx, at *position) (driver.Document, bool, error) {
		for k, data := range t.ascend(prefix, at.from) {
			var d driver.Document
			if t.read(data, &d); q.Matches(&d) && (q.Limit == 0 || at.seen < q.Limit) {
				at.from = append(bytes.Clone(k), 0) // the least key behind this one
				at.seen++
				if q.Bare {
					d.Value = nil
				}
				return d, true, nil
			}
		}
		return driver.Document{}, false, nil
	})
}

// Due returns the documents of a kind, of all tenants, that are due at the instant at: see
// [driver.Scheduler].
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) (docs []driver.Document, err error) {
	err = st.view(ctx, func(t *tx) error {
		prefix := key("due", kind)
		for k, document := range t.ascend(prefix, prefix) {
			if len(docs) >= limit || bytes.Compare(k, with(prefix, millis(at)+1)) >= 0 {
				break
			}
			docs = append(docs, t.document(document))
		}
		return nil
	})
	return docs, err
}
