package adaptertest

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// narrowShelves are such broken stores of archives as one case alone is to find.
func narrowShelves() []shelfDefect {
	count := func(b *brokenShelf, s memory.Scope) (n int) {
		for range b.MemoryStore.Archives(context.Background(), s) {
			n++
		}
		return n
	}
	var every sync.Map // the stores in which anything was kept
	return []shelfDefect{
		{"fails to drop while nothing was ever kept", "ARCHIVE/empty", func(b *brokenShelf) {
			b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
				every.Store(b.MemoryStore, true)
				return b.MemoryStore.Keep(ctx, s, key, data, at)
			}
			b.drop = func(ctx context.Context, s memory.Scope, a distill.Digest, before time.Time) error {
				if _, used := every.Load(b.MemoryStore); !used {
					return memory.ErrNotFound
				}
				return b.MemoryStore.Drop(ctx, s, a, before)
			}
		}},
		{"answers what nobody asked once it has two answers", "ARCHIVE/kept", func(b *brokenShelf) {
			b.find = func(ctx context.Context, s memory.Scope, key distill.Digest) (distill.Digest, error) {
				address, err := b.MemoryStore.Find(ctx, s, key)
				if err != nil && count(b, s) == 2 {
					return address, ctx.Err()
				}
				return address, err
			}
		}},
		{"keeps the bytes of the loser", "ARCHIVE/first-wins", func(b *brokenShelf) {
			var losers memo[distill.Digest, []byte]
			b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
				winner, err := b.MemoryStore.Keep(ctx, s, key, data, at)
				if err == nil && winner != distill.DigestOf(data) {
					losers.set(distill.DigestOf(data), data)
				}
				return winner, err
			}
			b.load = func(ctx context.Context, s memory.Scope, a distill.Digest) ([]byte, error) {
				if data, known := losers.find(a); known {
					return data, nil
				}
				return b.sound(ctx, s, a)
			}
		}},
		{"does not note that the loser was kept", "ARCHIVE/listed", func(b *brokenShelf) {
			b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
				if old, err := b.MemoryStore.Find(ctx, s, key); err == nil && old != distill.DigestOf(data) {
					return old, nil
				}
				return b.MemoryStore.Keep(ctx, s, key, data, at)
			}
		}},
		{"drops what was kept later along with it", "ARCHIVE/drop", func(b *brokenShelf) {
			var order []distill.Digest
			var mu sync.Mutex
			b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, distill.DigestOf(data))
				return b.MemoryStore.Keep(ctx, s, key, data, at)
			}
			b.drop = func(ctx context.Context, s memory.Scope, a distill.Digest, before time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				if err := b.MemoryStore.Drop(ctx, s, a, before); err != nil || len(order) < 2 || order[0] != a || s != home {
					return err
				}
				return b.MemoryStore.Drop(ctx, s, order[1], before)
			}
		}},
		{"hands out its own bytes", "ARCHIVE/own-bytes", func(b *brokenShelf) {
			var held memo[distill.Digest, []byte]
			b.load = func(ctx context.Context, s memory.Scope, a distill.Digest) ([]byte, error) {
				data, err := b.sound(ctx, s, a)
				if old, known := held.find(a); known && err == nil && len(old) == len(data) {
					return old, nil
				}
				held.set(a, data)
				return data, err
			}
		}},
		{"takes a lock only once another has it open", "ARCHIVE/racing-keeps", func(b *brokenShelf) { b.looksFirst(b.lock, b.joined.Load) }},
		{"takes a lock of its own", "ARCHIVE/racing-stores", func(b *brokenShelf) { b.looksFirst(new(sync.Mutex), func() bool { return true }) }},
		{"opened again, dates everything anew", "ARCHIVE/reopened", func(b *brokenShelf) {
			if !b.again {
				return
			}
			b.list = func(ctx context.Context, s memory.Scope) iter.Seq2[distill.Kept, error] {
				return func(yield func(distill.Kept, error) bool) {
					for k, err := range b.MemoryStore.Archives(ctx, s) {
						if k.At = k.At.Add(time.Hour); !yield(k, err) {
							return
						}
					}
				}
			}
		}},
	}
}

// looksFirst looks for the key, lets others in, and then puts its own in the place of
// whatever is there by now; under a lock if it takes it.
func (b *brokenShelf) looksFirst(lock *sync.Mutex, takes func() bool) {
	b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
		if takes() {
			lock.Lock()
			defer lock.Unlock()
		}
		if _, err := b.MemoryStore.Find(ctx, s, key); err == nil || ctx.Err() != nil {
			return b.MemoryStore.Keep(ctx, s, key, data, at)
		}
		for range 20 {
			runtime.Gosched()
		}
		if old, err := b.MemoryStore.Find(ctx, s, key); err == nil {
			b.MemoryStore.Drop(ctx, s, old, time.Time{})
		}
		return b.MemoryStore.Keep(ctx, s, key, data, at)
	}
}
