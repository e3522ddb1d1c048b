package adaptertest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// versionedDefects are about reading at a version.
func versionedDefects() []defect {
	return append(slices.Concat(viewDefects(), versionDefects(), intactDefects(), purgeDefects()), byParts())
}

// live lets a list at a version show what live memory has of some kind.
func (b *broken) leakIntoViews(kind func(r driver.Record) bool, hide bool) {
	b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
		out, err := b.in.ListAt(ctx, s, v, q)
		if err != nil {
			return nil, err
		}
		if hide {
			return slices.DeleteFunc(out, func(e driver.Entry) bool { return kind(b.record(s, e.ID)) }), nil
		}
		for _, e := range b.others(s, out, kind) {
			if e.LiveAt(q.At) {
				out = append(out, e)
			}
		}
		slices.SortFunc(out, newestFirst)
		return out, nil
	}
}

// byParts has a write make its version before what it puts is there.
func byParts() defect {
	return defect{"makes a version before what it holds is there", "BATCH/versions-see-whole", func(b *broken) {
		var missing memo[string, bool]
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			missing.set(e.ID, true)
			defer missing.set(e.ID, false)
			err := b.in.Put(ctx, s, e)
			for range 20 {
				runtime.Gosched()
			}
			return err
		}
		b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
			out, err := b.in.ListAt(ctx, s, v, q)
			return slices.DeleteFunc(out, func(e driver.Entry) bool { return missing.get(e.ID) }), err
		}
	}}
}

