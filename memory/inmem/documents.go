package inmem

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// name is what a document of a tenant is known by.
type name struct{ ref, kind, key string }

// shelf holds the documents of a tenant.
type shelf struct {
	docs map[name]*driver.Document
	// of has the documents that were made of an entry.
	of map[place]map[name]struct{}
}

type place struct{ ref, id string }

func newShelf() shelf {
	return shelf{docs: map[name]*driver.Document{}, of: map[place]map[name]struct{}{}}
}

func nameOf(d *driver.Document) name { return name{d.Ref, d.Kind, d.Key} }

// state returns the revision and class of a document; the revision is 0 if there is none.
func (sh *shelf) state(ref, kind, key string) (int64, driver.Class) {
	if d := sh.docs[name{ref, kind, key}]; d != nil {
		return d.Rev, d.Class
	}
	return 0, 0
}

// swap does what a swap that holds says, and returns the revision that the document has
// then.
func (st *Store) swap(t *tenant, x *driver.DocumentSwap) int64 {
	at := nameOf(&x.Document)
	old := t.shelf.docs[at]
	switch x.Act {
	case driver.Check:
		return t.rev(at)
	case driver.Remove:
		if old != nil {
			t.shelf.remove(old)
		}
		return 0
	}
	d := x.Document
	d.Value = bytes.Clone(d.Value)
	d.Of, d.Subjects = slices.Clone(d.Of), slices.Clone(d.Subjects)
	if !d.Due.IsZero() {
		d.Due = time.UnixMilli(d.Due.UnixMilli()).UTC()
	}
	if old != nil {
		if x.Act == driver.Retain {
			d.Value = old.Value
		}
		t.shelf.remove(old)
	}
	d.Rev = st.revs.Add(1)
	t.shelf.add(&d)
	return d.Rev
}

func (t *tenant) rev(at name) int64 {
	rev, _ := t.shelf.state(at.ref, at.kind, at.key)
	return rev
}

func (sh *shelf) add(d *driver.Document) {
	at := nameOf(d)
	sh.docs[at] = d
	for _, id := range d.Of {
		p := place{d.Ref, id}
		if sh.of[p] == nil {
			sh.of[p] = map[name]struct{}{}
		}
		sh.of[p][at] = struct{}{}
	}
}

func (sh *shelf) remove(d *driver.Document) {
	at := nameOf(d)
	delete(sh.docs, at)
	for _, id := range d.Of {
		p := place{d.Ref, id}
		delete(sh.of[p], at)
		if len(sh.of[p]) == 0 {
			delete(sh.of, p)
		}
	}
}

// drop removes the documents that were made of an entry.
func (sh *shelf) drop(ref, id string) {
	for at := range sh.of[place{ref, id}] {
		sh.remove(sh.docs[at])
	}
}

// Documents yields the documents that q asks for, in the byte order of their refs,
// kinds and keys, each as it is when it is yielded. The body of the loop may use the
// store.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		t := st.tenant(q.Tenant)
		var names []name
		if t != nil {
			names = t.names(&q)
		}
		for i := 0; ; i++ {
			if err := ctx.Err(); err != nil {
				yield(driver.Document{}, err)
				return
			}
			if i >= len(names) {
				return
			}
			if d, ok := t.document(names[i], &q); ok && !yield(d, nil) {
				return
			}
		}
	}
}

// names returns the names of the documents that q asks for, in order.
func (t *tenant) names(q *driver.DocumentQuery) []name {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !q.EveryRef && q.Kind != "" && q.Key != "" {
		return []name{{q.Ref, q.Kind, q.Key}}
	}
	var names []name
	for at, d := range t.shelf.docs {
		if asked(q, d) {
			names = append(names, at)
		}
	}
	slices.SortFunc(names, func(a, b name) int {
		return cmp.Or(strings.Compare(a.ref, b.ref), strings.Compare(a.kind, b.kind), strings.Compare(a.key, b.key))
	})
	return names
}

// document returns a copy of a document if it is there and q asks for it.
func (t *tenant) document(at name, q *driver.DocumentQuery) (driver.Document, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d := t.shelf.docs[at]
	if d == nil || !asked(q, d) {
		return driver.Document{}, false
	}
	return copied(d, q.Bare), true
}

func copied(d *driver.Document, bare bool) driver.Document {
	c := *d
	if bare {
		c.Value = nil
	} else {
		c.Value = bytes.Clone(d.Value)
	}
	c.Of, c.Subjects = slices.Clone(d.Of), slices.Clone(d.Subjects)
	return c
}

func asked(q *driver.DocumentQuery, d *driver.Document) bool {
	return (q.EveryRef || q.Ref == d.Ref) && (q.Kind == "" || q.Kind == d.Kind) && (q.Key == "" || q.Key == d.Key) &&
		(q.Group == "" || q.Group == d.Group) && (q.Subject == "" || slices.Contains(d.Subjects, q.Subject))
}
