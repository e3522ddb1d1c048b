package adaptertest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// reference is what the MODEL cases hold a store against: the contract, written in
// the most obvious way. Versions are numbers; a mutation works on a copy.
type reference struct {
	tenants map[string]*refTenant
	outbox  []events.Record
}

type refTenant struct {
	version, horizon int
	records          []*refRecord
	documents        map[string]driver.Document // by refName
	changes          []refChange
	scars            map[string][]refSpan // by ref: of versions at which something was live that is erased now
	purged           map[string]bool      // ids that were purged, which nobody uses again
}

// refRecord is a record with the versions at which it was live.
type refRecord struct {
	driver.Record
	lives []refSpan
}

// refChange is what the mutation that made a version did to an id.
type refChange struct {
	version int
	ref, id string
	kind    refKind
}

type refKind int

const (
	refPut refKind = iota
	refRetired
	refRestored
	refErased
)

// refSpan is the versions from one to before another; to is 0 for an open end.
type refSpan struct{ from, to int }

func (s refSpan) has(v int) bool { return s.from <= v && (s.to == 0 || v < s.to) }

func hasVersion(spans []refSpan, v int) bool {
	return slices.ContainsFunc(spans, func(s refSpan) bool { return s.has(v) })
}

func newReference() *reference { return &reference{tenants: map[string]*refTenant{}} }

func (r *reference) tenant(name string) *refTenant {
	if r.tenants[name] == nil {
		r.tenants[name] = &refTenant{documents: map[string]driver.Document{}, scars: map[string][]refSpan{}, purged: map[string]bool{}}
	}
	return r.tenants[name]
}

func (t *refTenant) clone() *refTenant {
	c := *t
	c.records = nil
	for _, r := range t.records {
		copied := *r
		copied.lives = slices.Clone(r.lives)
		c.records = append(c.records, &copied)
	}
	c.documents = maps.Clone(t.documents)
	c.changes = slices.Clone(t.changes)
	c.scars = maps.Clone(t.scars)
	return &c
}

func (t *refTenant) find(s driver.Scope, id string) *refRecord {
	for _, r := range t.records {
		if r.Scope == s && r.Entry.ID == id {
			return r
		}
	}
	return nil
}

func (r *refRecord) live(at time.Time) bool {
	return r != nil && r.State == driver.Live && !r.Erased && r.Entry.LiveAt(at)
}

// end closes the record's life.
func (r *refRecord) end(v int) {
	if last := len(r.lives) - 1; r.lives[last].to == 0 {
		r.lives[last].to = v
	}
}

func (r *reference) put(s driver.Scope, e driver.Entry) error {
	t := r.tenant(s.Tenant)
	if held := t.find(s, e.ID); held != nil {
		if held.Erased || differences(&held.Entry, &e) != "" {
			return driver.ErrConflict
		}
		return nil
	}
	t.version++
	t.insert(s, e)
	return nil
}

func (t *refTenant) changed(s driver.Scope, id string, kind refKind) {
	t.changes = append(t.changes, refChange{t.version, s.Ref, id, kind})
}

func (t *refTenant) insert(s driver.Scope, e driver.Entry) {
	t.changed(s, e.ID, refPut)
	t.records = append(t.records, &refRecord{driver.Record{Scope: s, Entry: e}, []refSpan{{t.version, 0}}})
}

func (r *reference) delete(s driver.Scope, id string, at time.Time) bool {
	t := r.tenant(s.Tenant)
	held := t.find(s, id)
	if !held.live(at) {
		return false
	}
	t.version++
	t.changed(s, id, refRetired)
	held.State = driver.Deleted
	held.end(t.version)
	return true
}

// apply commits m, or reports a conflict and leaves everything as it was. The revisions
// are those that the store chose.
func (r *reference) apply(tenant string, m *driver.Mutation, revs []int64) error {
	t := r.tenant(tenant).clone()
	if !m.MachineryOnly() {
		t.version++
	}
	for _, l := range m.Live {
		if !t.find(l.Scope, l.ID).live(m.At) {
			return driver.ErrConflict
		}
	}
	for h, want := range m.Heirs {
		var of []string
		for _, held := range t.records {
			if held.Scope == h.Scope && held.For == h.ID {
				of = append(of, held.Entry.ID)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(of)), slices.Sorted(slices.Values(want))) {
			return driver.ErrConflict
		}
	}
	placed := map[driver.Located]bool{}
	for _, p := range m.Put {
		placed[driver.Located{Scope: p.Scope, ID: p.Entry.ID}] = true
		if held := t.find(p.Scope, p.Entry.ID); held == nil {
			t.insert(p.Scope, p.Entry)
		} else if held.Erased || differences(&held.Entry, &p.Entry) != "" {
			return driver.ErrConflict
		}
	}
	live := func(l driver.Located) bool {
		held := t.find(l.Scope, l.ID)
		return held.live(m.At) || placed[l] && held.live(time.Time{})
	}
	for _, x := range m.Retire {
		if !live(x.Located) || x.For != "" && !live(driver.Located{Scope: x.Scope, ID: x.For}) {
			return driver.ErrConflict
		}
		held := t.find(x.Scope, x.ID)
		held.State, held.For = x.State, x.For
		held.end(t.version)
		t.changed(x.Scope, x.ID, refRetired)
	}
	for _, l := range m.Restore {
		held := t.find(l.Scope, l.ID)
		if held == nil || held.Erased || held.State != driver.Merged && held.State != driver.Superseded {
			return driver.ErrConflict
		}
		held.State, held.For = driver.Live, ""
		held.lives = append(held.lives, refSpan{t.version, 0})
		t.changed(l.Scope, l.ID, refRestored)
	}
	for _, l := range m.Erase {
		if held := t.find(l.Scope, l.ID); held != nil && !held.Erased {
			held.end(t.version)
			t.scars[l.Ref] = slices.Concat(t.scars[l.Ref], held.lives)
			held.Entry, held.Erased, held.lives = driver.Entry{ID: l.ID}, true, nil
			t.changed(l.Scope, l.ID, refErased)
			t.drop(l.Scope, l.ID)
		}
	}
	before := r.tenant(tenant).documents
	for i, x := range m.Documents {
		if held := before[refName(&x.Document)]; held.Rev != x.Rev || held.Rev != 0 && held.Class != x.Class {
			return driver.ErrConflict
		}
		writes := x.Act == driver.Set || x.Act == driver.Retain
		for _, id := range x.Of {
			if held := t.find(x.Scope, id); writes && (held == nil || held.Erased) {
				return driver.ErrConflict
			}
		}
		if i < len(revs) {
			t.swap(x, revs[i])
		}
	}
	for _, e := range m.Events {
		if !slices.ContainsFunc(r.outbox, func(o events.Record) bool { return sameEvent(o, e) }) {
			r.outbox = append(r.outbox, e)
		}
	}
	r.tenants[tenant] = t
	return nil
}