func viewDefects() []defect {
	shows := func(name, needs string, kind func(r driver.Record) bool) defect {
		return defect{name, "VIEW/" + needs, func(b *broken) { b.leakIntoViews(kind, false) }}
	}
	hides := func(name, needs string, kind func(r driver.Record) bool) defect {
		return defect{name, "VIEW/" + needs, func(b *broken) { b.leakIntoViews(kind, true) }}
	}
	live := func(r driver.Record) bool { return r.State == driver.Live && !r.Erased }
	state := func(s driver.State) func(r driver.Record) bool {
		return func(r driver.Record) bool { return r.State == s }
	}
	return []defect{
		shows("has views that show later writes", "held-across-put", live),
		{"has snapshots by createdAt", "VIEW/held-across-backdated-put", func(b *broken) {
			var taken memo[driver.Version, time.Time]
			b.version = func(ctx context.Context, tenant string) (driver.Version, error) {
				v, err := b.in.Version(ctx, tenant)
				b.mu.Lock()
				defer b.mu.Unlock()
				for s, entries := range b.scopes {
					for _, e := range entries {
						if s.Tenant == tenant && e.CreatedAt.After(taken.get(v)) {
							taken.set(v, e.CreatedAt)
						}
					}
				}
				return v, err
			}
			b.show["list-at"] = nil
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				out, err := b.in.ListAt(ctx, s, v, q)
				limit, known := taken.find(v)
				for _, e := range b.others(s, out, live) {
					if err == nil && known && e.CreatedAt.Before(limit) && e.LiveAt(q.At) && q.Limit == 0 {
						out = append(out, e)
					}
				}
				slices.SortFunc(out, newestFirst)
				return out, err
			}
		}},
		hides("has views that lose what is deleted", "held-across-delete", state(driver.Deleted)),
		{"has views that lose what is deleted and put again", "VIEW/held-across-delete-and-put", func(b *broken) {
			var again memo[string, bool]
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if b.record(s, e.ID).State == driver.Deleted {
					again.set(e.ID, true)
				}
				return b.in.Put(ctx, s, e)
			}
			b.leakIntoViews(func(r driver.Record) bool { return again.get(r.Entry.ID) }, true)
		}},
		hides("has views that lose what is merged", "held-across-merge", func(r driver.Record) bool { return r.State == driver.Merged }),
		hides("has views that lose what is superseded", "held-across-supersede", state(driver.Superseded)),
		{"has views that show what is restored", "VIEW/held-across-restore", func(b *broken) {
			var restored memo[string, bool]
			mutated(func(_ *broken, m *driver.Mutation) {
				for _, l := range m.Restore {
					restored.set(l.ID, true)
				}
			})(b)
			b.leakIntoViews(func(r driver.Record) bool { return restored.get(r.Entry.ID) && live(r) }, false)
		}},
		{"counts any erasure against a version", "VIEW/held-across-erase-of-retired", func(b *broken) {
			erased := false
			mutated(func(_ *broken, m *driver.Mutation) { erased = erased || len(m.Erase) > 0 })(b)
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				return ok && !erased, err
			}
		}},
		{"purges what the version still shows", "VIEW/held-across-purge", func(b *broken) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				n, err := b.in.Purge(ctx, tenant, v, at)
				if err == nil {
					b.leakIntoViews(func(r driver.Record) bool { return r.State == driver.Deleted }, true)
				}
				return n, err
			}
		}},
		{"has views that lose what was retired twice", "VIEW/held-across-everything", func(b *broken) {
			var times memo[string, int]
			mutated(func(_ *broken, m *driver.Mutation) {
				for _, r := range m.Retire {
					times.set(r.ID, times.get(r.ID)+1)
				}
			})(b)
			b.leakIntoViews(func(r driver.Record) bool { return times.get(r.Entry.ID) > 1 }, true)
		}},
		{"judges expiry when the version was taken", "VIEW/expiry", func(b *broken) {
			b.getAt = func(ctx context.Context, s driver.Scope, v driver.Version, id string, _ time.Time) (driver.Entry, error) {
				return b.in.getAt(ctx, s, v, id, time.Time{})
			}
		}},
		{"takes an expired entry for a scar", "VIEW/expiry", func(b *broken) {
			var latest time.Time
			b.getAt = func(ctx context.Context, s driver.Scope, v driver.Version, id string, at time.Time) (driver.Entry, error) {
				if at.After(latest) {
					latest = at
				}
				return b.in.getAt(ctx, s, v, id, at)
			}
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				for _, s := range b.known(func(o driver.Scope) bool { return o.Tenant == s.Tenant }) {
					for _, e := range b.kept(s) {
						ok = ok && e.LiveAt(latest)
					}
				}
				return ok, err
			}
		}},
		{"keeps old versions of what was erased", "VIEW/erased", func(b *broken) {
			b.getAt = func(ctx context.Context, s driver.Scope, v driver.Version, id string, at time.Time) (driver.Entry, error) {
				e, err := b.in.getAt(ctx, s, v, id, at)
				for _, o := range b.others(s, nil, func(r driver.Record) bool { return r.Erased && r.State == driver.Deleted }) {
					if o.ID == id && errors.Is(err, driver.ErrNotFound) {
						return o, nil
					}
				}
				return e, err
			}
		}},
		{"keeps the text in old versions", "SR-1/erased-versions", func(b *broken) {
			b.leakIntoViews(func(r driver.Record) bool { return r.Erased && r.State == driver.Deleted }, false)
		}},
		{"shows a restored entry only from then on", "VIEW/restored", func(b *broken) {
			var restored memo[string, driver.Version]
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				v, err := b.in.Apply(ctx, tenant, m)
				for _, l := range m.Restore {
					restored.set(l.ID, v.Version)
				}
				return v, err
			}
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				out, err := b.in.ListAt(ctx, s, v, q)
				return slices.DeleteFunc(out, func(e driver.Entry) bool {
					since, known := restored.find(e.ID)
					return known && number(v) < number(since)
				}), err
			}
		}},
		{"has views that move while others write", "VIEW/reading-while-writing", func(b *broken) {
			writing := 0
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				b.mu.Lock()
				writing++
				b.mu.Unlock()
				runtime.Gosched()
				return b.in.Put(ctx, s, e)
			}
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				out, err := b.in.ListAt(ctx, s, v, q)
				b.mu.Lock()
				defer b.mu.Unlock()
				if writing > 50 && len(out) == 50 {
					out = out[1:]
				}
				return out, err
			}
		}},
		{"shows a run what others write under its views", "VIEW/run", func(b *broken) { b.leakIntoViews(live, false) }},
		{"gives a token's reader live memory", "VIEW/run-token", func(b *broken) {
			b.leakIntoViews(state(driver.Deleted), true)
		}},
	}
}

// number is the count in a version of the in-memory store.
func number(v driver.Version) int {
	n, _, _ := v.Parse()
	return int(n)
}

