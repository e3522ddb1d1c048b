package adaptertest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// narrowDefects are such as one case alone is to find, where the plain defect of its
// kind is found by many.
func narrowDefects() []defect {
	var all []defect
	for _, r := range readers {
		all = append(all, narrowReads(r.name)...)
	}
	all = append(all, halfDone()...)
	return append(all, []defect{
		{"lists what has the same name once it is joined", "CTI-1/foreign-", func(b *broken) {
			b.from["list"] = func(want driver.Scope) []driver.Scope {
				return append([]driver.Scope{want}, b.known(func(have driver.Scope) bool {
					return have != want && have.Tenant+have.Ref == want.Tenant+want.Ref
				})...)
			}
		}},
		{"deletes by id in every ref that it knows", "CTI-1/unknown-scope", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				known := len(b.kept(s)) > 0
				for _, other := range b.known(func(o driver.Scope) bool { return o != s && o.Tenant == s.Tenant }) {
					if known && !ok && err == nil {
						b.in.Delete(ctx, other, id, at)
					}
				}
				return ok, err
			}
		}},
		{"takes a version for one of any tenant", "CTI-1/foreign-version", func(b *broken) {
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				if _, err := b.in.Intact(ctx, s, v); errors.Is(err, driver.ErrSnapshotUnavailable) {
					for _, o := range b.known(func(o driver.Scope) bool { return o.Tenant != s.Tenant }) {
						if _, err := b.in.Intact(ctx, o, v); err == nil {
							return b.in.List(ctx, s, q)
						}
					}
				}
				return b.in.ListAt(ctx, s, v, q)
			}
		}},
		{"says once more, when it is opened again, that it deletes", "DURABLE/reopened", func(b *broken) {
			if b.handle == 0 {
				return
			}
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				return ok || b.record(s, id).State == driver.Deleted, err
			}
		}},
		{"finds the last of a period after its end", "QUERY/random", func(b *broken) {
			b.query["list"] = func(_ driver.Scope, q driver.Query) driver.Query {
				if !q.Since.IsZero() && q.Until.Before(q.Since) && !q.Until.IsZero() {
					q.Since, q.Until = time.Time{}, time.Time{}
				}
				return q
			}
		}},
		{"checks and merges in two steps, of one entry only", "BATCH/racing-merges", func(b *broken) {
			var mu sync.Mutex
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if len(m.Retire) != 1 || len(m.Put) != 1 || m.Retire[0].State != driver.Merged || len(m.Documents)+len(m.Events) > 0 {
					return b.in.Apply(ctx, tenant, m)
				}
				live := b.record(m.Retire[0].Scope, m.Retire[0].ID).State == driver.Live
				runtime.Gosched()
				mu.Lock()
				defer mu.Unlock()
				v, err := b.in.Apply(ctx, tenant, m)
				if live && errors.Is(err, driver.ErrConflict) {
					return b.in.Apply(ctx, tenant, driver.Mutation{At: m.At, Put: m.Put})
				}
				return v, err
			}
		}},
	}...)
}

// narrowReads are for each way to read.
func narrowReads(way string) []defect {
	judge := func(name, needs string, f func() func(at time.Time) time.Time) defect {
		return defect{way + " " + name, "TTL/" + needs + "-" + way, func(b *broken) { b.instant[way] = f() }}
	}
	return []defect{
		judge("judges even milliseconds one too early", "expired", func() func(time.Time) time.Time {
			return func(at time.Time) time.Time {
				if ms := at.UnixMilli(); ms%2 != 0 || ms%1000 == 0 {
					return at
				}
				return at.Add(-time.Millisecond)
			}
		}),
		judge("takes the eighties for those of its own century", "no-clock", func() func(time.Time) time.Time {
			return func(at time.Time) time.Time {
				if at.Year()/10 == 198 {
					return at.AddDate(100, 0, 0)
				}
				return at
			}
		}),
		judge("sweeps for good what expired half an hour ago", "earlier-instant", func() func(time.Time) time.Time {
			var mu sync.Mutex
			var latest time.Time
			return func(at time.Time) time.Time {
				mu.Lock()
				defer mu.Unlock()
				if at.Add(-30 * time.Minute).After(latest) {
					latest = at.Add(-30 * time.Minute)
				}
				if at.Before(latest) && !at.IsZero() {
					return latest
				}
				return at
			}
		}),
		{way + " forgets who wrote what is derived and expires", "RECORD/round-trip-" + way, func(b *broken) {
			b.show[way] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				for i, e := range found {
					if len(e.Sources) > 0 && !e.ExpiresAt.IsZero() && len(e.Tags) > 0 {
						found[i].RunID = ""
					}
				}
				return found
			}
		}},
	}
}

