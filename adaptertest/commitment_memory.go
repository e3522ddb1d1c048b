package adaptertest

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// plainMemory is the reference as a store, for engines that need some memory beside
// the commitment store that is proven.
type plainMemory struct {
	mu  sync.Mutex
	ref *reference
}

func newPlainMemory() *plainMemory { return &plainMemory{ref: newReference()} }

func (m *plainMemory) List(_ context.Context, s memory.Scope, q memory.Query) ([]memory.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ref.list(s, -1, q), nil
}

func (m *plainMemory) Get(_ context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.ref.tenant(s.Tenant).find(s, id)
	if !held.live(at) {
		return memory.Entry{}, memory.ErrNotFound
	}
	return held.Entry, nil
}

func (m *plainMemory) Put(_ context.Context, s memory.Scope, e memory.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ref.put(s, e)
}

func (m *plainMemory) Delete(_ context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ref.delete(s, id, at), nil
}

func (m *plainMemory) Apply(_ context.Context, tenant string, mut memory.Mutation) (memory.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return "", m.ref.apply(tenant, &mut)
}

func (m *plainMemory) Lookup(_ context.Context, s memory.Scope, id string) (memory.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.ref.tenant(s.Tenant).find(s, id)
	if held == nil {
		return memory.Record{}, memory.ErrNotFound
	}
	return held.Record, nil
}

func (m *plainMemory) History(_ context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []memory.Record
	for _, r := range m.ref.tenant(tenant).records {
		if (q.Ref == "" || r.Ref == q.Ref) && (q.For == "" || r.For == q.For) && q.Subject == "" {
			found = append(found, r.Record)
		}
	}
	return func(yield func(memory.Record, error) bool) {
		for _, r := range found {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (m *plainMemory) Cell(_ context.Context, s memory.Scope, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ref.tenant(s.Tenant).cells[s.Ref+"\x00"+name], nil
}

func (m *plainMemory) Undelivered(_ context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []events.Record
	for _, e := range m.ref.outbox {
		passed := false
		for _, x := range q.Except {
			passed = passed || x.Tenant == e.Tenant && x.RunID == e.RunID
		}
		if !passed && (q.Tenant == "" || q.Tenant == e.Tenant) && (q.RunID == "" || q.RunID == e.RunID) && (q.Limit == 0 || len(found) < q.Limit) {
			found = append(found, e)
		}
	}
	return found, nil
}

func (m *plainMemory) Delivered(_ context.Context, recs []events.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range recs {
		m.ref.delivered(e)
	}
	return nil
}
