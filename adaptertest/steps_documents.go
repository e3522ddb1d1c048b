package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Steps of documents.

// note is machinery with a value, and nothing else.
func note(s driver.Scope, key, value string) driver.Document {
	return driver.Document{Scope: s, Kind: "note", Key: key, Value: []byte(value)}
}

// digest is content made of entries.
func digest(s driver.Scope, key string, of ...string) driver.Document {
	return driver.Document{Scope: s, Class: driver.Content, Kind: "digest", Key: key, Value: []byte("digest " + key), Of: of}
}

// file is host text with subjects.
func file(s driver.Scope, key string, subjects ...string) driver.Document {
	return driver.Document{Scope: s, Class: driver.HostText, Kind: "file", Key: key, Value: []byte("text of " + key), Subjects: subjects}
}

// timer is machinery that is due.
func timer(s driver.Scope, key string, due time.Time) driver.Document {
	return driver.Document{Scope: s, Kind: "timer", Key: key, Value: []byte("at " + key), Due: due, Group: "timers"}
}

// acts makes a mutation that does the same with documents.
func acts(act driver.Act, docs ...driver.Document) driver.Mutation {
	var m driver.Mutation
	for _, d := range docs {
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: d, Act: act})
	}
	return m
}

// set stores a document, and returns it with its new revision.
func (w *world) set(d driver.Document) driver.Document { return w.commits(acts(driver.Set, d))[0] }

// commits applies a mutation, and returns its documents with their new revisions.
func (w *world) commits(m driver.Mutation) []driver.Document {
	made := w.apply(m)
	docs := make([]driver.Document, len(m.Documents))
	for i, x := range m.Documents {
		docs[i] = x.Document
		docs[i].Rev = made.Revs[i]
	}
	return docs
}

// revises expects of each document of a mutation the revision that it has now, 0 if it is gone, and of one
// that was stored a revision above all that it ever had.
func (w *world) revises(tenant string, m *driver.Mutation, revs []int64) {
	w.check(len(revs) == len(m.Documents), fmt.Sprint(len(m.Documents), " revisions"), "%d", len(revs))
	for i, x := range m.Documents {
		if w.ref == nil {
			return
		}
		t, name := w.ref.tenant(tenant), nameOf(&x.Document)
		has := t.documents[name].Rev
		w.check(revs[i] == has, fmt.Sprintf("the revision %d, which the document has now", has), "%d", revs[i])
		if stored := x.Act == driver.Set || x.Act == driver.Retain; stored && has != 0 {
			w.check(has > t.revised[name], fmt.Sprintf("a revision above %d, which the document had", t.revised[name]), "%d", has)
			t.revised[name] = has
		}
	}
}

func (w *world) documents(q driver.DocumentQuery) []driver.Document {
	w.did("read the documents of %s", q)
	var docs []driver.Document
	for d, err := range w.tx.Documents(w.ctx, q) {
		w.must(err)
		docs = append(docs, d)
	}
	return docs
}

// exactly asks for one document by its name.
func exactly(d *driver.Document) driver.DocumentQuery {
	return driver.DocumentQuery{Tenant: d.Tenant, Ref: d.Ref, Kind: d.Kind, Key: d.Key}
}

func (w *world) due(kind string, at time.Time, limit int) []driver.Document {
	w.did("ask what of kind %s is due at %s, at most %d", named(kind), at, limit)
	docs, err := w.scheduler.Due(w.ctx, kind, at, limit)
	w.must(err)
	return docs
}

// changed expects what has changed in a scope between two versions.
func (w *world) changed(s driver.Scope, from, to driver.Version, want driver.ChangeSet) {
	w.did("ask what has changed in %s from %s to %s", s, w.name(from), w.name(to))
	got, err := w.changes.Changes(w.ctx, s, from, to)
	w.must(err)
	if text, expected := describeChanges(got), describeChanges(want); text != expected {
		w.fail(expected, text)
	}
}
