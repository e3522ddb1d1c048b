package boltstore

import (
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// entry has the fields of [driver.Entry], in their order, so that each converts to the
// other. The JSON of the original is the protocol's and leaves out what is not on the wire.
type entry struct {
	ID                   string
	Content              string
	Tags                 []string
	CreatedAt, ExpiresAt time.Time
	RunID                string
	Subjects, Sources    []string
}

// record is what the store keeps of an entry. It stays as long as a view may show it, or
// its id is to stay used: an entry that has ended is marked, never removed.
type record struct {
	driver.Scope
	Entry  entry // has only the id if it is erased
	State  driver.State
	For    string // the successor, of one that is merged or superseded
	Erased bool
	// Lives are the versions at which the entry was not retired. Several, if it was
	// restored. What step 1 does not read is written from the first day all the same: no
	// later one could find it out.
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

// counts reports whether the entry is what a limit counts.
func (r *record) counts() bool { return r.State == driver.Live && !r.Erased }

func (r *record) entry() *driver.Entry {
	e := driver.Entry(r.Entry)
	return &e
}

// shown is the record as readers get it.
func (r *record) shown() driver.Record {
	return driver.Record{Scope: r.Scope, Entry: *r.entry(), State: r.State, For: r.For, Erased: r.Erased}
}

func (r *record) key() []byte { return key(r.Tenant, r.Ref, r.Entry.ID) }

// age is the key of the record in the order of their ages.
func (r *record) age() []byte {
	return with(key(r.Tenant, r.Ref), millis(r.Entry.CreatedAt), r.Entry.ID)
}

// find returns a record, or nil if the scope has none of that id.
func (t *tx) find(s driver.Scope, id string) *record {
	var r record
	if !t.load(records, key(s.Tenant, s.Ref, id), &r) {
		return nil
	}
	return &r
}

// account is what the store keeps of a tenant as such, even after it was dropped.
type account struct {
	Version uint64 // of the last mutation
	Horizon uint64 // older versions are unavailable
	Used    driver.Limits
}

func (t *tx) account(tenant string) (a account) {
	t.load(tenants, key(tenant), &a)
	return a
}

// change makes a version of a tenant, with a mark of its own, see [driver.NewMark]. What f
// does is what the version brings.
func (t *tx) change(tenant string, f func(a *account)) driver.Version {
	a, mark := t.account(tenant), driver.NewMark()
	a.Version++
	t.put(marks, with(key(tenant), a.Version, ""), mark[:])
	f(&a)
	t.save(tenants, key(tenant), a)
	return mark.Version(a.Version)
}

// What a journal tells of an entry.
const (
	isPut      = 'p'
	isRetired  = 't'
	isRestored = 's'
	isErased   = 'e'
)

// keep ends a change of a record: it is written, and what has happened is told.
func (t *tx) keep(a *account, r *record, what byte) {
	t.save(records, r.key(), r)
	t.put(journal, with(key(r.Tenant), a.Version, string(key(r.Ref))+string(what)+r.Entry.ID), nil)
}

// insert makes e an entry of a scope, which has none of its id.
func (t *tx) insert(a *account, s driver.Scope, e driver.Entry) {
	e.CreatedAt, e.ExpiresAt = e.CreatedAt.UTC(), e.ExpiresAt.UTC()
	r := &record{Scope: s, Entry: entry(e), Lives: []life{{From: a.Version}}}
	a.Used.Add(&e, 1)
	t.put(byAge, r.age(), r.key())
	t.keep(a, r, isPut)
}

// retire ends a life of an entry, in favour of another one if successor is not empty.
func (t *tx) retire(a *account, r *record, state driver.State, successor string) {
	a.Used.Add(r.entry(), -1)
	r.State, r.For = state, successor
	r.Lives[len(r.Lives)-1].To = a.Version
	if successor != "" {
		t.put(byHeir, key(r.Tenant, r.Ref, successor, r.Entry.ID), []byte(r.Entry.ID))
	}
	t.keep(a, r, isRetired)
}
