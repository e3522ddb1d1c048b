package inmem

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// model is the store as its contract describes it: plain maps and slices, and a
// full copy of every version.
type model struct {
	tenants map[string]*modelTenant
	outbox  []events.Record
}

type modelTenant struct {
	recs     map[modelKey]modelRecord
	versions []map[modelKey]*driver.Entry // what was not retired; the index is the version
	broken   []map[string]bool            // refs of which something of that version was erased since
	touched  []touched                    // by the mutation that made the version
	horizon  int
	docs     map[modelName]driver.Document // without Rev
}

type modelKey struct{ ref, id string }

type modelName struct{ ref, kind, key string }

// touched is what a mutation did, in the order of a change set: put, retired, restored,
// erased.
type touched [4]map[modelKey]bool

type modelRecord struct {
	entry  driver.Entry
	state  driver.State
	heir   string
	erased bool
	died   int // the version that retired it
}

func (m *model) tenant(name string) *modelTenant {
	t := m.tenants[name]
	if t == nil {
		t = &modelTenant{
			recs: map[modelKey]modelRecord{}, docs: map[modelName]driver.Document{},
			versions: []map[modelKey]*driver.Entry{{}}, broken: []map[string]bool{{}}, touched: []touched{{}},
		}
		m.tenants[name] = t
	}
	return t
}

func (t *modelTenant) now() int { return len(t.versions) - 1 }

// commit makes the next version of recs.
func (t *modelTenant) commit(recs map[modelKey]modelRecord, did touched) {
	live := map[modelKey]*driver.Entry{}
	for k, r := range recs {
		if r.state == driver.Live && !r.erased {
			live[k] = &r.entry
		}
		if r.erased && !t.recs[k].erased {
			for v := range t.versions {
				if _, was := t.versions[v][k]; was {
					delete(t.versions[v], k)
					t.broken[v][k.ref] = true
				}
			}
		}
	}
	t.recs = recs
	t.versions = append(t.versions, live)
	t.broken = append(t.broken, map[string]bool{})
	t.touched = append(t.touched, did)
}

func (t *modelTenant) put(ref string, e driver.Entry) error {
	k := modelKey{ref, e.ID}
	if r, held := t.recs[k]; held {
		if r.erased || !equalEntry(r.entry, e) {
			return driver.ErrConflict
		}
		return nil
	}
	recs := maps.Clone(t.recs)
	recs[k] = modelRecord{entry: e}
	t.commit(recs, touched{{k: true}})
	return nil
}

func (t *modelTenant) delete(ref, id string, at time.Time) bool {
	k := modelKey{ref, id}
	r, held := t.recs[k]
	if !held || r.erased || r.state != driver.Live || !r.entry.LiveAt(at) {
		return false
	}
	recs := maps.Clone(t.recs)
	r.state, r.died = driver.Deleted, t.now()+1
	recs[k] = r
	t.commit(recs, touched{1: {k: true}})
	return true
}