func sameEvent(a, b events.Record) bool {
	return a.Tenant == b.Tenant && a.RunID == b.RunID && a.ID == b.ID
}

func (r *reference) delivered(e events.Record) {
	r.outbox = slices.DeleteFunc(r.outbox, func(o events.Record) bool { return sameEvent(o, e) })
}

// list returns what was not retired at v, the current version if v is below zero.
func (r *reference) list(s driver.Scope, v int, q driver.Query) []driver.Entry {
	t := r.tenant(s.Tenant)
	if v < 0 {
		v = t.version
	}
	var out []driver.Entry
	for _, rec := range t.records {
		e := rec.Entry
		if rec.Scope == s && hasVersion(rec.lives, v) && e.LiveAt(q.At) && (q.Tag == "" || slices.Contains(e.Tags, q.Tag)) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b driver.Entry) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	if !q.After.IsZero() {
		after := driver.Entry{ID: q.After.ID, CreatedAt: q.After.CreatedAt}
		out = slices.DeleteFunc(out, func(e driver.Entry) bool { return !after.Before(&e) })
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

func (r *reference) intact(s driver.Scope, v int) bool {
	return !hasVersion(r.tenant(s.Tenant).scars[s.Ref], v)
}

// changes are what the mutations after one version up to another did in a scope.
func (r *reference) changes(s driver.Scope, from, to int) driver.ChangeSet {
	var ids [4]map[string]bool
	for _, c := range r.tenant(s.Tenant).changes {
		if c.ref == s.Ref && from < c.version && c.version <= to {
			if ids[c.kind] == nil {
				ids[c.kind] = map[string]bool{}
			}
			ids[c.kind][c.id] = true
		}
	}
	list := func(kind refKind) []string { return slices.Sorted(maps.Keys(ids[kind])) }
	return driver.ChangeSet{Put: list(refPut), Retired: list(refRetired), Restored: list(refRestored), Erased: list(refErased)}
}

func refName(d *driver.Document) string { return d.Ref + "\x00" + d.Kind + "\x00" + d.Key }

// swap does what a swap that holds says.
func (t *refTenant) swap(x driver.DocumentSwap, rev int64) {
	name := refName(&x.Document)
	d := x.Document
	d.Rev = rev
	switch x.Act {
	case driver.Retain:
		d.Value = t.documents[name].Value
		t.documents[name] = d
	case driver.Set:
		t.documents[name] = d
	case driver.Remove:
		delete(t.documents, name)
	}
}

// drop removes the documents that were made of an entry.
func (t *refTenant) drop(s driver.Scope, id string) {
	maps.DeleteFunc(t.documents, func(_ string, d driver.Document) bool { return d.Ref == s.Ref && slices.Contains(d.Of, id) })
}

// purge removes what no version from v on can show, but for lineage that is needed.
func (r *reference) purge(tenant string, v int, at time.Time) int {
	t := r.tenant(tenant)
	t.horizon = v
	over := func(rec *refRecord) bool {
		if rec.Erased || !rec.Entry.LiveAt(at) {
			return true
		}
		last := rec.lives[len(rec.lives)-1]
		return last.to > 0 && last.to <= v
	}
	successor := func(rec *refRecord) *refRecord {
		if rec.For == "" {
			return nil
		}
		return t.find(rec.Scope, rec.For)
	}
	stays := map[*refRecord]bool{}
	for _, rec := range t.records {
		head := rec
		for successor(head) != nil {
			head = successor(head)
		}
		if !over(rec) || !over(head) {
			for h := rec; h != nil; h = successor(h) {
				stays[h] = true
			}
		}
	}
	before := len(t.records)
	t.records = slices.DeleteFunc(t.records, func(rec *refRecord) bool {
		if !stays[rec] {
			t.purged[rec.Ref+"\x00"+rec.Entry.ID] = true
			t.drop(rec.Scope, rec.Entry.ID)
		}
		return !stays[rec]
	})
	return before - len(t.records)
}
