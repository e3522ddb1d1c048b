package adaptertest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// brokenShelf is a store of archives with one defect, over the one in memory.
type brokenShelf struct {
	*distill.MemoryStore
	find func(context.Context, memory.Scope, distill.Digest) (distill.Digest, error)
	keep func(context.Context, memory.Scope, distill.Digest, []byte, time.Time) (distill.Digest, error)
	load func(context.Context, memory.Scope, distill.Digest) ([]byte, error)
	drop func(context.Context, memory.Scope, distill.Digest, time.Time) error
	list func(context.Context, memory.Scope) iter.Seq2[distill.Kept, error]

	again  bool         // its data were opened before
	joined *atomic.Bool // somebody has opened its data once more
	lock   *sync.Mutex  // of the data

	mu    sync.Mutex
	other map[distill.Digest][]byte // in the place of what was kept: the damage
}

func newBrokenShelf(defect func(b *brokenShelf), data *brokenShelf) *brokenShelf {
	b := &brokenShelf{MemoryStore: distill.NewMemoryStore(), other: map[distill.Digest][]byte{}, joined: new(atomic.Bool), lock: new(sync.Mutex)}
	if data != nil {
		b.MemoryStore, b.again, b.joined, b.lock = data.MemoryStore, true, data.joined, data.lock
		b.joined.Store(true)
	}
	m := b.MemoryStore
	b.find, b.keep, b.drop, b.list, b.load = m.Find, m.Keep, m.Drop, m.Archives, b.sound
	defect(b)
	return b
}

// sound is a load that looks at what it found.
func (b *brokenShelf) sound(ctx context.Context, s memory.Scope, address distill.Digest) ([]byte, error) {
	data, err := b.raw(ctx, s, address)
	if err == nil && distill.Verify(data, address) != nil {
		return nil, distill.ErrArchive
	}
	return data, err
}

// raw is what lies on the medium.
func (b *brokenShelf) raw(ctx context.Context, s memory.Scope, address distill.Digest) ([]byte, error) {
	data, err := b.MemoryStore.Load(ctx, s, address)
	b.mu.Lock()
	defer b.mu.Unlock()
	if bad, ok := b.other[address]; ok && err == nil {
		return slices.Clone(bad), nil
	}
	return data, err
}

func (b *brokenShelf) Find(ctx context.Context, s memory.Scope, key distill.Digest) (distill.Digest, error) {
	return b.find(ctx, s, key)
}
func (b *brokenShelf) Keep(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
	return b.keep(ctx, s, key, data, at)
}
func (b *brokenShelf) Load(ctx context.Context, s memory.Scope, address distill.Digest) ([]byte, error) {
	return b.load(ctx, s, address)
}
func (b *brokenShelf) Drop(ctx context.Context, s memory.Scope, address distill.Digest, before time.Time) error {
	err := b.drop(ctx, s, address, before)
	if _, gone := b.MemoryStore.Load(ctx, s, address); gone != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.other, address)
	}
	return err
}
func (b *brokenShelf) Archives(ctx context.Context, s memory.Scope) iter.Seq2[distill.Kept, error] {
	return b.list(ctx, s)
}

func shelfConfig(defect func(b *brokenShelf)) *ArchiveConfig {
	return &ArchiveConfig{
		New: func(context.Context) (distill.ArchiveStore, error) { return newBrokenShelf(defect, nil), nil },
		Reopen: func(_ context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error) {
			return newBrokenShelf(defect, s.(*brokenShelf)), nil
		},
		Damage: func(_ context.Context, s distill.ArchiveStore, _ memory.Scope, address distill.Digest, data []byte) error {
			b := s.(*brokenShelf)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.other[address] = data
			return nil
		},
	}
}

