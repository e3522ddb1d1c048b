package adaptertest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// logDefects are of stores whose run log is wrong about mutations. What a log can get wrong
// by itself is in TestRunLog_Broken.
func logDefects() []defect {
	applies := func(name, needs string, f func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error)) defect {
		return defect{name, needs, func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if !m.Keep {
					return b.in.Apply(ctx, tenant, m)
				}
				return f(b, ctx, tenant, m)
			}
		}}
	}
	return []defect{
		applies("queues what is to be logged", "LOG/", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			m.Keep = false
			return b.in.Apply(ctx, tenant, m)
		}),
		applies("logs and queues", "LOG/", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			made, err := b.in.Apply(ctx, tenant, m)
			if err == nil {
				_, err = b.in.Apply(ctx, tenant, driver.Mutation{Events: m.Events})
			}
			return made, err
		}),
		applies("logs what it then refuses", "LOG/refused", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			_ = b.in.Emit(ctx, m.Events...)
			return b.in.Apply(ctx, tenant, m)
		}),
		applies("takes a mutation without its invalid events", "LOG/invalid", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			m.Events = slices.DeleteFunc(slices.Clone(m.Events), func(r events.Record) bool { return r.Validate() != nil })
			return b.in.Apply(ctx, tenant, m)
		}),
		applies("refuses logged events as if they waited", "LOG/limits", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			if limit := m.Limits.Waiting; limit > 0 && int64(len(m.Events)) > limit {
				return driver.Applied{}, driver.ErrBacklog
			}
			return b.in.Apply(ctx, tenant, m)
		}),
		applies("numbers an event again that was emitted", "LOG/once", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			recs := slices.Clone(m.Events)
			for i := range recs {
				recs[i].ID += "\u200b"
			}
			m.Events = recs
			return b.in.Apply(ctx, tenant, m)
		}),
		{"makes a version of an emitted event", "LOG/versions", func(b *broken) {
			b.emit = func(ctx context.Context, recs []events.Record) error {
				b.in.Apply(ctx, recs[0].Tenant, driver.Mutation{})
				return b.in.Emit(ctx, recs...)
			}
		}},
		applies("logs 1000 events of a mutation at most", "SIZES/many-logged", func(b *broken, ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			m.Events = m.Events[:min(len(m.Events), 1000)]
			return b.in.Apply(ctx, tenant, m)
		}),
		{"emits one by one", "LOG/racing", func(b *broken) {
			b.emit = func(ctx context.Context, recs []events.Record) (err error) {
				for _, r := range recs {
					err = errors.Join(err, b.in.Emit(ctx, r))
					runtime.Gosched()
				}
				return err
			}
		}},
		{"forgets the log with an entry", "LOG/erased", func(b *broken) {
			var erased atomic.Bool
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if len(m.Erase) > 0 {
					erased.Store(true)
				}
				return b.in.Apply(ctx, tenant, m)
			}
			b.readLog = func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
				if erased.Load() {
					return nil, ctx.Err()
				}
				return b.in.Read(ctx, tenant, run, from, limit)
			}
		}},
		{"purges the events of a run one by one", "LOG/purged", func(b *broken) {
			b.purgeEvents = func(ctx context.Context, before time.Time, limit int) (bool, error) {
				evs, _ := b.in.Read(ctx, home.Tenant, "run-2", 0, 100)
				for _, e := range evs {
					if e.Time.Before(before) {
						b.purged.set("run-2", e.Sequence+1)
					}
				}
				return b.in.PurgeEvents(ctx, before, limit)
			}
			b.readLog = func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
				return b.in.Read(ctx, tenant, run, max(from, b.purged.get(run)), limit)
			}
		}},
		{"purges what is as old as the instant", "LOG/purged", func(b *broken) {
			b.purgeEvents = func(ctx context.Context, before time.Time, limit int) (bool, error) {
				return b.in.PurgeEvents(ctx, before.Add(time.Millisecond), limit)
			}
		}},
		{"purges no events", "LOG/purged", func(b *broken) {
			b.purgeEvents = func(ctx context.Context, _ time.Time, _ int) (bool, error) { return false, ctx.Err() }
		}},
		{"purges as many runs as there are", "LOG/purged-by-parts", func(b *broken) {
			b.purgeEvents = func(ctx context.Context, before time.Time, _ int) (bool, error) {
				return b.in.PurgeEvents(ctx, before, 1000)
			}
		}},
		{"says of a part that it was all", "LOG/purged-by-parts", func(b *broken) {
			b.purgeEvents = func(ctx context.Context, before time.Time, limit int) (bool, error) {
				_, err := b.in.PurgeEvents(ctx, before, limit)
				return false, err
			}
		}},
		{"keeps the log of a dropped tenant", "LOG/dropped", func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				var kept []events.Record
				for _, run := range []string{"run-0", "run-1", "run-2"} {
					evs, _ := b.in.Read(ctx, tenant, run, 0, 1000)
					kept = append(kept, records(evs)...)
				}
				more, err := b.in.DropTenant(ctx, tenant, limit)
				return more, errors.Join(err, b.in.Emit(ctx, kept...))
			}
		}},
		{"drops the log of every tenant", "LOG/dropped", func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				_, err := b.in.DropTenant(ctx, "globex", 1000)
				more, err2 := b.in.DropTenant(ctx, tenant, limit)
				return more, errors.Join(err, err2)
			}
		}},
		{"says that more is left as long as there is a log", "LOG/dropped-by-parts", func(b *broken) {
			var logs atomic.Bool
			b.emit = func(ctx context.Context, recs []events.Record) error {
				logs.Store(true)
				return b.in.Emit(ctx, recs...)
			}
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				more, err := b.in.DropTenant(ctx, tenant, limit)
				return more || logs.Load(), err
			}
		}},
		{"has no log when it is opened again", "LOG/durable", func(b *broken) {
			b.readLog = func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
				if b.handle > 0 {
					return nil, ctx.Err()
				}
				return b.in.Read(ctx, tenant, run, from, limit)
			}
		}},
		{"reads the runs of all tenants", "LOG/once", func(b *broken) {
			b.readLog = func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
				evs, err := b.in.Read(ctx, tenant, run, from, limit)
				if len(evs) == 0 && err == nil && strings.HasPrefix(tenant, "globex") {
					return b.in.Read(ctx, home.Tenant, run, from, limit)
				}
				return evs, err
			}
		}},
	}
}
