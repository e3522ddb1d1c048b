package commitment

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/internal/timer"
	"github.com/openwop/agentmemory/memory"
)

// InMemory is a [Store] in the process's own memory, for tests and for hosts whose
// commitments need not outlive it. Any number of engines may share it.
type InMemory struct {
	mu      sync.Mutex
	timers  timer.Index[*kept]
	tenants map[string]*ofTenant
}

// ofTenant are the commitments of one tenant.
type ofTenant struct {
	byID      map[string]*kept
	predicate map[string]map[string]*kept // by name, those that wait for it
}

// kept is a commitment with its place in the index.
type kept struct {
	Commitment
	timer timer.Handle
}

// NewInMemory returns an empty store.
func NewInMemory() *InMemory { return &InMemory{tenants: map[string]*ofTenant{}} }

// Get implements [Store].
func (s *InMemory) Get(ctx context.Context, tenant, id string) (Commitment, error) {
	if err := ctx.Err(); err != nil {
		return Commitment{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[tenant]; t != nil {
		if k := t.byID[id]; k != nil {
			return k.clone(), nil
		}
	}
	return Commitment{}, memory.ErrNotFound
}

// Swap implements [Store].
func (s *InMemory) Swap(ctx context.Context, c Commitment) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[c.Tenant]
	if t == nil {
		t = &ofTenant{map[string]*kept{}, map[string]map[string]*kept{}}
	}
	k := t.byID[c.ID]
	rev := int64(0)
	if k != nil {
		rev = k.Rev
	}
	if c.Rev != rev {
		return 0, memory.ErrConflict
	}
	if k == nil {
		k = new(kept)
		t.byID[c.ID] = k
		s.tenants[c.Tenant] = t
	}
	if !k.Due.IsZero() {
		s.timers.Remove(k.timer, k.Due.UnixMilli())
	}
	t.unwatch(k)
	k.Commitment = c.clone()
	k.Rev = rev + 1
	if !k.Due.IsZero() {
		k.timer = s.timers.Add(k.Due.UnixMilli(), k)
	}
	t.watch(k)
	return k.Rev, nil
}

func (t *ofTenant) watch(k *kept) {
	name := k.Arm.Predicate
	if name == "" || k.State.Final() {
		return
	}
	if t.predicate[name] == nil {
		t.predicate[name] = map[string]*kept{}
	}
	t.predicate[name][k.ID] = k
}

func (t *ofTenant) unwatch(k *kept) {
	if name := k.Arm.Predicate; t.predicate[name] != nil {
		if delete(t.predicate[name], k.ID); len(t.predicate[name]) == 0 {
			delete(t.predicate, name)
		}
	}
}

// Due implements [Store]. Where nothing is due it allocates nothing.
func (s *InMemory) Due(ctx context.Context, now time.Time, limit int) ([]Commitment, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.timers.Peek(now.UnixMilli(), limit, nil)
	if len(due) == 0 {
		return nil, nil
	}
	out := make([]Commitment, len(due))
	for i, k := range due {
		out[i] = k.clone()
	}
	return out, nil
}

// OfTenant implements [Store].
func (s *InMemory) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[Commitment, error] {
	return func(yield func(Commitment, error) bool) {
		for _, k := range s.list(tenant, predicate) {
			if err := ctx.Err(); err != nil {
				yield(Commitment{}, err)
				return
			}
			s.mu.Lock()
			c := k.clone()
			s.mu.Unlock()
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (s *InMemory) list(tenant, predicate string) []*kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[tenant]
	if t == nil {
		return nil
	}
	from := t.byID
	if predicate != "" {
		from = t.predicate[predicate]
	}
	out := make([]*kept, 0, len(from))
	for _, k := range from {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *kept) int { return strings.Compare(a.ID, b.ID) })
	return out
}