func versionDefects() []defect {
	return []defect{
		{"returns the version before a mutation", "VIEW/of-mutation", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				before, err := b.in.Version(ctx, tenant)
				if err != nil {
					return driver.Applied{}, err
				}
				made, err := b.in.Apply(ctx, tenant, m)
				made.Version = before
				return made, err
			}
		}},
		{"has no version of a tenant that it does not know", "VIEW/of-empty", func(b *broken) {
			b.version = func(ctx context.Context, tenant string) (driver.Version, error) {
				if len(b.known(func(s driver.Scope) bool { return s.Tenant == tenant })) == 0 {
					return "", driver.ErrNotFound
				}
				return b.in.Version(ctx, tenant)
			}
		}},
		{"reads live memory for a version that it does not know", "VIEW/unknown-version", func(b *broken) {
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				out, err := b.in.ListAt(ctx, s, v, q)
				if errors.Is(err, driver.ErrSnapshotUnavailable) && !strings.Contains(string(v), ".") {
					return b.in.List(ctx, s, q)
				}
				return out, err
			}
		}},
		{"finds nothing at a version that it does not know", "VIEW/unknown-version", func(b *broken) {
			b.getAt = func(ctx context.Context, s driver.Scope, v driver.Version, id string, at time.Time) (driver.Entry, error) {
				e, err := b.in.getAt(ctx, s, v, id, at)
				if errors.Is(err, driver.ErrSnapshotUnavailable) && !strings.Contains(string(v), ".") {
					return e, driver.ErrNotFound
				}
				return e, err
			}
		}},
		{"numbers versions from one in every store", "VIEW/other-incarnation", func(b *broken) {
			translate := func(ctx context.Context, tenant string, v driver.Version) driver.Version {
				own, _ := b.in.Version(ctx, tenant)
				_, mark, _ := own.Parse()
				n, _, err := v.Parse()
				if err != nil {
					return v
				}
				return mark.Version(n)
			}
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				return b.in.ListAt(ctx, s, translate(ctx, s.Tenant, v), q)
			}
		}},
		{"reads another tenant at a version", "CTI-1/foreign-version", func(b *broken) {
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				if errors.Is(err, driver.ErrSnapshotUnavailable) && strings.Contains(string(v), ".") {
					return true, nil
				}
				return ok, err
			}
		}},
	}
}

func intactDefects() []defect {
	answer := func(name, needs string, f func(ok bool) bool) defect {
		return defect{name, needs, func(b *broken) {
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				return f(ok), err
			}
		}}
	}
	return []defect{
		answer("says that every version is intact", "VIEW/intact", func(bool) bool { return true }),
		{"counts erasures of what was written later", "VIEW/intact", func(b *broken) {
			scars := 0
			mutated(func(_ *broken, m *driver.Mutation) { scars += len(m.Erase) })(b)
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				return ok && scars < 2, err
			}
		}},
		{"forgets when an entry was not live", "VIEW/intact-restored", func(b *broken) {
			var restored memo[string, bool]
			erased := false
			mutated(func(_ *broken, m *driver.Mutation) {
				for _, l := range m.Restore {
					restored.set(l.ID, true)
				}
				for _, l := range m.Erase {
					erased = erased || restored.get(l.ID)
				}
			})(b)
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				return ok && !erased, err
			}
		}},
		{"counts other tenants' erasures", "CTI-1/foreign-intact", func(b *broken) {
			var erasedIn []string
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if len(m.Erase) > 0 {
					erasedIn = append(erasedIn, tenant)
				}
				return b.in.Apply(ctx, tenant, m)
			}
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				return ok && !slices.ContainsFunc(erasedIn, func(t string) bool { return t != s.Tenant }), err
			}
		}},
	}
}

