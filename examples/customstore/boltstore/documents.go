package boltstore

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 4. A document is swapped iff its revision is the one that the caller has seen, of which
// the plan judges on page 5. Two things are the store's: no revision is ever used again, even
// of a document that was removed, so they come from a sequence of the file; and what was made
// of an entry goes with it, wherever in the ref it is (DOCUMENT, FORGET). What is due is found over
// all tenants, for commitments (DUE).

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
	if x.Act == driver.Check || x.Act == driver.Retain && held.Rev == 0 {
		return held.Rev
	}
	if t.discard(held); x.Act == driver.Remove {
		return 0
	}
	if x.Act == driver.Retain {
		d.Value = held.Value
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

// discardMadeOf removes what was made of an entry or of its whole ref.
func (t *tx) discardMadeOf(l driver.Located) {
	for _, k := range slices.Collect(t.under(key("document", l.Tenant, l.Ref))) {
		if d := t.document(k); d.Whole || slices.Contains(d.Of, l.ID) {
			t.discard(d)
		}
	}
}

// Documents yields the documents that q asks for, in the order of their keys.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return all(ctx, st, func(t *tx) (docs []driver.Document) {
		for k := range t.under(key("document", q.Tenant)) {
			d := t.document(k)
			if q.Bare {
				d.Value = nil
			}
			if q.Matches(&d) && (q.Limit == 0 || len(docs) < q.Limit) {
				docs = append(docs, d)
			}
		}
		return docs
	})
}

// Due returns the documents of a kind, of all tenants, that are due at the instant at: see
// [driver.Scheduler].
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return view(ctx, st, func(t *tx) (docs []driver.Document) {
		due := key("due", kind)
		for k := range t.ascend(due, with(due, millis(at)+1)) {
			if len(docs) >= limit {
				break
			}
			docs = append(docs, t.document(t.Get(k)))
		}
		return docs
	})
}
