package mapstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

var _ driver.Adapter = (*Store)(nil)

// Store keeps entries in a map. Create one with [New].
type Store struct {
	mu     sync.RWMutex
	scopes map[driver.Scope]map[string]*record // by id
}

// record is an entry for ever: a deleted one keeps its id used.
type record struct {
	entry   driver.Entry
	deleted bool
}

// New returns an empty store.
func New() *Store {
	return &Store{scopes: map[driver.Scope]map[string]*record{}}
}

// Put inserts e if the scope has no entry of that id. The same entry again is a
// success that changes nothing, also after a delete; another one is
// [driver.ErrConflict].
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.CreatedAt, e.ExpiresAt = e.CreatedAt.UTC(), e.ExpiresAt.UTC()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.scopes[s] == nil {
		st.scopes[s] = map[string]*record{}
	}
	if held := st.scopes[s][e.ID]; held != nil {
		if !held.entry.Equal(&e) {
			return driver.ErrConflict
		}
		return nil
	}
	st.scopes[s][e.ID] = &record{entry: e}
	return nil
}

// Get returns the entry if it is live at the instant at.
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return driver.Entry{}, err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	if held := st.scopes[s][id]; held.live(at) {
		return held.entry, nil
	}
	return driver.Entry{}, driver.ErrNotFound
}

// Delete ends the life of an entry and reports whether it was live.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	held := st.scopes[s][id]
	if !held.live(at) {
		return false, nil
	}
	held.deleted = true
	return true, nil
}

// List returns the live entries that q asks for: filter, sort, then cut.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	var found []driver.Entry
	for _, held := range st.scopes[s] {
		if !held.deleted && q.Matches(&held.entry) {
			found = append(found, held.entry)
		}
	}
	slices.SortFunc(found, func(a, b driver.Entry) int { return a.Compare(&b) })
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

func (r *record) live(at time.Time) bool {
	return r != nil && !r.deleted && r.entry.LiveAt(at)
}