// apply does the mutation on a copy, part by part, and drops the copy at the first
// condition that fails. Revisions are the store's, so the caller has translated them:
// a swap holds iff the document is there and stale is not set for it.
func (m *model) apply(tenant string, mu driver.Mutation, stale map[int]bool) error {
	t := m.tenant(tenant)
	recs, docs, next := maps.Clone(t.recs), maps.Clone(t.docs), t.now()+1
	did := touched{{}, {}, {}, {}}
	placed := map[modelKey]bool{}
	live := func(ref, id string) bool {
		k := modelKey{ref, id}
		r, held := recs[k]
		return held && !r.erased && r.state == driver.Live && (placed[k] || r.entry.LiveAt(mu.At))
	}
	for _, l := range mu.Live {
		if !live(l.Ref, l.ID) {
			return driver.ErrConflict
		}
	}
	for _, p := range mu.Put {
		k := modelKey{p.Ref, p.Entry.ID}
		if r, held := recs[k]; !held {
			recs[k] = modelRecord{entry: p.Entry}
			did[0][k] = true
		} else if r.erased || !equalEntry(r.entry, p.Entry) {
			return driver.ErrConflict
		}
		placed[k] = true
	}
	for _, x := range mu.Retire {
		if !live(x.Ref, x.ID) || x.For != "" && !live(x.Ref, x.For) {
			return driver.ErrConflict
		}
		k := modelKey{x.Ref, x.ID}
		r := recs[k]
		r.state, r.heir, r.died = x.State, x.For, next
		recs[k] = r
		did[1][k] = true
	}
	for _, l := range mu.Restore {
		k := modelKey{l.Ref, l.ID}
		r, held := recs[k]
		if !held || r.erased || r.state != driver.Merged && r.state != driver.Superseded {
			return driver.ErrConflict
		}
		r.state, r.heir = driver.Live, ""
		recs[k] = r
		did[2][k] = true
	}
	for _, l := range mu.Erase {
		k := modelKey{l.Ref, l.ID}
		if r, held := recs[k]; held && !r.erased {
			r.erased = true
			recs[k] = r
			did[3][k] = true
			withdraw(docs, k)
		}
	}
	for i, x := range mu.Documents {
		at := modelName{x.Ref, x.Kind, x.Key}
		old, held := t.docs[at]
		if stale[i] || held != (x.Rev != 0) || held && old.Class != x.Class {
			return driver.ErrConflict
		}
		d := x.Document
		d.Rev = 0
		switch x.Act {
		case driver.Remove:
			delete(docs, at)
			continue
		case driver.Check:
			continue
		case driver.Retain:
			old, held := docs[at]
			if d.Value = old.Value; !held {
				continue // it went with an entry that this mutation erases
			}
		}
		for _, id := range x.Of {
			if r, held := recs[modelKey{x.Ref, id}]; !held || r.erased {
				return driver.ErrConflict
			}
		}
		docs[at] = d
	}
	for _, e := range mu.Events {
		if slices.ContainsFunc(m.outbox, func(o events.Record) bool { return keyOf(&o) == keyOf(&e) && o.Payload != e.Payload }) {
			return driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)
		}
	}
	for _, e := range mu.Events {
		if !slices.ContainsFunc(m.outbox, func(o events.Record) bool { return keyOf(&o) == keyOf(&e) }) {
			m.outbox = append(m.outbox, e)
		}
	}
	t.docs = docs
	if !mu.Unversioned() {
		t.commit(recs, did)
	}
	return nil
}

// withdraw removes the documents that were made of an entry.
func withdraw(docs map[modelName]driver.Document, k modelKey) {
	maps.DeleteFunc(docs, func(at modelName, d driver.Document) bool {
		return at.ref == k.ref && slices.Contains(d.Of, k.id)
	})
}

func (t *modelTenant) purge(v int, at time.Time) (int, error) {
	if v < t.horizon || v > t.now() {
		return 0, driver.ErrSnapshotUnavailable
	}
	t.horizon = v
	over := func(r modelRecord) bool {
		return r.erased || !r.entry.LiveAt(at) || r.state != driver.Live && r.died <= v
	}
	gone := map[modelKey]bool{}
	for k, r := range t.recs {
		end := r
		for end.heir != "" {
			end = t.recs[modelKey{k.ref, end.heir}]
		}
		gone[k] = over(r) && over(end) && !t.mayReturn(k, at)
	}
	for changed := true; changed; {
		changed = false
		for k, r := range t.recs {
			if h := (modelKey{k.ref, r.heir}); r.heir != "" && !gone[k] && gone[h] {
				gone[h], changed = false, true
			}
		}
	}
	removed := 0
	for k, is := range gone {
		if is {
			removed++
			delete(t.recs, k)
			withdraw(t.docs, k)
			for _, version := range t.versions {
				delete(version, k)
			}
		}
	}
	return removed, nil
}

// mayReturn reports whether an entry is merged, is neither erased nor expired, and so is
// restored if the end of its chain is erased.
func (t *modelTenant) mayReturn(k modelKey, at time.Time) bool {
	if r := t.recs[k]; r.erased || !r.entry.LiveAt(at) || r.state != driver.Merged {
		return false
	}
	for t.recs[k].state == driver.Merged {
		k.id = t.recs[k].heir
	}
	return t.recs[k].state == driver.Live
}

