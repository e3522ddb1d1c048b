package adaptertest

import (
	"context"
	"runtime"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory/driver"
)

// limitDefects are about what a mutation may make a tenant come to.
func limitDefects() []defect {
	bg := context.Background()
	// miscounts has the store count more than there is, or less.
	miscounts := func(name, needs string, more func(b *broken, tenant string, m *driver.Mutation) driver.Limits) defect {
		return defect{name, needs, func(b *broken) {
			apply := b.apply
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				wrong := more(b, tenant, &m)
				if m.Limits.Entries > 0 {
					m.Limits.Entries = max(1, m.Limits.Entries-wrong.Entries)
				}
				if m.Limits.Bytes > 0 {
					m.Limits.Bytes = max(1, m.Limits.Bytes-wrong.Bytes)
				}
				return apply(ctx, tenant, m)
			}
		}}
	}
	// counted is what records come to.
	counted := func(b *broken, tenant string, which func(r *driver.Record) bool) (u driver.Limits) {
		recs, _ := collect(b.in.History(bg, tenant, driver.HistoryQuery{}))
		for i := range recs {
			if which(&recs[i]) && !recs[i].Erased {
				u.Add(&recs[i].Entry, 1)
			}
		}
		return u
	}
	live := func(r *driver.Record) bool { return r.State == driver.Live }
	var dropped memo[*broken, driver.Limits]
	// early has the limits looked at before anything is locked.
	early := func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			u := counted(b, tenant, live)
			if limit := m.Limits.Entries; limit > 0 && len(m.Retire) == 0 && u.Entries+int64(len(m.Put)) > limit && b.record(m.Put[0].Scope, m.Put[0].Entry.ID).Entry.ID == "" {
				return driver.Applied{}, driver.ErrStorageLimit
			}
			for range 1000 {
				runtime.Gosched()
			}
			m.Limits.Entries = 0
			return b.in.Apply(ctx, tenant, m)
		}
	}
	return []defect{
		{"stores machinery before it looks at limits", "LIMIT/entries", mutated(func(b *broken, m *driver.Mutation) {
			if m.Limits == (driver.Limits{}) {
				return
			}
			for i := range m.Documents {
				if x := m.Documents[i]; x.Class == driver.Machinery {
					b.in.Apply(bg, x.Tenant, driver.Mutation{At: m.At, Documents: []driver.DocumentSwap{x}})
				}
			}
		})},
		miscounts("counts the characters of content", "LIMIT/bytes", func(b *broken, tenant string, m *driver.Mutation) (u driver.Limits) {
			for _, p := range m.Put {
				u.Bytes -= int64(len(p.Entry.Content) - utf8.RuneCountInString(p.Entry.Content))
			}
			return u
		}),
		miscounts("counts what was merged", "LIMIT/counted", func(b *broken, tenant string, _ *driver.Mutation) driver.Limits {
			return counted(b, tenant, func(r *driver.Record) bool { return r.State == driver.Merged })
		}),
		miscounts("counts what was deleted", "LIMIT/counted", func(b *broken, tenant string, _ *driver.Mutation) driver.Limits {
			return counted(b, tenant, func(r *driver.Record) bool { return r.State == driver.Deleted })
		}),
		{"refuses everything beyond a limit", "LIMIT/shrinking", func(b *broken) {
			apply := b.apply
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if limit := m.Limits.Entries; limit > 0 && counted(b, tenant, live).Entries > limit {
					return driver.Applied{}, driver.ErrStorageLimit
				}
				return apply(ctx, tenant, m)
			}
		}},
		{"lets any number of events wait", "LIMIT/waiting", mutated(func(_ *broken, m *driver.Mutation) { m.Limits.Waiting = 0 })},
		miscounts("counts what other tenants have", "LIMIT/others", func(b *broken, tenant string, _ *driver.Mutation) (u driver.Limits) {
			if tenant != home.Tenant {
				return u
			}
			for _, name := range lookalikes {
				more := counted(b, name, live)
				u.Entries, u.Bytes = u.Entries+more.Entries, u.Bytes+more.Bytes
			}
			return u
		}),
		miscounts("does not count what has expired", "LIMIT/expired", func(b *broken, tenant string, m *driver.Mutation) driver.Limits {
			u := counted(b, tenant, func(r *driver.Record) bool { return r.State == driver.Live && !r.Entry.LiveAt(m.At) })
			return driver.Limits{Entries: -u.Entries, Bytes: -u.Bytes}
		}),
		{"goes on counting what a dropped tenant had", "LIMIT/dropped", func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				if _, known := dropped.find(b); !known {
					dropped.set(b, counted(b, tenant, live))
				}
				return b.in.DropTenant(ctx, tenant, limit)
			}
			miscounts("", "", func(b *broken, _ string, _ *driver.Mutation) driver.Limits { return dropped.get(b) }).do(b)
		}},
		{"looks at limits before it locks", "LIMIT/racing", early},
		{"looks at limits before it locks, as processes do", "DURABLE/shared-limits", early},
		{"counts what it wrote itself", "DURABLE/limits", func(b *broken) {
			u := counted(b, home.Tenant, live)
			miscounts("", "", func(*broken, string, *driver.Mutation) driver.Limits {
				return driver.Limits{Entries: -u.Entries, Bytes: -u.Bytes}
			}).do(b)
		}},
	}
}
