package boltstore

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

func documentKey(d *driver.Document) []byte { return key(d.Tenant, d.Ref, d.Kind, d.Key) }

// document returns a document, or nil if there is none.
func (t *tx) document(k []byte, bare bool) *driver.Document {
	var d driver.Document
	if !t.load(documents, k, &d) {
		return nil
	}
	if !bare {
		d.Value = bytes.Clone(t.get(values, k)) // what bbolt gives is gone with the transaction
	}
	return &d
}

// swap does what a swap that holds says, and returns the revision that the document has
// then. The mutation may have removed it before, with an entry.
func (t *tx) swap(x *driver.DocumentSwap) int64 {
	k := documentKey(&x.Document)
	held := t.document(k, true)
	switch {
	case x.Act == driver.Check && held != nil:
		return held.Rev
	case x.Act == driver.Remove && held != nil:
		t.discard(held)
	case x.Act == driver.Set, x.Act == driver.Retain && held != nil:
		return t.set(k, held, x)
	}
	return 0
}

func (t *tx) set(k []byte, held *driver.Document, x *driver.DocumentSwap) int64 {
	d := x.Document
	if x.Act == driver.Set {
		t.put(values, k, d.Value)
	}
	if held != nil {
		t.index(held, t.remove)
	}
	rev, err := t.Bucket(documents).NextSequence() // which bbolt never gives again
	if err != nil {
		t.failed(err)
	}
	d.Value, d.Due, d.Rev = nil, d.Due.UTC(), int64(rev)
	t.save(documents, k, d)
	t.index(&d, func(bucket, found []byte) { t.put(bucket, found, k) })
	return d.Rev
}

// index calls f for each key by which a document is found.
func (t *tx) index(d *driver.Document, f func(bucket, k []byte)) {
	for _, id := range d.Of {
		f(byOrigin, key(d.Tenant, d.Ref, id, d.Kind, d.Key))
	}
	if !d.Due.IsZero() {
		f(byDue, append(with(key(d.Kind), millis(d.Due), ""), key(d.Tenant, d.Ref, d.Key)...))
	}
}

// discard removes a document.
func (t *tx) discard(d *driver.Document) {
	t.index(d, t.remove)
	t.remove(documents, documentKey(d))
	t.remove(values, documentKey(d))
}

// withdraw removes the documents that were made of an entry.
func (t *tx) withdraw(r *record) {
	made := key(r.Tenant, r.Ref, r.Entry.ID)
	_, found := t.all(byOrigin, made, above(made))
	for _, k := range found {
		t.discard(t.document(k, true))
	}
}

// Documents yields the documents that q asks for, in the order of their keys.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	prefix := key(q.Tenant)
	switch {
	case q.EveryRef:
	case q.Kind != "":
		prefix = key(q.Tenant, q.Ref, q.Kind)
	default:
		prefix = key(q.Tenant, q.Ref)
	}
	size := 1 // a value may have 64 MiB
	if q.Bare {
		size = pageSize
	}
	return pages(ctx, st, documents, prefix, size, func(t *tx, k, data []byte) (driver.Document, bool) {
		var d driver.Document
		t.decode(data, &d)
		asked := (q.Kind == "" || q.Kind == d.Kind) && (q.Key == "" || q.Key == d.Key) &&
			(q.Group == "" || q.Group == d.Group) && (q.Subject == "" || slices.Contains(d.Subjects, q.Subject))
		if asked && !q.Bare {
			d.Value = bytes.Clone(t.get(values, k))
		}
		return d, asked
	})
}
