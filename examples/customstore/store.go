package customstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

var _ memory.Adapter = (*Store)(nil)

// Store keeps entries in a map. Create one with [New].
type Store struct {
	mu     sync.RWMutex
	scopes map[memory.Scope]map[string]*record // by id
}

// record is an entry for ever: a deleted one keeps its id used.
type record struct {
	entry   memory.Entry
	deleted bool
}

// New returns an empty store.
func New() *Store {
	return &Store{scopes: map[memory.Scope]map[string]*record{}}
}

// Put inserts e if the scope has no entry of that id. The same entry again is a
// success that changes nothing, also after a delete; another one is
// [memory.ErrConflict].
func (st *Store) Put(ctx context.Context, s memory.Scope, e memory.Entry) error {
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
		if !same(&held.entry, &e) {
			return memory.ErrConflict
		}
		return nil
	}
	st.scopes[s][e.ID] = &record{entry: e}
	return nil
}

// Get returns the entry if it is live at the instant at.
func (st *Store) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return memory.Entry{}, err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	if held := st.scopes[s][id]; held.live(at) {
		return held.entry, nil
	}
	return memory.Entry{}, memory.ErrNotFound
}

// Delete ends the life of an entry and reports whether it was live.
func (st *Store) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
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
func (st *Store) List(ctx context.Context, s memory.Scope, q memory.Query) ([]memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	var found []memory.Entry
	for _, held := range st.scopes[s] {
		if held.live(q.At) && carries(&held.entry, q.Tag) && behind(&held.entry, q.After) {
			found = append(found, held.entry)
		}
	}
	slices.SortFunc(found, func(a, b memory.Entry) int {
		if a.Before(&b) {
			return -1
		}
		return 1
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

func (r *record) live(at time.Time) bool {
	return r != nil && !r.deleted && r.entry.LiveAt(at)
}

func carries(e *memory.Entry, tag string) bool {
	return tag == "" || slices.Contains(e.Tags, tag)
}

// behind reports whether e stands behind the position of a cursor. No entry need be
// there any more.
func behind(e *memory.Entry, after memory.Cursor) bool {
	position := memory.Entry{ID: after.ID, CreatedAt: after.CreatedAt}
	return after.IsZero() || position.Before(e)
}

// same compares all that an entry has. No tags and an empty list are the same.
func same(a, b *memory.Entry) bool {
	return a.Content == b.Content && a.RunID == b.RunID &&
		a.CreatedAt.Equal(b.CreatedAt) && a.ExpiresAt.Equal(b.ExpiresAt) &&
		slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Subjects, b.Subjects) && slices.Equal(a.Sources, b.Sources)
}
