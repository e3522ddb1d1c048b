package adaptertest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// reference is the contract of a store, written in the most obvious way. Every step that
// the kit takes on a store it takes on a reference too, and an audit compares all that
// can be read. Versions are numbers.
type reference struct {
	tenants map[string]*refTenant
	outbox  []*events.Record // in the order of commits, those that were delivered too
	waiting map[eventName]*events.Record
	log     logModel // those that are kept
}

type eventName struct{ tenant, run, id string }

type refTenant struct {
	version, horizon int
	records          map[place]*refRecord
	refs             map[string][]*refRecord // in the order of a list
	documents        map[documentName]driver.Document
	revised          map[documentName]int64   // the latest revision, of those that are gone too
	origins          map[place][]documentName // of the documents that were ever made of an entry
	changes          []refChange
	erasedAt         map[string][]refSpan // by ref: of versions at which something was live that is erased now
	purged           map[place]bool       // ids that were purged: what becomes of them is open
}

type place struct{ ref, id string }

type documentName struct{ ref, kind, key string }

func nameOf(d *driver.Document) documentName { return documentName{d.Ref, d.Kind, d.Key} }

func compareNames(a, b documentName) int {
	return cmp.Or(strings.Compare(a.ref, b.ref), strings.Compare(a.kind, b.kind), strings.Compare(a.key, b.key))
}

// refRecord is a record with the versions at which it was live.
type refRecord struct {
	driver.Record
	lives   []refSpan
	id      string
	created time.Time
}

