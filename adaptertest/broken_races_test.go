package adaptertest

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// racingDefects show only when goroutines use the store at once.
var racingDefects = []defect{
	{"looks and inserts in two steps", "RECORD/racing-puts", func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			if b.record(s, e.ID).Entry.ID != "" {
				return b.Store.Put(ctx, s, e)
			}
			pause()
			b.Store.Put(ctx, s, e)
			return nil
		}
	}},
	{"looks and deletes in two steps", "RECORD/racing-deletes", func(b *broken) {
		b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
			_, err := b.Store.Get(ctx, s, id, at)
			pause()
			b.Store.Delete(ctx, s, id, at)
			return err == nil, ctx.Err()
		}
	}},
	{"loses a write that meets another", "RACING/", func(b *broken) {
		var inside atomic.Int64
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			alone := inside.Add(1) == 1
			defer inside.Add(-1)
			if pause(); !alone {
				return nil
			}
			return b.Store.Put(ctx, s, e)
		}
	}},
	{"looks up ids one by one", "BATCH/readers-see-whole", func(b *broken) {
		b.lookup = func(ctx context.Context, s driver.Scope, ids []string) (all []driver.Record, err error) {
			for _, id := range ids {
				recs, err := b.Store.Lookup(ctx, s, []string{id})
				if err != nil {
					return nil, err
				}
				all = append(all, recs...)
				runtime.Gosched()
			}
			return all, ctx.Err()
		}
	}},
	{"lists in two halves", "BATCH/readers-see-whole", func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			all, err := b.Store.List(ctx, s, q)
			if err != nil || len(all) < 2 {
				return all, err
			}
			half := slices.Clone(all[:len(all)/2])
			q.After, q.Limit = half[len(half)-1].Cursor(), max(0, q.Limit-len(half))
			pause()
			rest, err := b.Store.List(ctx, s, q)
			return append(half, rest...), err
		}
	}},
	{"shows a mutation in parts", "BATCH/readers-see-whole", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			if len(m.Put) > 0 && len(m.Retire) > 0 {
				if _, err := b.Store.Apply(ctx, tenant, driver.Mutation{At: m.At, Put: m.Put}); err != nil {
					return driver.Applied{}, err
				}
				pause()
			}
			return b.Store.Apply(ctx, tenant, m)
		}
	}},
	{"checks and merges in two steps", "BATCH/racing-merges", func(b *broken) {
		dead := func(r driver.Retirement) bool { return b.record(r.Scope, r.ID).State != driver.Live }
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			if slices.ContainsFunc(m.Retire, dead) {
				return driver.Applied{}, driver.ErrConflict
			}
			pause()
			m.Retire = slices.DeleteFunc(slices.Clone(m.Retire), dead)
			return b.Store.Apply(ctx, tenant, m)
		}
	}},
	{"leaves the events of a batch that lost a race", "BATCH/racing-batches", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			made, err := b.Store.Apply(ctx, tenant, m)
			if err != nil {
				b.Store.Apply(ctx, tenant, driver.Mutation{At: m.At, Events: m.Events})
			}
			return made, err
		}
	}},
	{"makes a version before what it holds is there", "RACING/scopes", func(b *broken) {
		var missing sync.Map
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			missing.Store(e.ID, true)
			defer missing.Delete(e.ID)
			err := b.Store.Put(ctx, s, e)
			pause()
			return err
		}
		listed(func(_ *broken, _ driver.Scope, q driver.Query, found []driver.Entry) []driver.Entry {
			return slices.DeleteFunc(found, func(e driver.Entry) bool { _, is := missing.Load(e.ID); return q.Version != "" && is })
		})(b)
	}},
	{"compares and swaps in two steps", "DOCUMENT/racing-swaps", swapped(func(b *broken, x *driver.DocumentSwap) error {
		if b.document(&x.Document).Rev != x.Rev {
			return driver.ErrConflict
		}
		pause()
		x.Rev = b.document(&x.Document).Rev
		return nil
	})},
	{"looks at limits before it locks", "LIMIT/racing", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			live := 0
			for rec := range b.Store.History(ctx, tenant, driver.HistoryQuery{}) {
				if rec.State == driver.Live {
					live++
				}
			}
			if limit := m.Limits.Entries; limit > 0 && int64(live+len(m.Put)) > limit {
				return driver.Applied{}, driver.ErrStorageLimit
			}
			pause()
			m.Limits.Entries = 0
			return b.Store.Apply(ctx, tenant, m)
		}
	}},
	{"loses an event that another relay was given", "OUTBOX/racing-relays", func(b *broken) {
		var given atomic.Int64
		b.outbox = func(ctx context.Context, tenant, run string) iter.Seq2[events.Record, error] {
			recs, err := collect(b.Store.Undelivered(ctx, tenant, run))
			if given.Add(int64(len(recs))) > 30 && len(recs) > 1 {
				b.Store.Delivered(ctx, recs[1:2])
				recs = slices.Delete(recs, 1, 2)
			}
			return sequence(recs, err)
		}
	}},
	{"keeps events one by one", "LOG/", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (made driver.Applied, err error) {
			if !m.Keep || !m.Unversioned() || m.Validate(tenant) != nil {
				return b.Store.Apply(ctx, tenant, m)
			}
			for i := range m.Events {
				one := m
				one.Events = m.Events[i : i+1]
				if made, err = b.Store.Apply(ctx, tenant, one); err != nil {
					return made, err
				}
				pause()
			}
			return made, nil
		}
	}},
	{"loses some writes that a pass overtakes", "CONSOLIDATE/racing-writes", func(b *broken) {
		var writes atomic.Int64
		mutated(func(_ *broken, m *driver.Mutation) {
			if len(m.Put) == 1 && strings.HasPrefix(m.Put[0].Entry.RunID, "writer") && writes.Add(1)%10 == 0 {
				m.Put, m.Events = nil, nil
			}
		})(b)
	}},
	{"lets two at once claim what is due", "FIRE/at-once", swapped(func(b *broken, x *driver.DocumentSwap) error {
		if held := b.document(&x.Document); held.Rev == x.Rev && !held.Due.IsZero() {
			pause()
			x.Rev = b.document(&x.Document).Rev
		}
		return nil
	})},
}
