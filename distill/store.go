package distill

import (
	"bytes"
	"context"
	"iter"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// ArchiveStore keeps archives by their address, each scope's apart (CTI-1). It has
// no clock: instants come with the call. All methods are safe for concurrent use.
// Who keeps archives in a database implements it beside [memory.Adapter].
type ArchiveStore interface {
	// Find returns the address that a key was kept under, or [memory.ErrNotFound].
	Find(ctx context.Context, s memory.Scope, key Digest) (Digest, error)

	// Keep stores data under their digest unless the key has an archive already, and
	// returns the address that the key has then: of any number of calls for one key
	// one wins, and all learn which. Either way that archive counts as kept at the
	// instant at.
	Keep(ctx context.Context, s memory.Scope, key Digest, data []byte, at time.Time) (Digest, error)

	// Load returns the bytes of an archive, or [memory.ErrNotFound]. A store that
	// finds other bytes than it was given returns [ErrArchive].
	Load(ctx context.Context, s memory.Scope, address Digest) ([]byte, error)

	// Drop removes an archive and its key, unless it was kept at or after the
	// instant before; a zero before removes it in any case. One that is not there
	// is no error.
	Drop(ctx context.Context, s memory.Scope, address Digest, before time.Time) error

	// Archives yields what is kept for the scope, in no particular order, and stops
	// after an error. The loop may call the store again.
	Archives(ctx context.Context, s memory.Scope) iter.Seq2[Kept, error]
}

// Kept is an archive in its store.
type Kept struct {
	Address Digest
	At      time.Time // when it was last kept
}

// MemoryStore is an [ArchiveStore] in the process's own memory. Create one with
// [NewMemoryStore].
type MemoryStore struct {
	mu     sync.Mutex
	scopes map[memory.Scope]*shelf
}

type shelf struct {
	keys     map[Digest]Digest
	archives map[Digest]*volume
}

type volume struct {
	key  Digest
	data []byte
	at   time.Time
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{scopes: map[memory.Scope]*shelf{}} }

// with runs f on the shelf of a scope, which may be nil.
func (m *MemoryStore) with(ctx context.Context, s memory.Scope, f func(*shelf) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(m.scopes[s])
}

// Find returns the address that a key was kept under, or [memory.ErrNotFound].
func (m *MemoryStore) Find(ctx context.Context, s memory.Scope, key Digest) (address Digest, err error) {
	return address, m.with(ctx, s, func(sh *shelf) error {
		if sh != nil {
			if a, ok := sh.keys[key]; ok {
				address = a
				return nil
			}
		}
		return memory.ErrNotFound
	})
}

// Keep stores data unless the key has an archive already, and returns the address
// that the key has.
func (m *MemoryStore) Keep(ctx context.Context, s memory.Scope, key Digest, data []byte, at time.Time) (address Digest, err error) {
	return address, m.with(ctx, s, func(sh *shelf) error {
		if sh == nil {
			sh = &shelf{map[Digest]Digest{}, map[Digest]*volume{}}
			m.scopes[s] = sh
		}
		var known bool
		if address, known = sh.keys[key]; !known {
			address = DigestOf(data)
			sh.keys[key] = address
			sh.archives[address] = &volume{key, bytes.Clone(data), at}
		}
		sh.archives[address].at = at
		return nil
	})
}

// Load returns the bytes of an archive, or [memory.ErrNotFound].
func (m *MemoryStore) Load(ctx context.Context, s memory.Scope, address Digest) (data []byte, err error) {
	return data, m.with(ctx, s, func(sh *shelf) error {
		if sh == nil || sh.archives[address] == nil {
			return memory.ErrNotFound
		}
		data = bytes.Clone(sh.archives[address].data)
		return nil
	})
}

// Drop removes an archive and its key, unless it was kept at or after before.
func (m *MemoryStore) Drop(ctx context.Context, s memory.Scope, address Digest, before time.Time) error {
	return m.with(ctx, s, func(sh *shelf) error {
		if sh == nil {
			return nil
		}
		if v := sh.archives[address]; v != nil && (before.IsZero() || v.at.Before(before)) {
			delete(sh.keys, v.key)
			delete(sh.archives, address)
		}
		return nil
	})
}

// Archives yields what is kept for the scope.
func (m *MemoryStore) Archives(ctx context.Context, s memory.Scope) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		var all []Kept
		err := m.with(ctx, s, func(sh *shelf) error {
			if sh != nil {
				for a, v := range sh.archives {
					all = append(all, Kept{a, v.at})
				}
			}
			return nil
		})
		if err != nil {
			yield(Kept{}, err)
			return
		}
		for _, k := range all {
			if !yield(k, nil) {
				return
			}
		}
	}
}
