package boltstore

import (
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 3. An entry never changes, but much becomes of it: it is retired, restored, erased.
// All of that happens by one of the functions here and on page 7, which keep the number that
// limits count, the journal and the keys in step, whoever calls them.

// record is what the store keeps of an entry. An entry that has ended is marked, and stays:
// its id is used, and a view may show it. What only steps 2 and 3 read is written from
// the first day on, as no later one could find it out.
type record struct {
	driver.Record
	RunID             string // these three the JSON of an entry, which is the protocol's, leaves out
	Subjects, Sources []string
	// Lives are the versions at which the entry was not retired: several, if it was restored.
	Lives []life
}

// life is from a version to before another, which is 0 as long as it goes on.
type life struct{ From, To uint64 }

// lived reports whether the entry was not retired at a version.
func (r *record) lived(version uint64) bool {
	return slices.ContainsFunc(r.Lives, func(l life) bool {
		return l.From <= version && (l.To == 0 || version < l.To)
	})
}

// current reports whether the entry is neither retired nor erased. Limits count those.
func (r *record) current() bool { return r.State == driver.Live && !r.Erased }

func (r *record) key() []byte { return key("record", r.Tenant, r.Ref, r.Entry.ID) }

func (r *record) age() []byte {
	return append(with(key("age", r.Tenant, r.Ref), millis(r.Entry.CreatedAt)), r.Entry.ID...)
}

// find returns a record, or nil if the scope has none of that id.
func (t *tx) find(s driver.Scope, id string) *record {
	return t.record(t.Get(key("record", s.Tenant, s.Ref, id)))
}

func (t *tx) record(data []byte) *record {
	if data == nil {
		return nil
	}
	r := new(record)
	if t.read(data, r); t.err != nil { // of a damaged file nothing is believed
		return &record{Lives: []life{{}}}
	}
	r.Entry.RunID, r.Entry.Subjects, r.Entry.Sources = r.RunID, r.Subjects, r.Sources
	return r
}

// keep ends a change of a record: it is written, and the journal tells what has happened.
func (t *tx) keep(a *account, r *record, what byte) {
	r.RunID, r.Subjects, r.Sources = r.Entry.RunID, r.Entry.Subjects, r.Entry.Sources
	t.save(r.key(), r)
	place := append(with(key("journal", r.Tenant), a.Version), what)
	t.put(append(place, key(r.Ref, r.Entry.ID)...), nil)
}

// account is what the store keeps of a tenant as such, even after it was dropped.
type account struct {
	Version uint64 // of the last mutation
	Horizon uint64 // older versions are unavailable
	Used    driver.Limits
}

func (t *tx) account(tenant string) (a account) {
	t.load(key("tenant", tenant), &a)
	return a
}

// change makes a version of a tenant, with a mark of its own, see [driver.NewMark]. What it
// brings is for f to do.
func (t *tx) change(tenant string, f func(a *account)) driver.Version {
	a, mark := t.account(tenant), driver.NewMark()
	a.Version++
	t.put(with(key("mark", tenant), a.Version), mark[:])
	f(&a)
	t.save(key("tenant", tenant), a)
	return mark.Version(a.Version)
}

// insert makes e an entry of a scope, which has none of its id.
func (t *tx) insert(a *account, s driver.Scope, e driver.Entry) {
	e.CreatedAt, e.ExpiresAt = e.CreatedAt.UTC(), e.ExpiresAt.UTC()
	r := &record{Record: driver.Record{Scope: s, Entry: e}, Lives: []life{{From: a.Version}}}
	a.Used.Add(&e, 1)
	t.put(r.age(), r.key())
	t.keep(a, r, 'p')
}

// retire ends the life of an entry, in favour of another one if successor is not empty.
func (t *tx) retire(a *account, r *record, state driver.State, successor string) {
	a.Used.Add(&r.Entry, -1)
	r.State, r.For = state, successor
	r.Lives[len(r.Lives)-1].To = a.Version
	if successor != "" {
		t.put(key("heir", r.Tenant, r.Ref, successor, r.Entry.ID), []byte(r.Entry.ID))
	}
	t.keep(a, r, 'd')
}
