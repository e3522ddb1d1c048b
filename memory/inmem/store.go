package inmem

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

var (
	_ memory.Versioned = (*Store)(nil)
	_ memory.Searcher  = (*Store)(nil)
	_ memory.Scanner   = (*Store)(nil)
	_ memory.Describer = (*Store)(nil)
)

// Store is an in-memory [memory.Adapter] that offers everything a store can
// offer but durability. Create one with [New].
type Store struct {
	incarnation string
	outbox      outbox

	mu      sync.RWMutex
	tenants map[string]*tenant
}

// tenant is all that is kept for a tenant. Its lock guards everything below it,
// including the scopes and their records.
type tenant struct {
	name string
	mark storerules.Mark // what all its versions begin with

	mu       sync.RWMutex
	version  uint64 // the number of mutations that were committed
	horizon  uint64 // older versions are unavailable
	scopes   map[string]*scope
	subjects map[string]map[*record]struct{}
	cells    map[cell][]byte
	erased   spans // versions at which something was live that is erased now
}

type cell struct{ ref, name string }

// scope has every record of a ref by id, and those that can be read in order.
type scope struct {
	tenant *tenant
	ref    string
	ids    index
	live   log       // neither retired nor erased
	past   log       // retired, not erased
	stubs  []*record // erased
}

// New returns an empty store.
func New() *Store {
	return &Store{incarnation: rand.Text(), tenants: map[string]*tenant{}}
}

// Traits returns the zero value: the store is volatile, writable and searches by
// text.
func (s *Store) Traits() memory.Traits { return memory.Traits{} }

// Version returns the version that the tenant's memory has now (M7).
func (s *Store) Version(ctx context.Context, tenant string) (memory.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	t := s.tenant(tenant)
	if t == nil {
		return s.mark(tenant).Version(0), nil
	}
	t.mu.RLock()
	v := t.version
	t.mu.RUnlock()
	return t.mark.Version(v), nil
}

// tenant returns nil for one that was never written.
func (s *Store) tenant(name string) *tenant {
	s.mu.RLock()
	t := s.tenants[name]
	s.mu.RUnlock()
	return t
}

func (s *Store) makeTenant(name string) *tenant {
	if t := s.tenant(name); t != nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[name]
	if t == nil {
		name = strings.Clone(name)
		t = &tenant{
			name: name, mark: s.mark(name), scopes: map[string]*scope{},
			subjects: map[string]map[*record]struct{}{}, cells: map[cell][]byte{},
		}
		s.tenants[name] = t
	}
	return t
}

func (s *Store) mark(tenant string) storerules.Mark { return storerules.MarkOf(s.incarnation, tenant) }

// available reports whether the state that n names exists and can be read still.
func (t *tenant) available(n uint64) error {
	if n > t.version || n < t.horizon {
		return memory.ErrSnapshotUnavailable
	}
	return nil
}

func (t *tenant) scope(ref string) *scope {
	sc := t.scopes[ref]
	if sc == nil {
		ref = strings.Clone(ref)
		sc = &scope{tenant: t, ref: ref}
		t.scopes[ref] = sc
	}
	return sc
}

// find returns nil if the scope has no record of that id.
func (t *tenant) find(ref, id string) *record {
	if sc := t.scopes[ref]; sc != nil {
		return sc.find(id)
	}
	return nil
}

func (sc *scope) find(id string) *record { return sc.ids.find(id) }