// shelfDefects are keyed by the case that is there for them.
var shelfDefects = map[string]func(b *brokenShelf){
	"empty": func(b *brokenShelf) {
		b.drop = func(ctx context.Context, s memory.Scope, a distill.Digest, before time.Time) error {
			if _, err := b.MemoryStore.Load(ctx, s, a); err != nil {
				return err
			}
			return b.MemoryStore.Drop(ctx, s, a, before)
		}
	},
	"kept": func(b *brokenShelf) {
		b.load = func(ctx context.Context, s memory.Scope, a distill.Digest) ([]byte, error) {
			data, err := b.MemoryStore.Load(ctx, s, a)
			return []byte(strings.ToValidUTF8(strings.ReplaceAll(string(data), "\u2028", "\n"), "")), err
		}
	},
	"first-wins": func(b *brokenShelf) {
		b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
			if old, err := b.MemoryStore.Find(ctx, s, key); err == nil && old != distill.DigestOf(data) {
				b.MemoryStore.Drop(ctx, s, old, time.Time{})
			}
			return b.MemoryStore.Keep(ctx, s, key, data, at)
		}
	},
	"scopes": func(b *brokenShelf) {
		b.find = func(ctx context.Context, s memory.Scope, key distill.Digest) (distill.Digest, error) {
			s.Ref = strings.ToLower(s.Ref)
			return b.MemoryStore.Find(ctx, s, key)
		}
	},
	"listed": func(b *brokenShelf) {
		b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
			if old, err := b.MemoryStore.Find(ctx, s, key); err == nil {
				return old, nil
			}
			return b.MemoryStore.Keep(ctx, s, key, data, at)
		}
	},
	"list-and-drop": func(b *brokenShelf) {
		b.list = func(ctx context.Context, s memory.Scope) iter.Seq2[distill.Kept, error] {
			return func(yield func(distill.Kept, error) bool) {
				for k, err := range b.MemoryStore.Archives(ctx, s) {
					if _, gone := b.MemoryStore.Load(ctx, s, k.Address); gone != nil {
						err = gone
					}
					if !yield(k, err) {
						return
					}
					if _, gone := b.MemoryStore.Load(ctx, s, k.Address); gone != nil {
						yield(distill.Kept{}, memory.ErrConflict) // the cursor is lost
						return
					}
				}
			}
		}
	},
	"drop": func(b *brokenShelf) {
		b.drop = func(context.Context, memory.Scope, distill.Digest, time.Time) error { return nil }
	},
	"drop-before": func(b *brokenShelf) {
		b.drop = func(ctx context.Context, s memory.Scope, a distill.Digest, before time.Time) error {
			if !before.IsZero() {
				before = before.Add(1)
			}
			return b.MemoryStore.Drop(ctx, s, a, before)
		}
	},
	"own-bytes": func(b *brokenShelf) {
		var given memo[distill.Digest, []byte]
		b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
			given.set(distill.DigestOf(data), data)
			return b.MemoryStore.Keep(ctx, s, key, data, at)
		}
		b.load = func(_ context.Context, _ memory.Scope, a distill.Digest) ([]byte, error) {
			return given.get(a), nil
		}
	},
	"racing-keeps": everyoneWins,
	"cancelled": func(b *brokenShelf) {
		b.keep = func(_ context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
			return b.MemoryStore.Keep(context.Background(), s, key, data, at)
		}
	},
	"damaged": func(b *brokenShelf) { b.load = b.raw },
	"damaged-then-dropped": func(b *brokenShelf) {
		b.drop = func(ctx context.Context, s memory.Scope, a distill.Digest, before time.Time) error {
			if data, err := b.raw(ctx, s, a); err == nil && distill.Verify(data, a) != nil {
				return distill.ErrArchive
			}
			return b.MemoryStore.Drop(ctx, s, a, before)
		}
	},
	"two-at-once": func(b *brokenShelf) {
		if b.again { // it drops from what it alone holds
			b.drop = func(context.Context, memory.Scope, distill.Digest, time.Time) error { return nil }
		}
	},
	"racing-stores": func(b *brokenShelf) {
		if b.again {
			everyoneWins(b)
		}
	},
	"reopened": func(b *brokenShelf) {
		if b.again {
			b.find = distill.NewMemoryStore().Find // the keys were in memory only
		}
	},
}

// everyoneWins tells each who keeps an archive that it is the one.
func everyoneWins(b *brokenShelf) {
	b.keep = func(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
		_, err := b.MemoryStore.Keep(ctx, s, key, data, at)
		return distill.DigestOf(data), err
	}
}

type shelfDefect struct {
	name  string
	needs string // LAW/case
	do    func(b *brokenShelf)
}

func archiveDefects() []shelfDefect {
	all := narrowShelves()
	for c, do := range sorted(shelfDefects) {
		all = append(all, shelfDefect{"is wrong about " + c, "ARCHIVE/" + c, do})
	}
	return all
}

// TestBrokenArchives shows for each broken store of archives that the kit fails in the
// case that is there for it.
func TestBrokenArchives(t *testing.T) {
	for _, d := range archiveDefects() {
		t.Run(d.needs+"/"+d.name, func(t *testing.T) {
			caught(t, d.needs, func() *proof[distill.ArchiveStore, *archives] { return shelfConfig(d.do).proof() })
		})
	}
}

func TestSoundArchives(t *testing.T) {
	report, err := CheckArchiveStore(t.Context(), *shelfConfig(func(*brokenShelf) {}))
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Empty(t, report.NotOffered)
	require.NotContains(t, report.String(), "level:")

	cfg := shelfConfig(func(*brokenShelf) {})
	cfg.Reopen, cfg.Damage, cfg.Require = nil, nil, []Offer{Damageable}
	report, err = CheckArchiveStore(t.Context(), *cfg)
	require.NoError(t, err)
	require.False(t, report.OK())
	require.Contains(t, report.String(), "not offered (required): damageable: ArchiveConfig.Damage is not set")
	require.Contains(t, report.String(), "not offered: durable: ArchiveConfig.Reopen is not set")
}