// halfDone queues the events of a mutation that fails, if it fails in one kind of part.
func halfDone() []defect {
	leaves := func(what, part string, fails func(b *broken, m *driver.Mutation) bool) defect {
		return defect{"queues the events of a mutation whose " + what, "BATCH/fails-at-" + part, func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				failed := len(m.Events) > 0 && len(m.Restore) > 0 && len(m.Documents) > 0 && fails(b, &m)
				v, err := b.in.Apply(ctx, tenant, m)
				if failed && errors.Is(err, driver.ErrConflict) {
					b.in.Apply(ctx, tenant, driver.Mutation{At: m.At, Events: m.Events})
				}
				return v, err
			}
		}}
	}
	state := func(b *broken, l driver.Located) driver.State { return b.record(l.Scope, l.ID).State }
	return []defect{
		leaves("condition fails", "live", func(b *broken, m *driver.Mutation) bool {
			return slices.ContainsFunc(m.Live, func(l driver.Located) bool { return state(b, l) != driver.Live })
		}),
		leaves("put fails", "put", func(b *broken, m *driver.Mutation) bool {
			return slices.ContainsFunc(m.Put, func(p driver.Placed) bool { return b.record(p.Scope, p.Entry.ID).Entry.ID != "" })
		}),
		leaves("retirement fails", "retire", func(b *broken, m *driver.Mutation) bool {
			return slices.ContainsFunc(m.Retire, func(r driver.Retirement) bool { return state(b, r.Located) != driver.Live })
		}),
		leaves("successor is not live", "successor", func(b *broken, m *driver.Mutation) bool {
			return slices.ContainsFunc(m.Retire, func(r driver.Retirement) bool {
				return r.For != "" && state(b, driver.Located{Scope: r.Scope, ID: r.For}) != driver.Live
			})
		}),
		leaves("restoration fails", "restore", func(b *broken, m *driver.Mutation) bool {
			return slices.ContainsFunc(m.Restore, func(l driver.Located) bool { return state(b, l) == driver.Deleted })
		}),
		leaves("swap fails", "document", func(b *broken, m *driver.Mutation) bool {
			return slices.ContainsFunc(m.Documents, func(x driver.DocumentSwap) bool { return b.document(&x.Document).Rev != x.Rev })
		}),
	}
}

// modelDefects take several steps of several kinds to show.
func modelDefects() []defect {
	return []defect{
		{"loses every ninth put after a delete", "MODEL/short-sequences", func(b *broken) {
			var n atomic.Int64
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				n.Add(1)
				return b.in.Delete(ctx, s, id, at)
			}
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if n.Load()%9 == 8 {
					return nil
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"forgets the successor of what was retired for one that expires", "MODEL/short-sequences", recorded(func(b *broken, r *driver.Record) {
			if r.For != "" && !b.record(r.Scope, r.For).Entry.ExpiresAt.IsZero() {
				r.For = ""
			}
		})},
		{"shows an entry of two lives in its gap", "MODEL/short-sequences", func(b *broken) {
			var lives memo[driver.Located, int]
			mutated(func(_ *broken, m *driver.Mutation) {
				for _, l := range m.Restore {
					lives.set(l, lives.get(l)+1)
				}
			})(b)
			b.leakIntoViews(func(r driver.Record) bool {
				return lives.get(driver.Located{Scope: r.Scope, ID: r.Entry.ID}) > 0 && r.State != driver.Live && !r.Erased
			}, false)
		}},
	}
}
