package inmem

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// name is what a tenant's document is known by.
type name struct{ ref, kind, key string }

// compare orders names as Documents yields them.
func (n name) compare(d *driver.Document) int {
	return cmp.Or(strings.Compare(n.ref, d.Ref), strings.Compare(n.kind, d.Kind), strings.Compare(n.key, d.Key))
}

// document is the place of a document. What is there is never changed: a swap puts
// something else in its place, so that readers may look at it after they left the lock.
type document struct {
	name
	*driver.Document
}

// shelf holds the documents of a tenant, and the lists by which they are found.
type shelf struct {
	schedule *schedule
	docs     map[name]*document
	names    ordered[tagged] // all of them, under the empty tag
	groups   ordered[tagged]
	subjects ordered[tagged]
	origins  ordered[tagged] // under the ids of the entries that they were made from
	wholes   ordered[tagged] // those made from their whole ref, under the empty tag
}

// tagged is a document under a tag, of which it may have several.
type tagged struct {
	tag string
	doc *document
}

func byTag(a, b tagged) int {
	return cmp.Or(strings.Compare(a.tag, b.tag), strings.Compare(a.doc.ref, b.doc.ref),
		strings.Compare(a.doc.kind, b.doc.kind), strings.Compare(a.doc.key, b.doc.key))
}

func newShelf(sd *schedule) shelf {
	list := ordered[tagged]{compare: byTag}
	return shelf{sd, map[name]*document{}, list, list, list, list, list}
}

// state returns what there is under the name of d; its revision is 0 if there is nothing.
func (sh *shelf) state(d *driver.Document) driver.Document {
	if doc := sh.docs[name{d.Ref, d.Kind, d.Key}]; doc != nil {
		return *doc.Document
	}
	return driver.Document{}
}

// swap does what a swap that holds says, and returns the revision that the document has
// then. The mutation may have removed the document already, with an entry.
func (sh *shelf) swap(x *driver.DocumentSwap, rev func() int64) int64 {
	at := name{x.Ref, x.Kind, x.Key}
	doc := sh.docs[at]
	if doc == nil && x.Act != driver.Set {
		return 0
	}
	switch x.Act {
	case driver.Remove:
		sh.remove(doc)
		return 0
	case driver.Check:
		return doc.Rev
	}
	d := copied(x.Document)
	if x.Act == driver.Retain {
		d.Value = doc.Value
	}
	d.Due, d.Rev = d.Due.UTC(), rev()
	sh.set(at, doc, &d)
	return d.Rev
}

// set puts d in the place doc, which is nil if there is no document of that name.
func (sh *shelf) set(at name, doc *document, d *driver.Document) {
	if doc == nil {
		doc = &document{name: at}
		sh.docs[at] = doc
		sh.names.insert(tagged{"", doc})
	} else {
		sh.unlist(doc)
	}
	doc.Document = d
	sh.eachTag(doc, (*ordered[tagged]).insert)
	sh.schedule.add(d)
}

func (sh *shelf) remove(doc *document) {
	delete(sh.docs, doc.name)
	sh.names.remove(tagged{"", doc})
	sh.unlist(doc)
}

func (sh *shelf) unlist(doc *document) {
	sh.eachTag(doc, (*ordered[tagged]).remove)
	sh.schedule.remove(doc.Document)
}

// eachTag calls f for each list in which a document is and each of its tags there.
func (sh *shelf) eachTag(doc *document, f func(*ordered[tagged], tagged)) {
	if doc.Group != "" {
		f(&sh.groups, tagged{doc.Group, doc})
	}
	for _, label := range distinct(doc.Subjects) {
		f(&sh.subjects, tagged{label, doc})
	}
	for _, id := range distinct(doc.Of) {
		f(&sh.origins, tagged{id, doc})
	}
	if doc.Whole {
		f(&sh.wholes, tagged{"", doc})
	}
}

// removeMadeOf removes the documents that were made of an entry, or of its whole ref.
func (sh *shelf) removeMadeOf(ref, id string) {
	for _, doc := range append(under(&sh.origins, id, ref), under(&sh.wholes, "", ref)...) {
		sh.remove(doc)
	}
}

// under returns the documents of a ref under a tag.
func under(list *ordered[tagged], tag, ref string) (docs []*document) {
	for x := range list.from(tagged{tag, &document{name: name{ref: ref}}}) {
		if x.tag != tag || x.doc.ref != ref {
			break
		}
		docs = append(docs, x.doc)
	}
	return docs
}

// Documents yields the documents that q asks for, in the byte order of their refs, kinds
// and keys, each as it is when it is yielded. The body of the loop may use the store.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		var behind name
		if !q.EveryRef {
			behind = name{q.Ref, q.Kind, ""}
		}
		if q.After != nil && behind.compare(q.After) < 0 {
			behind = name{q.After.Ref, q.After.Kind, q.After.Key}
		}
		t := st.tenant(q.Tenant)
		for left := q.Limit; ; {
			if err := ctx.Err(); err != nil {
				yield(driver.Document{}, err)
				return
			}
			if t == nil {
				return
			}
			d := t.document(&q, behind)
			if d == nil {
				return
			}
			behind = name{d.Ref, d.Kind, d.Key + "\x00"} // the least name after this one
			shown := *d
			if q.Bare {
				shown.Value = nil
			}
			if left--; !yield(copied(shown), nil) || left == 0 {
				return
			}
		}
	}
}

func (t *tenant) document(q *driver.DocumentQuery, first name) *driver.Document {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shelf.document(q, first)
}

// document returns the first document that q asks for whose name is not below first, or
// nil.
func (sh *shelf) document(q *driver.DocumentQuery, first name) *driver.Document {
	if !q.EveryRef && q.Kind != "" && q.Key != "" {
		if doc := sh.docs[name{q.Ref, q.Kind, q.Key}]; doc != nil && first.key <= q.Key && q.Matches(doc.Document) {
			return doc.Document
		}
		return nil
	}
	list, tag := &sh.names, ""
	switch {
	case q.Subject != "":
		list, tag = &sh.subjects, q.Subject
	case q.Group != "":
		list, tag = &sh.groups, q.Group
	}
	for x := range list.from(tagged{tag, &document{name: first}}) {
		if x.tag != tag || !q.EveryRef && (x.doc.ref != q.Ref || q.Kind != "" && x.doc.kind != q.Kind) {
			break
		}
		if q.Matches(x.doc.Document) {
			return x.doc.Document
		}
	}
	return nil
}

// copied returns a document whose slices are its own.
func copied(d driver.Document) driver.Document {
	d.Value, d.Of, d.Subjects = bytes.Clone(d.Value), slices.Clone(d.Of), slices.Clone(d.Subjects)
	return d
}
