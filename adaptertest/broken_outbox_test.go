package adaptertest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

var errLocked = errors.New("the database is locked")

func outboxDefects() []defect {
	asks := func(name, needs string, f func(q *outboxQuery), after func(q outboxQuery, recs []events.Record) []events.Record) defect {
		return defect{name, needs, func(b *broken) {
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				wide := q
				f(&wide)
				recs, err := b.in.outbox(ctx, wide)
				if after != nil {
					recs = after(q, recs)
				}
				return recs, err
			}
		}}
	}
	same := func(*outboxQuery) {}
	changes := func(name, needs string, f func(r *events.Record)) defect {
		return asks(name, needs, same, func(_ outboxQuery, recs []events.Record) []events.Record {
			for i := range recs {
				f(&recs[i])
			}
			return recs
		})
	}
	sorted := func(name, needs string, less func(a, b events.Record) int) defect {
		return asks(name, needs, same, func(_ outboxQuery, recs []events.Record) []events.Record {
			slices.SortStableFunc(recs, less)
			return recs
		})
	}
	delivers := func(name, needs string, f func(b *broken, ctx context.Context, recs []events.Record) error) defect {
		return defect{name, needs, func(b *broken) {
			b.delivered = func(ctx context.Context, recs []events.Record) error { return f(b, ctx, recs) }
		}}
	}
	all := []defect{
		sorted("orders events by their own time", "OUTBOX/order", func(a, b events.Record) int { return a.Time.Compare(b.Time) }),
		asks("gives the newest event first", "OUTBOX/order", same, func(_ outboxQuery, recs []events.Record) []events.Record {
			slices.Reverse(recs)
			return recs
		}),
		asks("takes no tenant for one without a name", "OUTBOX/all-tenants", same, func(q outboxQuery, recs []events.Record) []events.Record {
			if q.Tenant == "" {
				return nil
			}
			return recs
		}),
		asks("does not look at the run", "OUTBOX/order", func(q *outboxQuery) { q.RunID = "" }, nil),
		asks("looks for runs by prefix", "OUTBOX/order", func(q *outboxQuery) { q.RunID = "" }, func(q outboxQuery, recs []events.Record) []events.Record {
			return slices.DeleteFunc(recs, func(r events.Record) bool {
				return q.RunID != "" && (len(r.RunID) < len(q.RunID) || r.RunID[:len(q.RunID)] != q.RunID)
			})
		}),
		asks("does not look at the tenant of an event", "CTI-1/foreign-", func(q *outboxQuery) { q.Tenant = "" }, nil),
		asks("has a page of a thousand events", "SIZES/many-events", same, func(_ outboxQuery, recs []events.Record) []events.Record {
			return recs[:min(1000, len(recs))]
		}),
		delivers("keeps delivered events", "OUTBOX/count", func(*broken, context.Context, []events.Record) error { return nil }),
		delivers("takes out the first of several", "OUTBOX/count", func(b *broken, ctx context.Context, recs []events.Record) error {
			return b.in.Delivered(ctx, recs[:min(1, len(recs))])
		}),
		delivers("takes out an id of every run", "OUTBOX/count", func(b *broken, ctx context.Context, recs []events.Record) error {
			all, _ := b.in.outbox(ctx, outboxQuery{})
			for _, r := range all {
				if slices.ContainsFunc(recs, func(o events.Record) bool { return o.ID == r.ID && o.Tenant == r.Tenant }) {
					recs = append(recs, r)
				}
			}
			return b.in.Delivered(ctx, recs)
		}),
		delivers("takes out an event of every tenant", "CTI-1/names-tenant", func(b *broken, ctx context.Context, recs []events.Record) error {
			all, _ := b.in.outbox(ctx, outboxQuery{})
			for _, r := range all {
				if slices.ContainsFunc(recs, func(o events.Record) bool { return o.ID == r.ID && o.RunID == r.RunID }) {
					recs = append(recs, r)
				}
			}
			return b.in.Delivered(ctx, recs)
		}),
		delivers("fails to deliver what is gone", "IDEMPOTENCE/delivered-again", func(b *broken, ctx context.Context, recs []events.Record) error {
			for _, r := range recs {
				all, _ := b.in.outbox(ctx, outboxQuery{Tenant: r.Tenant, RunID: r.RunID})
				if !slices.ContainsFunc(all, func(o events.Record) bool { return o.ID == r.ID }) {
					return driver.ErrNotFound
				}
			}
			return b.in.Delivered(ctx, recs)
		}),
		{"queues a waiting event twice", "IDEMPOTENCE/event-again", func(b *broken) {
			var doubles []events.Record
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				for _, e := range m.Events {
					waiting, _ := b.in.outbox(ctx, outboxQuery{Tenant: tenant, RunID: e.RunID})
					if slices.ContainsFunc(waiting, func(o events.Record) bool { return o.ID == e.ID }) {
						doubles = append(doubles, e)
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				for _, d := range doubles {
					if d.RunID == q.RunID {
						recs = append(recs, d)
					}
				}
				return recs, err
			}
		}},
		{"puts an event in the place of one that waits", "IDEMPOTENCE/event-again", func(b *broken) {
			var last memo[string, events.Record]
			mutated(func(_ *broken, m *driver.Mutation) {
				for _, e := range m.Events {
					last.set(e.Tenant+"/"+e.RunID+"/"+e.ID, e)
				}
			})(b)
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				for i, e := range recs {
					recs[i].Time = last.get(e.Tenant + "/" + e.RunID + "/" + e.ID).Time
				}
				return recs, err
			}
		}},
		{"drops an event that has another run's id", "IDEMPOTENCE/event-again", mutated(func(b *broken, m *driver.Mutation) {
			all, _ := b.in.outbox(context.Background(), outboxQuery{})
			m.Events = unless(m.Events, func(e events.Record) bool {
				return slices.ContainsFunc(all, func(o events.Record) bool { return o.ID == e.ID })
			})
		})},
		{"remembers delivered ids for ever", "OUTBOX/returns", func(b *broken) {
			var gone memo[string, bool]
			b.delivered = func(ctx context.Context, recs []events.Record) error {
				for _, r := range recs {
					gone.set(r.ID, true)
				}
				return b.in.Delivered(ctx, recs)
			}
			mutated(func(_ *broken, m *driver.Mutation) {
				m.Events = unless(m.Events, func(e events.Record) bool { return gone.get(e.ID) })
			})(b)
		}},
		changes("drops the node of an event", "OUTBOX/payloads", func(r *events.Record) { r.NodeID = "" }),
		changes("keeps the time of an event to the second", "OUTBOX/payloads", func(r *events.Record) { r.Time = r.Time.Add(time.Millisecond).Round(time.Hour) }),
		changes("keeps integers as floats of 32 bits", "OUTBOX/payloads", func(r *events.Record) {
			if p, ok := r.Payload.(events.WorkspaceUpdated); ok {
				p.Version = int64(float32(p.Version))
				r.Payload = p
			}
		}),
		changes("gives payloads as pointers to what it read", "OUTBOX/payloads", func(r *events.Record) {
			if p, ok := r.Payload.(events.MemoryCompacted); ok {
				p.Distillation = nil
				r.Payload = p
			}
		}),
		delivers("takes out all of a run", "OUTBOX/relay", func(b *broken, ctx context.Context, recs []events.Record) error {
			if len(recs) > 0 {
				recs, _ = b.in.outbox(ctx, outboxQuery{Tenant: recs[0].Tenant, RunID: recs[0].RunID})
			}
			b.undelivered = func(context.Context, outboxQuery) ([]events.Record, error) { return nil, nil }
			return b.in.Delivered(ctx, recs)
		}),
		{"hides what another relay has, from the run too, and loses it", "OUTBOX/racing-relays", func(b *broken) {
			n := 0
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				b.mu.Lock()
				defer b.mu.Unlock()
				if n += len(recs); n > 30 && len(recs) > 1 {
					b.in.Delivered(ctx, recs[1:2])
					recs = slices.Delete(recs, 1, 2)
				}
				return recs, err
			}
		}},
		{"yields nothing behind a run that is stuck", "OUTBOX/stuck-run", func(b *broken) {
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				if i := slices.IndexFunc(recs, func(r events.Record) bool { return r.RunID == "run-1" }); q.RunID == "" && i >= 0 {
					recs = recs[:i+1]
				}
				return recs, err
			}
		}},
		{"reads the outbox by offset", "OUTBOX/deliver-in-loop", func(b *broken) {
			b.outbox = func(ctx context.Context, q outboxQuery) iter.Seq2[events.Record, error] {
				return func(yield func(events.Record, error) bool) {
					for offset := 0; ; offset += 100 {
						recs, err := b.in.outbox(ctx, q)
						if err != nil || offset >= len(recs) {
							if err != nil {
								yield(events.Record{}, err)
							}
							return
						}
						for _, r := range recs[offset:min(offset+100, len(recs))] {
							if !yield(r, nil) {
								return
							}
						}
					}
				}
			}
		}},
		{"holds a lock once the outbox was left early", "MODEL/loop-outbox-run", func(b *broken) {
			var stuck atomic.Bool
			b.outbox = func(ctx context.Context, q outboxQuery) iter.Seq2[events.Record, error] {
				return func(yield func(events.Record, error) bool) {
					for r, err := range b.in.allOutbox(ctx, q) {
						if !yield(r, err) {
							stuck.Store(q.RunID != "")
							return
						}
					}
				}
			}
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if stuck.Load() {
					return driver.Applied{}, errLocked
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		counted("counts what was delivered", "OUTBOX/count", func(b *broken, n int, tenant string, limit int) int {
			return n + b.gone
		}),
		counted("stops counting before the limit", "OUTBOX/count", func(_ *broken, n int, _ string, limit int) int {
			return min(n, limit-2)
		}),
		counted("counts the events of all tenants for each", "CTI-1/foreign-", func(b *broken, _ int, _ string, limit int) int {
			all, _ := b.in.Waiting(context.Background(), "", limit)
			return all
		}),
		{"counts only what it has not handed out", "OUTBOX/count-hidden", func(b *broken) {
			var handed memo[string, bool]
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				for _, r := range recs {
					handed.set(r.Tenant+r.RunID+r.ID, q.Tenant == "")
				}
				return recs, err
			}
			b.waiting = func(ctx context.Context, tenant string, limit int) (int, error) {
				recs, err := b.in.outbox(ctx, outboxQuery{Tenant: tenant})
				recs = slices.DeleteFunc(recs, func(r events.Record) bool { return handed.get(r.Tenant + r.RunID + r.ID) })
				return min(limit, len(recs)), err
			}
		}},
		{"hides what it counts from other relays", "OUTBOX/count-hidden", func(b *broken) {
			var counted atomic.Bool
			b.waiting = func(ctx context.Context, tenant string, limit int) (int, error) {
				counted.Store(true)
				return b.in.Waiting(ctx, tenant, limit)
			}
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				if q.RunID == "" && counted.Load() {
					return nil, ctx.Err()
				}
				return b.in.outbox(ctx, q)
			}
		}},
		// Under FAULT, with what the passes do.
		{"takes events out as it hands them out", "FAULT/relay-pass", func(b *broken) {
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				b.in.Delivered(ctx, recs)
				return recs, err
			}
		}},
	}
	return all
}

// counted says another number of events than wait. It knows how many were delivered.
func counted(name, needs string, f func(b *broken, n int, tenant string, limit int) int) defect {
	return defect{name, needs, func(b *broken) {
		b.delivered = func(ctx context.Context, recs []events.Record) error {
			b.mu.Lock()
			b.gone += len(recs)
			b.mu.Unlock()
			return b.in.Delivered(ctx, recs)
		}
		b.waiting = func(ctx context.Context, tenant string, limit int) (int, error) {
			n, err := b.in.Waiting(ctx, tenant, limit)
			b.mu.Lock()
			defer b.mu.Unlock()
			return f(b, n, tenant, limit), err
		}
	}}
}
