package adaptertest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// batchReadDefects are about reads of many ids at once.
func batchReadDefects() []defect {
	var all []defect
	both := func(name, needs string, lookups func(recs []driver.Record) []driver.Record, getsAt func(ids []string, entries []driver.Entry) []driver.Entry) {
		all = append(all,
			defect{"looks up " + name, "RECORD/" + needs + "-lookup", func(b *broken) {
				b.lookups = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
					recs, err := b.in.Lookup(ctx, s, ids)
					return lookups(recs), err
				}
			}},
			defect{"gets as of a version " + name, "RECORD/" + needs + "-get-at", func(b *broken) {
				b.getsAt = func(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
					entries, err := b.in.GetAt(ctx, s, v, ids, at)
					return getsAt(ids, entries), err
				}
			}})
	}
	recordID := func(a, b driver.Record) int { return strings.Compare(a.Entry.ID, b.Entry.ID) }
	entryID := func(a, b driver.Entry) int { return strings.Compare(a.ID, b.ID) }
	both("in the order of the bytes", "in-order-of-ids",
		func(recs []driver.Record) []driver.Record { slices.SortFunc(recs, recordID); return recs },
		func(_ []string, entries []driver.Entry) []driver.Entry {
			slices.SortFunc(entries, entryID)
			return entries
		})
	both("each id once, or as often as it is asked for, the other way round than it should,", "in-order-of-ids", func(recs []driver.Record) []driver.Record {
		seen := map[string]bool{}
		return slices.DeleteFunc(recs, func(r driver.Record) bool { was := seen[r.Entry.ID]; seen[r.Entry.ID] = true; return was })
	}, func(ids []string, entries []driver.Entry) (twice []driver.Entry) { // a list has each once
		for _, e := range entries {
			for _, id := range ids {
				if id == e.ID {
					twice = append(twice, e)
				}
			}
		}
		return twice
	})
	both("a thousand ids at most", "many-ids",
		func(recs []driver.Record) []driver.Record { return recs[:min(1000, len(recs))] },
		func(_ []string, entries []driver.Entry) []driver.Entry { return entries[:min(1000, len(entries))] })
	pause := func() {
		for range 20 {
			runtime.Gosched()
		}
	}
	return append(all,
		defect{"fails to look up what is not there", "RECORD/in-order-of-ids-lookup", func(b *broken) {
			b.lookups = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
				recs, err := b.in.Lookup(ctx, s, ids)
				if err == nil && len(recs) < len(ids) {
					err = driver.ErrNotFound
				}
				return recs, err
			}
		}},
		defect{"looks up ids one by one", "RECORD/one-state-lookup", func(b *broken) {
			b.lookup = func(ctx context.Context, s driver.Scope, id string) (driver.Record, error) {
				pause()
				return b.in.find(ctx, s, id)
			}
		}},
		defect{"gets ids as of a version one by one", "RECORD/one-state-get-at", func(b *broken) {
			b.getAt = func(ctx context.Context, s driver.Scope, v driver.Version, id string, at time.Time) (driver.Entry, error) {
				pause()
				return b.in.getAt(ctx, s, v, id, at)
			}
		}})
}

// changesDefects are about what has changed between two versions.
func changesDefects() []defect {
	tells := func(name, needs string, f func(b *broken, c driver.ChangeSet) driver.ChangeSet) defect {
		return defect{name, needs, func(b *broken) {
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				c, err := b.in.Changes(ctx, s, from, to)
				if err != nil {
					return c, err
				}
				return f(b, c), nil
			}
		}}
	}
	asks := func(name, needs string, f func(b *broken, s driver.Scope, from, to driver.Version) (driver.Version, driver.Version)) defect {
		return defect{name, needs, func(b *broken) {
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				if _, err := b.in.Intact(ctx, s, from); err != nil {
					return driver.ChangeSet{}, err
				}
				from, to = f(b, s, from, to)
				return b.in.Changes(ctx, s, from, to)
			}
		}}
	}
	var all []defect
	for i, list := range []string{"put", "retired", "restored", "erased"} {
		all = append(all, tells("does not tell what was "+list, "CHANGES/kinds", func(_ *broken, c driver.ChangeSet) driver.ChangeSet {
			*[]*[]string{&c.Put, &c.Retired, &c.Restored, &c.Erased}[i] = nil
			return c
		}))
	}
	return append(all,
		asks("tells what the first version itself did", "CHANGES/kinds", func(_ *broken, _ driver.Scope, from, to driver.Version) (driver.Version, driver.Version) {
			n, mark, _ := from.Parse()
			return mark.Version(max(n, 1) - 1), to
		}),
		asks("tells what has changed to the present", "CHANGES/kinds", func(b *broken, s driver.Scope, from, _ driver.Version) (driver.Version, driver.Version) {
			now, _ := b.in.Version(context.Background(), s.Tenant)
			return from, now
		}),
		tells("tells an id as often as it was touched", "CHANGES/kinds", func(_ *broken, c driver.ChangeSet) driver.ChangeSet {
			if len(c.Restored) > 0 {
				c.Retired = append(c.Retired, c.Restored...)
			}
			return c
		}),
		defect{"tells of puts that changed nothing", "CHANGES/nothing", func(b *broken) {
			var again []string
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if _, err := b.in.find(ctx, s, e.ID); err == nil {
					again = append(again, e.ID)
				}
				return b.in.Put(ctx, s, e)
			}
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				c, err := b.in.Changes(ctx, s, from, to)
				c.Put = append(c.Put, again...)
				return c, err
			}
		}},
		defect{"tells of versions that it does not have", "TTL/instants", func(b *broken) {
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				if _, err := b.in.Intact(ctx, s, from); err != nil && ctx.Err() == nil && strings.HasPrefix(string(to), string(from)) {
					return driver.ChangeSet{}, nil
				}
				return b.in.Changes(ctx, s, from, to)
			}
		}},
		defect{"tells of versions before a purge", "TTL/instants", func(b *broken) {
			purge := b.purge
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				b.changes = func(context.Context, driver.Scope, driver.Version, driver.Version) (driver.ChangeSet, error) {
					return driver.ChangeSet{}, nil
				}
				return purge(ctx, tenant, v, at)
			}
		}},
		defect{"forgets at a purge what has changed since", "LIMIT/expired", func(b *broken) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				n, err := b.in.Purge(ctx, tenant, v, at)
				tells("", "", func(_ *broken, c driver.ChangeSet) driver.ChangeSet { c.Erased = nil; return c }).do(b)
				return n, err
			}
		}},
		tells("tells a thousand ids at most", "SIZES/many-changes", func(_ *broken, c driver.ChangeSet) driver.ChangeSet {
			c.Put = c.Put[:min(1000, len(c.Put))]
			return c
		}),
		defect{"tells what has changed in the tenant", "CTI-1/foreign-version", func(b *broken) {
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (all driver.ChangeSet, err error) {
				for _, o := range b.known(func(o driver.Scope) bool { return o.Tenant == s.Tenant }) {
					c, err := b.in.Changes(ctx, o, from, to)
					if err != nil {
						return c, err
					}
					all.Put, all.Retired = append(all.Put, c.Put...), append(all.Retired, c.Retired...)
				}
				return all, ctx.Err()
			}
		}},
		defect{"counts erasures of another ref", "CTI-1/foreign-intact", func(b *broken) {
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				whole, err := b.in.Intact(ctx, s, v)
				for _, o := range b.known(func(o driver.Scope) bool { return o.Tenant == s.Tenant }) {
					ok, _ := b.in.Intact(ctx, o, v)
					whole = whole && ok
				}
				return whole, err
			}
		}},
	)
}