func (t *modelTenant) list(v int, ref string, q driver.Query, match func(*driver.Entry) bool) []driver.Entry {
	var entries []driver.Entry
	for k, e := range t.versions[v] {
		after := q.After.IsZero() || (&driver.Entry{ID: q.After.ID, CreatedAt: q.After.CreatedAt}).Before(e)
		if k.ref == ref && e.LiveAt(q.At) && after && match(e) && (q.Tag == "" || slices.Contains(e.Tags, q.Tag)) {
			entries = append(entries, *e)
		}
	}
	slices.SortFunc(entries, func(a, b driver.Entry) int {
		if a.Before(&b) {
			return -1
		}
		return 1
	})
	if q.Limit > 0 && len(entries) > q.Limit {
		entries = entries[:q.Limit]
	}
	return entries
}

func (t *modelTenant) record(tenant string, k modelKey) (driver.Record, bool) {
	r, held := t.recs[k]
	rec := driver.Record{
		Scope: driver.Scope{Tenant: tenant, Ref: k.ref}, Entry: r.entry, State: r.state, For: r.heir, Erased: r.erased,
	}
	if r.erased {
		rec.Entry = driver.Entry{ID: k.id}
	}
	return rec, held
}

func (t *modelTenant) history(tenant string, q driver.HistoryQuery) []driver.Record {
	var recs []driver.Record
	for k := range t.recs {
		r, _ := t.record(tenant, k)
		if (q.Ref == "" || q.Ref == r.Ref) && (q.For == nil || slices.Contains(q.For, r.For)) &&
			(q.Subject == "" || slices.Contains(r.Entry.Subjects, q.Subject)) {
			recs = append(recs, r)
		}
	}
	return sorted(recs)
}

func sorted(recs []driver.Record) []driver.Record {
	slices.SortFunc(recs, func(a, b driver.Record) int {
		return strings.Compare(a.Ref+"\x00"+a.Entry.ID, b.Ref+"\x00"+b.Entry.ID)
	})
	return recs
}

func (m *model) undelivered(q driver.OutboxQuery) []events.Record {
	var recs []events.Record
	for _, r := range m.outbox {
		if (q.Tenant == "" || q.Tenant == r.Tenant) && (q.RunID == "" || q.RunID == r.RunID) {
			recs = append(recs, r)
		}
	}
	return recs
}

func (m *model) delivered(recs []events.Record) {
	m.outbox = slices.DeleteFunc(slices.Clone(m.outbox), func(o events.Record) bool {
		return slices.ContainsFunc(recs, func(r events.Record) bool { return keyOf(&o) == keyOf(&r) })
	})
}

// documents returns what q asks for, in order, without revisions.
func (t *modelTenant) documents(q driver.DocumentQuery) []driver.Document {
	var docs []driver.Document
	for at, d := range t.docs {
		if (q.EveryRef || q.Ref == at.ref) && (q.Kind == "" || q.Kind == at.kind) && (q.Key == "" || q.Key == at.key) &&
			(q.Group == "" || q.Group == d.Group) && (q.Subject == "" || slices.Contains(d.Subjects, q.Subject)) {
			if q.Bare {
				d.Value = nil
			}
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(a, b driver.Document) int {
		return strings.Compare(a.Ref+"\x00"+a.Kind+"\x00"+a.Key, b.Ref+"\x00"+b.Kind+"\x00"+b.Key)
	})
	return docs
}

// changes returns what was touched after version from, up to and with version to.
func (t *modelTenant) changes(ref string, from, to int) driver.ChangeSet {
	var lists [4][]string
	for i := range lists {
		seen := map[string]bool{}
		for v := from + 1; v <= to; v++ {
			for k := range t.touched[v][i] {
				if k.ref == ref {
					seen[k.id] = true
				}
			}
		}
		lists[i] = slices.Sorted(maps.Keys(seen))
	}
	return driver.ChangeSet{Put: lists[0], Retired: lists[1], Restored: lists[2], Erased: lists[3]}
}

func equalEntry(a, b driver.Entry) bool { return reflect.DeepEqual(a, b) }