func purgeDefects() []defect {
	purge := func(name, needs string, f func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error)) defect {
		return defect{name, needs, func(b *broken) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				return f(b, ctx, tenant, v, at)
			}
		}}
	}
	loses := func(name, needs string, gone func(r driver.Record) bool) defect {
		return purge(name, needs, func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			n, err := b.in.Purge(ctx, tenant, v, at)
			lookups := b.lookups
			b.lookups = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
				recs, err := lookups(ctx, s, ids)
				return slices.DeleteFunc(recs, gone), err
			}
			filtered(func(_ *broken, _ driver.HistoryQuery, r driver.Record) bool { return !gone(r) })(b)
			return n, err
		})
	}
	return []defect{
		purge("goes on reading versions before a purge", "VIEW/purge-horizon", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			_, err := b.in.Intact(ctx, driver.Scope{Tenant: tenant}, v)
			return 0, err
		}),
		purge("purges up to the present", "VIEW/purge-view", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			if _, err := b.in.Intact(ctx, driver.Scope{Tenant: tenant}, v); err != nil {
				return 0, err
			}
			now, _ := b.in.Version(ctx, tenant)
			return b.in.Purge(ctx, tenant, now, at)
		}),
		purge("counts nothing", "VIEW/purge-removes", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			_, err := b.in.Purge(ctx, tenant, v, at)
			return 0, err
		}),
		purge("does not purge the expired", "VIEW/purge-removes", func(b *broken, ctx context.Context, tenant string, v driver.Version, _ time.Time) (int, error) {
			return b.in.Purge(ctx, tenant, v, time.Time{})
		}),
		purge("purges a millisecond early", "VIEW/purge-removes", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			return b.in.Purge(ctx, tenant, v, at.Add(time.Millisecond))
		}),
		loses("purges what was deleted after the version", "VIEW/purge-later", func(r driver.Record) bool { return r.State == driver.Deleted }),
		loses("purges what was merged", "VIEW/purge-merged", func(r driver.Record) bool { return r.State == driver.Merged }),
		loses("purges what was superseded", "VIEW/purge-merged", func(r driver.Record) bool { return r.State == driver.Superseded }),
		purge("purges what was merged into an entry that has expired", "VIEW/purge-merged-later", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			lost := map[string]bool{}
			all, _ := collect(b.in.History(ctx, tenant, driver.HistoryQuery{}))
			for _, r := range all {
				head, _ := b.in.find(ctx, r.Scope, r.For)
				lost[r.Entry.ID] = r.State == driver.Merged && head.State == driver.Live && !head.Erased && !head.Entry.LiveAt(at)
			}
			n, err := b.in.Purge(ctx, tenant, v, at)
			filtered(func(_ *broken, _ driver.HistoryQuery, r driver.Record) bool { return !lost[r.Entry.ID] })(b)
			return n, err
		}),
		loses("purges stubs that lead to a live entry", "VIEW/purge-chain", func(r driver.Record) bool { return r.Erased }),
		{"keeps chains whose end is removable", "VIEW/purge-dead-chain", func(b *broken) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				before, _ := collect(b.in.History(ctx, tenant, driver.HistoryQuery{}))
				n, err := b.in.Purge(ctx, tenant, v, at)
				for _, r := range before {
					if _, missing := b.in.find(ctx, r.Scope, r.Entry.ID); missing != nil && r.For != "" {
						n--
					}
				}
				return n, err
			}
		}},
		{"forgets with the stub that a version is not intact", "VIEW/purge-intact", func(b *broken) {
			purged := false
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				purged = true
				return b.in.Purge(ctx, tenant, v, at)
			}
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				ok, err := b.in.Intact(ctx, s, v)
				return ok || purged, err
			}
		}},
		{"counts what it purged before once more", "VIEW/purge-twice", func(b *broken) {
			total := 0
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				n, err := b.in.Purge(ctx, tenant, v, at)
				total += n
				return total, err
			}
		}},
		purge("purges every tenant", "CTI-1/foreign-", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			n, err := b.in.Purge(ctx, tenant, v, at)
			for _, s := range b.known(func(s driver.Scope) bool { return s.Tenant != tenant }) {
				now, _ := b.in.Version(ctx, s.Tenant)
				b.in.Purge(ctx, s.Tenant, now, at)
			}
			return n, err
		}),
		purge("purges what lives", "FAULT/purge-pass", func(b *broken, ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
			n, err := b.in.Purge(ctx, tenant, v, at)
			filtered(func(_ *broken, _ driver.HistoryQuery, r driver.Record) bool { return r.State != driver.Superseded })(b)
			return n, err
		}),
		{"finds lineage of another scope", "CTI-1/foreign-", func(b *broken) {
			b.lookup = func(ctx context.Context, s driver.Scope, id string) (driver.Record, error) {
				rec, err := b.in.find(ctx, s, id)
				for _, o := range b.known(func(o driver.Scope) bool { return o.Tenant == s.Tenant && o != s }) {
					if err != nil {
						rec, err = b.in.find(ctx, o, id)
					}
				}
				return rec, err
			}
		}},
	}
}