// refChange is what the mutation that made a version did to an id.
type refChange struct {
	version int
	place
	kind refKind
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

func hasVersion(spans []refSpan, v int) bool {
	return slices.ContainsFunc(spans, func(s refSpan) bool { return s.from <= v && (s.to == 0 || v < s.to) })
}

func newReference() *reference {
	return &reference{tenants: map[string]*refTenant{}, waiting: map[eventName]*events.Record{}}
}

// tenant returns a tenant, an empty one if it was never written.
func (r *reference) tenant(name string) *refTenant {
	if r.tenants[name] == nil {
		r.tenants[name] = &refTenant{records: map[place]*refRecord{}, refs: map[string][]*refRecord{}, purged: map[place]bool{},
			documents: map[documentName]driver.Document{}, revised: map[documentName]int64{}, origins: map[place][]documentName{}, erasedAt: map[string][]refSpan{}}
	}
	return r.tenants[name]
}

func (t *refTenant) find(ref, id string) *refRecord { return t.records[place{ref, id}] }

// retiredFor are the ids of all that was retired in favour of an entry.
func (t *refTenant) retiredFor(heir driver.Located) (all []string) {
	for _, rec := range t.refs[heir.Ref] {
		if rec.For == heir.ID {
			all = append(all, rec.id)
		}
	}
	return all
}

// inListOrder is newest first, ties by the id, descending. An erased record keeps its
// place.
func inListOrder(a, b *refRecord) int {
	return cmp.Or(b.created.Compare(a.created), strings.Compare(b.id, a.id))
}

// liveAt reports whether the record can be found at the instant.
func (r *refRecord) liveAt(at time.Time) bool {
	return r != nil && r.State == driver.Live && !r.Erased && r.Entry.LiveAt(at)
}

// put inserts an entry that is new, and reports a conflict with one that is another.
func (r *reference) put(s driver.Scope, e driver.Entry) error {
	_, err := r.apply(s.Tenant, &driver.Mutation{Put: []driver.Placed{{Scope: s, Entry: e}}}, nil, true)
	return err
}

func (r *reference) delete(s driver.Scope, id string, at time.Time) bool {
	_, err := r.apply(s.Tenant, &driver.Mutation{At: at, Retire: []driver.Retirement{retire(s, id, driver.Deleted, "")}}, nil, true)
	return err == nil
}

// change is a mutation under way, which can be taken back.
type change struct {
	*refTenant
	undo []func()
}

// touch returns the record of an id, which may be changed then; nil if there is none.
func (c *change) touch(l driver.Located) *refRecord {
	held := c.find(l.Ref, l.ID)
	if held != nil {
		was := *held
		was.lives = slices.Clone(held.lives)
		c.undo = append(c.undo, func() { *held = was })
	}
	return held
}

func (c *change) note(l driver.Located, kind refKind) {
	c.changes = append(c.changes, refChange{c.version, place{l.Ref, l.ID}, kind})
}

func (c *change) insert(p *driver.Placed) {
	at := place{p.Ref, p.Entry.ID}
	e := p.Entry
	e.CreatedAt = e.CreatedAt.UTC()
	if !e.ExpiresAt.IsZero() {
		e.ExpiresAt = e.ExpiresAt.UTC()
	}
	added := &refRecord{driver.Record{Scope: p.Scope, Entry: e}, []refSpan{{c.version, 0}}, e.ID, e.CreatedAt}
	c.records[at] = added
	where, _ := slices.BinarySearchFunc(c.refs[p.Ref], added, inListOrder)
	c.refs[p.Ref] = slices.Insert(c.refs[p.Ref], where, added)
	c.undo = append(c.undo, func() {
		delete(c.records, at)
		c.refs[p.Ref] = slices.Delete(c.refs[p.Ref], where, where+1)
	})
	c.note(driver.Located{Scope: p.Scope, ID: e.ID}, refPut)
}

// end closes the record's life.
func (r *refRecord) end(v int) {
	if last := len(r.lives) - 1; last >= 0 && r.lives[last].to == 0 {
		r.lives[last].to = v
	}
}

// apply commits m, or reports a conflict and leaves everything as it was. The revisions
// are those that the store chose. A single put or delete makes a version only if it
// changes anything.
func (r *reference) apply(tenant string, m *driver.Mutation, revs []int64, single bool) (version int, err error) {
	t := r.tenant(tenant)
	c := &change{refTenant: t}
	version, before := t.version, len(t.changes)
	if !unversioned(m) {
		t.version++
	}
	had := r.used(tenant, m)
	if !c.commit(m) {
		err = driver.ErrConflict
	} else {
		queued := int64(len(m.Events))
		if m.Keep {
			queued = 0 // what is kept does not wait
		}
		err = beyond(m.Limits, had, r.used(tenant, m), queued)
	}
	if err == nil && r.taken(m) {
		err = driver.ErrConflict
	}
	if err != nil {
		for _, undo := range slices.Backward(c.undo) {
			undo()
		}
		t.version, t.changes = version, t.changes[:before]
		return version, err
	}
	if single && len(t.changes) == before {
		t.version = version
	}
	for _, change := range t.changes[before:] {
		if change.kind == refErased {
			t.removeMadeOf(change.ref, change.id)
		}
	}
	for i := range m.Documents {
		if i < len(revs) {
			t.swap(&m.Documents[i], m.Erase, revs[i])
		}
	}
	for i := range m.Events {
		e := m.Events[i]
		e.Time = e.Time.UTC()
		name := eventName{e.Tenant, e.RunID, e.ID}
		switch {
		case r.there(name) != nil:
		case m.Keep:
			r.log.emit([]events.Record{e})
		default:
			r.waiting[name] = &e
			r.outbox = append(r.outbox, &e)
		}
	}
	return t.version, nil
}

// there is the payload of an event that waits or is kept, else nil.
func (r *reference) there(name eventName) events.Payload {
	if e := r.waiting[name]; e != nil {
		return e.Payload
	}
	return r.log.payloads[name]
}

// taken reports whether an id of m's events names another payload.
func (r *reference) taken(m *driver.Mutation) bool {
	return slices.ContainsFunc(m.Events, func(e events.Record) bool {
		there := r.there(eventName{e.Tenant, e.RunID, e.ID})
		return there != nil && !events.SamePayload(there, e.Payload)
	})
}

// unversioned tells mutations that make no version: of machinery only, and of kept events only.
func unversioned(m *driver.Mutation) bool {
	entries := len(m.Live) + len(m.MergedInto) + len(m.Put) + len(m.Retire) + len(m.Restore) + len(m.Erase)
	switch {
	case entries > 0:
		return false
	case len(m.Events) > 0:
		return m.Keep && len(m.Documents) == 0
	}
	return len(m.Documents) > 0 &&
		!slices.ContainsFunc(m.Documents, func(x driver.DocumentSwap) bool { return x.Class != driver.Machinery })
}

// used is what a tenant has, for a mutation that has limits.
func (r *reference) used(tenant string, m *driver.Mutation) (u driver.Limits) {
	if m.Limits == (driver.Limits{}) {
		return u
	}
	for _, rec := range r.tenant(tenant).records {
		if rec.State == driver.Live && !rec.Erased {
			u.Entries++
			u.Bytes += int64(len(rec.Entry.Content))
		}
	}
	for name := range r.waiting {
		if name.tenant == tenant {
			u.Waiting++
		}
	}
	return u
}

// beyond returns the error of a mutation that makes more of what its limits bound, and
// comes out above them.
func beyond(limits, had, has driver.Limits, queued int64) error {
	over := func(limit, had, has int64) bool { return limit > 0 && has > had && has > limit }
	switch {
	case over(limits.Entries, had.Entries, has.Entries), over(limits.Bytes, had.Bytes, has.Bytes):
		return driver.ErrStorageLimit
	case over(limits.Waiting, had.Waiting, had.Waiting+queued):
		return driver.ErrBacklog
	}
	return nil
}

// commit does what a mutation does to entries, part by part, and reports whether every
// condition holds, those of documents included.
func (c *change) commit(m *driver.Mutation) bool {
	placed := map[place]bool{}
	live := func(l driver.Located) bool {
		held := c.find(l.Ref, l.ID)
		return held.liveAt(m.At) || placed[place{l.Ref, l.ID}] && held.liveAt(time.Time{})
	}
	for _, l := range m.Live {
		if !live(l) {
			return false
		}
	}
	for heir, want := range m.MergedInto {
		if !slices.Equal(slices.Sorted(slices.Values(c.retiredFor(heir))), slices.Sorted(slices.Values(want))) {
			return false
		}
	}
	for i := range m.Put {
		p := &m.Put[i]
		placed[place{p.Ref, p.Entry.ID}] = true
		if held := c.find(p.Ref, p.Entry.ID); held == nil {
			c.insert(p)
		} else if held.Erased || !driverless(&held.Entry, &p.Entry) {
			return false
		}
	}
	for _, x := range m.Retire {
		if !live(x.Located) || x.For != "" && !live(driver.Located{Scope: x.Scope, ID: x.For}) {
			return false
		}
		held := c.touch(x.Located)
		held.State, held.For = x.State, x.For
		held.end(c.version)
		c.note(x.Located, refRetired)
	}
	for _, l := range m.Restore {
		held := c.touch(l)
		if held == nil || held.Erased || held.State != driver.Merged && held.State != driver.Superseded {
			return false
		}
		held.State, held.For = driver.Live, ""
		held.lives = append(held.lives, refSpan{c.version, 0})
		c.note(l, refRestored)
	}
	for _, l := range m.Erase {
		if held := c.touch(l); held != nil && !held.Erased {
			held.end(c.version)
			erasedAt := c.erasedAt[l.Ref]
			c.undo = append(c.undo, func() { c.erasedAt[l.Ref] = erasedAt })
			c.erasedAt[l.Ref] = slices.Concat(erasedAt, held.lives)
			held.Entry, held.Erased, held.lives = driver.Entry{ID: l.ID}, true, nil
			c.note(l, refErased)
		}
	}
	for i := range m.Documents {
		x := &m.Documents[i]
		if held := c.documents[nameOf(&x.Document)]; held.Rev != x.Rev || held.Rev != 0 && held.Class != x.Class {
			return false
		}
		for _, id := range x.Of {
			if held := c.find(x.Ref, id); (x.Act == driver.Set || x.Act == driver.Retain) && (held == nil || held.Erased) {
				return false
			}
		}
	}
	return true
}

// driverless compares entries as the contract does, by no function of package driver.
func driverless(a, b *driver.Entry) bool {
	x, y := *a, *b
	x.CreatedAt, y.CreatedAt, x.ExpiresAt, y.ExpiresAt = x.CreatedAt.UTC(), y.CreatedAt.UTC(), x.ExpiresAt.UTC(), y.ExpiresAt.UTC()
	return differences(&x, &y) == ""
}

// swap does what a swap that holds says.
func (t *refTenant) swap(x *driver.DocumentSwap, erased []driver.Located, rev int64) {
	d := x.Document
	name := nameOf(&d)
	held, there := t.documents[name]
	switch {
	case x.Act == driver.Remove:
		delete(t.documents, name)
	case x.Act == driver.Retain && !there: // what it was made of is erased by the mutation
	case x.Act == driver.Set, x.Act == driver.Retain:
		d.Rev, d.Due = rev, d.Due.UTC()
		d.Value, d.Of, d.Subjects = slices.Clone(d.Value), slices.Clone(d.Of), slices.Clone(d.Subjects)
		if x.Act == driver.Retain {
			d.Value = held.Value
		}
		t.documents[name] = d
		for _, id := range d.Of {
			t.origins[place{d.Ref, id}] = append(t.origins[place{d.Ref, id}], name)
		}
	}
}

// removeMadeOf removes the documents that are made of an entry, or of its whole ref.
func (t *refTenant) removeMadeOf(ref, id string) {
	for name, d := range t.documents {
		if d.Whole && name.ref == ref {
			delete(t.documents, name)
		}
	}
	for _, name := range t.origins[place{ref, id}] {
		if slices.Contains(t.documents[name].Of, id) {
			delete(t.documents, name)
		}
	}
	delete(t.origins, place{ref, id})
}

// purgeEvents removes what is kept of runs whose first and last event are from before an instant,
// and returns how many they are.
func (r *reference) purgeEvents(before time.Time) (runs int) {
	for run, kept := range r.log.runs {
		if len(kept) > 0 && kept[0].Time.Before(before) && kept[len(kept)-1].Time.Before(before) {
			r.log.forget(run)
			runs++
		}
	}
	return runs
}

func (r *reference) delivered(recs []events.Record) {
	for _, e := range recs {
		delete(r.waiting, eventName{e.Tenant, e.RunID, e.ID})
	}
}

// purge removes what no version from v on can show, but for lineage that is needed.
func (r *reference) purge(tenant string, v int, at time.Time) int {
	t := r.tenant(tenant)
	t.horizon = v
	over := func(rec *refRecord) bool {
		if rec.Erased || !rec.Entry.ExpiresAt.IsZero() && !at.Before(rec.Entry.ExpiresAt) {
			return true
		}
		last := rec.lives[len(rec.lives)-1]
		return last.to > 0 && last.to <= v
	}
	successor := func(rec *refRecord) *refRecord { return t.find(rec.Ref, rec.For) }
	// end is the last of a chain of successors: of all, or of those that are merged.
	end := func(rec *refRecord, all bool) *refRecord {
		for successor(rec) != nil && (all || rec.State == driver.Merged) {
			rec = successor(rec)
		}
		return rec
	}
	// What is merged comes back when the end of its chain is erased.
	mayReturn := func(rec *refRecord) bool {
		return !rec.Erased && rec.Entry.LiveAt(at) && end(rec, false).State == driver.Live
	}
	stays := map[*refRecord]bool{}
	for _, rec := range t.records {
		if over(rec) && over(end(rec, true)) && !mayReturn(rec) {
			continue
		}
		for h := rec; h != nil && !stays[h]; h = successor(h) {
			stays[h] = true
		}
	}
	removed := 0
	for ref, recs := range sorted(t.refs) {
		t.refs[ref] = slices.DeleteFunc(recs, func(rec *refRecord) bool {
			if stays[rec] {
				return false
			}
			where := place{ref, rec.Entry.ID}
			t.purged[where] = true
			delete(t.records, where)
			if !rec.Erased {
				t.removeMadeOf(ref, rec.Entry.ID)
			}
			removed++
			return true
		})
	}
	return removed
}

// drop removes all that is held of a tenant, and all its versions.
func (r *reference) drop(tenant string) {
	was := r.tenant(tenant)
	delete(r.tenants, tenant)
	t := r.tenant(tenant)
	t.version, t.horizon, t.revised = was.version+1, was.version+1, was.revised
	for name := range r.waiting {
		if name.tenant == tenant {
			delete(r.waiting, name)
		}
	}
	for run := range r.log.runs {
		if run.tenant == tenant {
			r.log.forget(run)
		}
	}
}
