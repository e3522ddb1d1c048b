package inmem

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/ordered"
	"github.com/openwop/agentmemory/memory/driver"
)

// name is what a tenant's document is known by.
type name struct{ ref, kind, key string }

func nameOf(d *driver.Document) name { return name{d.Ref, d.Kind, d.Key} }

// shelf holds the documents of a tenant. A document is never changed: a swap puts another in its
// place.
type shelf struct {
	schedule *schedule
	docs     map[name]*driver.Document
	tags     ordered.List[tagged]
}

// tagged is a document under a tag, by which it is found. It has several.
type tagged struct {
	by  tagKind
	tag string
	doc *driver.Document
}

type tagKind uint8

const (
	byName    tagKind = iota // every document, under the empty tag
	byGroup                  // those that have a group
	bySubject                // under each label
	byOrigin                 // under the id of each entry that they were made from
	byWhole                  // those made from their whole ref, under the empty tag
)

func byTag(a, b tagged) int {
	return cmp.Or(cmp.Compare(a.by, b.by), strings.Compare(a.tag, b.tag), strings.Compare(a.doc.Ref, b.doc.Ref),
		strings.Compare(a.doc.Kind, b.doc.Kind), strings.Compare(a.doc.Key, b.doc.Key))
}

// tagsOf returns a document under each of its tags.
func tagsOf(d *driver.Document) []tagged {
	tags := []tagged{{byName, "", d}}
	if d.Group != "" {
		tags = append(tags, tagged{byGroup, d.Group, d})
	}
	for _, label := range distinct(d.Subjects) {
		tags = append(tags, tagged{bySubject, label, d})
	}
	for _, id := range distinct(d.Of) {
		tags = append(tags, tagged{byOrigin, id, d})
	}
	if d.Whole {
		tags = append(tags, tagged{byWhole, "", d})
	}
	return tags
}

func newShelf(sd *schedule) shelf {
	return shelf{sd, map[name]*driver.Document{}, ordered.List[tagged]{Compare: byTag}}
}

// state returns what there is under the name of d; its revision is 0 if there is nothing.
func (sh *shelf) state(d *driver.Document) driver.Document {
	if there := sh.docs[nameOf(d)]; there != nil {
		return *there
	}
	return driver.Document{}
}

// swap does what a swap that holds says, and returns the revision that the document has
// then. The mutation may have removed the document already, with an entry.
func (sh *shelf) swap(x *driver.DocumentSwap, rev func() int64) int64 {
	before := sh.docs[nameOf(&x.Document)]
	if before == nil && x.Act != driver.Set {
		return 0
	}
	switch x.Act {
	case driver.Remove:
		sh.remove(before)
		return 0
	case driver.Check:
		return before.Rev
	}
	d := copied(x.Document)
	if x.Act == driver.Retain {
		d.Value = before.Value
	}
	d.Due, d.Rev = d.Due.UTC(), rev()
	sh.replace(before, &d)
	return d.Rev
}

// replace puts a document in the place of the one before, which has its name. Either may be nil.
func (sh *shelf) replace(before, d *driver.Document) {
	if before != nil {
		delete(sh.docs, nameOf(before))
		for _, x := range tagsOf(before) {
			sh.tags.Remove(x)
		}
	}
	if d != nil {
		sh.docs[nameOf(d)] = d
		for _, x := range tagsOf(d) {
			sh.tags.Insert(x)
		}
	}
	sh.schedule.replace(before, d)
}

func (sh *shelf) remove(d *driver.Document) { sh.replace(d, nil) }

// removeMadeOf removes the documents that were made of an entry, or of its whole ref.
func (sh *shelf) removeMadeOf(ref, id string) {
	for _, first := range []tagged{{byOrigin, id, nil}, {byWhole, "", nil}} {
		first.doc = &driver.Document{Scope: driver.Scope{Ref: ref}}
		var made []*driver.Document
		for x := range sh.tags.From(first) {
			if x.by != first.by || x.tag != first.tag || x.doc.Ref != ref {
				break
			}
			made = append(made, x.doc)
		}
		for _, d := range made {
			sh.remove(d)
		}
	}
}

// Documents yields the documents that q asks for, in the byte order of their refs, kinds
// and keys, each as it is when it is yielded. The body of the loop may use the store.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	names := func() []name { return st.tenant(q.Tenant).documents(&q) }
	return each(ctx, names, func(n name) (driver.Document, bool) {
		d := st.tenant(q.Tenant).document(n)
		if d == nil || !q.Matches(d) {
			return driver.Document{}, false
		}
		shown := *d
		if q.Bare {
			shown.Value = nil
		}
		return copied(shown), true
	})
}

// document returns nil if there is no document of that name any more.
func (t *tenant) document(n name) *driver.Document {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shelf.docs[n]
}

// documents returns the names of the documents that q asks for.
func (t *tenant) documents(q *driver.DocumentQuery) (found []name) {
	from := tagged{byName, "", &driver.Document{}}
	switch {
	case q.Subject != "":
		from.by, from.tag = bySubject, q.Subject
	case q.Group != "":
		from.by, from.tag = byGroup, q.Group
	}
	if !q.EveryRef {
		from.doc.Ref, from.doc.Kind = q.Ref, q.Kind
	}
	if from.doc.Kind != "" {
		from.doc.Key = q.Key
	}
	end := func(d *driver.Document) bool { // of those that begin as the first does
		return !q.EveryRef && (d.Ref != q.Ref || q.Kind != "" && (d.Kind != q.Kind || q.Key != "" && d.Key != q.Key))
	}
	if q.After != nil {
		from = slices.MaxFunc([]tagged{from, {from.by, from.tag, q.After}}, byTag)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for x := range t.shelf.tags.From(from) {
		if x.by != from.by || x.tag != from.tag || end(x.doc) || q.Limit > 0 && len(found) == q.Limit {
			break
		}
		if q.Matches(x.doc) {
			found = append(found, nameOf(x.doc))
		}
	}
	return found
}

// copied returns a document whose slices are its own.
func copied(d driver.Document) driver.Document {
	d.Value, d.Of, d.Subjects = bytes.Clone(d.Value), slices.Clone(d.Of), slices.Clone(d.Subjects)
	return d
}
