package main

import (
	"sync"
	"time"

	"github.com/google/btree"

	"github.com/openwop/agentmemory/memory"
)

// treeStore is the peer of the store rows: the entries of one scope in two
// B-trees of github.com/google/btree, by order and by id, under a mutex. It does
// what the rows ask of a store: the same order, the same checks for retirement
// and expiry, and snapshots by Clone, which shares nodes until they are written.
// It knows no tenants, mutations, lineage, erasure or outbox.
type treeStore struct {
	mu    sync.Mutex
	order *btree.BTreeG[*treeItem]
	ids   *btree.BTreeG[*treeItem]
}

type treeItem struct {
	created, expires int64 // milliseconds; expires is 0 for never
	retired          bool
	entry            memory.Entry
}

const treeDegree = 32

func newTreeStore() *treeStore {
	return &treeStore{
		order: btree.NewG(treeDegree, func(a, b *treeItem) bool {
			if a.created != b.created {
				return a.created < b.created
			}
			return a.entry.ID < b.entry.ID
		}),
		ids: btree.NewG(treeDegree, func(a, b *treeItem) bool { return a.entry.ID < b.entry.ID }),
	}
}

func (s *treeStore) put(e memory.Entry) {
	it := &treeItem{created: e.CreatedAt.UnixMilli(), entry: e}
	if !e.ExpiresAt.IsZero() {
		it.expires = e.ExpiresAt.UnixMilli()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.ReplaceOrInsert(it)
	s.ids.ReplaceOrInsert(it)
}

func (s *treeStore) get(id string, at time.Time) (memory.Entry, error) {
	probe := treeItem{entry: memory.Entry{ID: id}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.ids.Get(&probe); ok && it.live(at.UnixMilli()) {
		return it.entry, nil
	}
	return memory.Entry{}, memory.ErrNotFound
}

func (s *treeStore) list(limit int, at time.Time) []memory.Entry {
	now := at.UnixMilli()
	entries := make([]memory.Entry, 0, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.Descend(func(it *treeItem) bool {
		if it.live(now) {
			entries = append(entries, it.entry)
		}
		return len(entries) < limit
	})
	return entries
}

// view returns a snapshot that can be listed and asked for an id.
func (s *treeStore) view() *treeStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &treeStore{order: s.order.Clone(), ids: s.ids.Clone()}
}

func (it *treeItem) live(at int64) bool {
	return !it.retired && (it.expires == 0 || at < it.expires)
}
