package inmem

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openwop/agentmemory/internal/ordered"
	"github.com/openwop/agentmemory/memory/driver"
)

var (
	_ driver.Versioned   = (*Store)(nil)
	_ driver.EventKeeper = (*Store)(nil)
	_ driver.Scheduler   = (*Store)(nil)
	_ driver.Changes     = (*Store)(nil)
	_ driver.Tenants     = (*Store)(nil)
)

// Store is an in-memory [driver.Adapter] that offers everything a store can offer but
// durability. Create one with [New].
type Store struct {
	incarnation string
	revs        atomic.Int64 // the last revision of a document, of all tenants
	events      eventTable
	schedule    schedule

	mu      sync.RWMutex
	tenants map[string]*tenant
	byName  ordered.List[*tenant]
}

// tenant is all that is kept for a tenant. Its lock guards everything below it: the
// scopes with their records, and the documents.
type tenant struct {
	name string
	mark driver.Mark // of all its versions

	mu       sync.RWMutex
	version  uint64 // the number of versions that were made
	used     driver.Limits
	horizon  uint64   // older versions are unavailable
	journals [][]byte // of the versions behind it
	scopes   map[string]*scope
	subjects sets[*record] // the entries of all scopes by subject
	shelf    shelf
}

// New returns an empty store.
func New() *Store {
	return &Store{
		incarnation: rand.Text(), events: eventTable{runs: map[runKey]*runEvents{}},
		schedule: schedule{docs: ordered.List[*driver.Document]{Compare: byDue}}, tenants: map[string]*tenant{},
		byName: ordered.List[*tenant]{Compare: func(a, b *tenant) int { return strings.Compare(a.name, b.name) }},
	}
}

// Version returns the version that the tenant's memory has now (M7).
func (st *Store) Version(ctx context.Context, name string) (driver.Version, error) {
	return view(ctx, st, name, func(t *tenant) (driver.Version, error) { return t.mark.Version(t.version), nil })
}

// view returns what f finds in a tenant's memory.
func view[T any](ctx context.Context, st *Store, name string, f func(t *tenant) (T, error)) (found T, err error) {
	if err := ctx.Err(); err != nil {
		return found, err
	}
	t := st.tenant(name)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return f(t)
}

// tenant returns an empty tenant, which is not kept, for one that was never written.
func (st *Store) tenant(name string) *tenant {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if t := st.tenants[name]; t != nil {
		return t
	}
	return st.newTenant(name)
}

func (st *Store) newTenant(name string) *tenant {
	name = strings.Clone(name)
	return &tenant{
		name: name, mark: driver.FirstMark(st.incarnation, name), scopes: map[string]*scope{},
		subjects: sets[*record]{}, shelf: newShelf(&st.schedule),
	}
}

// tenantFrom returns the first tenant, from a name on, or nil.
func (st *Store) tenantFrom(name string) *tenant {
	st.mu.RLock()
	defer st.mu.RUnlock()
	for t := range st.byName.From(&tenant{name: name}) {
		return t
	}
	return nil
}

func (st *Store) makeTenant(name string) *tenant {
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.tenants[name]
	if t == nil {
		t = st.newTenant(name)
		st.tenants[t.name] = t
		st.byName.Insert(t)
	}
	return t
}

// number returns the number of a version that can be read.
func (t *tenant) number(v driver.Version) (uint64, error) {
	n, mark, err := v.Parse()
	if err != nil || mark != t.mark || n > t.version || n < t.horizon {
		return 0, driver.ErrSnapshotUnavailable
	}
	return n, nil
}

// find returns nil if the scope has no record of that id.
func (t *tenant) find(ref, id string) *record {
	if sc := t.scopes[ref]; sc != nil {
		return sc.recs[id]
	}
	return nil
}

func (t *tenant) scope(ref string) *scope {
	sc := t.scopes[ref]
	if sc == nil {
		sc = newScope(t, ref)
		t.scopes[sc.ref] = sc
	}
	return sc
}
