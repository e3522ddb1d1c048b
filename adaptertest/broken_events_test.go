package adaptertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

var errLocked = errors.New("the database is locked")

func cellDefects() []defect {
	cells := func(f func(s memory.Scope, name string) (memory.Scope, string)) func(b *broken) {
		return func(b *broken) {
			b.cell = func(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
				s, name = f(s, name)
				return b.in.Cell(ctx, s, name)
			}
			mutated(func(_ *broken, m *memory.Mutation) {
				m.Cells = slices.Clone(m.Cells)
				for i, c := range m.Cells {
					m.Cells[i].Scope, m.Cells[i].Name = f(c.Scope, c.Name)
				}
			})(b)
		}
	}
	values := func(f func(v []byte) []byte) func(b *broken) {
		return mutated(func(_ *broken, m *memory.Mutation) {
			m.Cells = slices.Clone(m.Cells)
			for i, c := range m.Cells {
				m.Cells[i].Old, m.Cells[i].New = f(c.Old), f(c.New)
			}
		})
	}
	return []defect{
		{"has cells of the tenant only", "CTI-1/foreign-cell", cells(func(s memory.Scope, name string) (memory.Scope, string) { return at(s.Tenant, ""), name })},
		{"reads a tenant's cell where a ref has none", "CTI-1/foreign-cell", func(b *broken) {
			b.cell = func(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
				v, err := b.in.Cell(ctx, s, name)
				if v == nil && err == nil {
					v, err = b.in.Cell(ctx, at(s.Tenant, ""), name)
				}
				return v, err
			}
		}},
		{"compares names of cells without regard to case", "BATCH/cells", func(b *broken) {
			b.cell = func(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
				if name == "C" {
					name = "c"
				}
				return b.in.Cell(ctx, s, name)
			}
		}},
		{"overwrites a cell that should have been empty", "BATCH/cells", mutated(func(b *broken, m *memory.Mutation) {
			m.Cells = slices.Clone(m.Cells)
			for i, c := range m.Cells {
				if c.Old == nil {
					m.Cells[i].Old, _ = b.in.Cell(context.Background(), c.Scope, c.Name)
				}
			}
		})},
		{"never takes a cell away", "BATCH/cells", func(b *broken) {
			b.cell = func(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
				v, err := b.in.Cell(ctx, s, name)
				if v == nil && err == nil && slices.ContainsFunc(b.kept(home), func(e memory.Entry) bool { return e.ID == name }) {
					v = []byte{}
				}
				return v, err
			}
			mutated(func(b *broken, m *memory.Mutation) {
				for _, c := range m.Cells {
					if c.New == nil {
						b.keep(home, memory.Entry{ID: c.Name})
					}
				}
			})(b)
		}},
		{"takes an empty value for none", "BATCH/cell-values", values(func(v []byte) []byte {
			if len(v) == 0 {
				return nil
			}
			return v
		})},
		{"ends values at a zero byte", "BATCH/cell-values", values(func(v []byte) []byte {
			if i := slices.Index(v, 0); i >= 0 {
				return v[:i]
			}
			return v
		})},
	}
}

func outboxDefects() []defect {
	asks := func(name, needs string, f func(q *memory.OutboxQuery), after func(q memory.OutboxQuery, recs []events.Record) []events.Record) defect {
		return defect{name, needs, func(b *broken) {
			b.undelivered = func(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
				wide := q
				f(&wide)
				recs, err := b.in.Undelivered(ctx, wide)
				if after != nil {
					recs = after(q, recs)
				}
				return recs, err
			}
		}}
	}
	same := func(*memory.OutboxQuery) {}
	changes := func(name, needs string, f func(r *events.Record)) defect {
		return asks(name, needs, same, func(_ memory.OutboxQuery, recs []events.Record) []events.Record {
			for i := range recs {
				f(&recs[i])
			}
			return recs
		})
	}
	sorted := func(name, needs string, less func(a, b events.Record) int) defect {
		return asks(name, needs, same, func(_ memory.OutboxQuery, recs []events.Record) []events.Record {
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
		asks("gives the newest event first", "OUTBOX/order", same, func(_ memory.OutboxQuery, recs []events.Record) []events.Record {
			slices.Reverse(recs)
			return recs
		}),
		asks("takes no tenant for one without a name", "OUTBOX/all-tenants", same, func(q memory.OutboxQuery, recs []events.Record) []events.Record {
			if q.Tenant == "" {
				return nil
			}
			return recs
		}),
		asks("does not look at the run", "OUTBOX/run", func(q *memory.OutboxQuery) { q.RunID = "" }, nil),
		asks("looks for runs by prefix", "OUTBOX/run", func(q *memory.OutboxQuery) { q.RunID = "" }, func(q memory.OutboxQuery, recs []events.Record) []events.Record {
			return slices.DeleteFunc(recs, func(r events.Record) bool {
				return q.RunID != "" && (len(r.RunID) < len(q.RunID) || r.RunID[:len(q.RunID)] != q.RunID)
			})
		}),
		asks("does not look at the tenant of an event", "CTI-1/foreign-events", func(q *memory.OutboxQuery) { q.Tenant = "" }, nil),
		asks("does not pass over runs", "OUTBOX/except", func(q *memory.OutboxQuery) { q.Except = nil }, nil),
		asks("passes over a run id of every tenant", "OUTBOX/except", same, func(q memory.OutboxQuery, recs []events.Record) []events.Record {
			return slices.DeleteFunc(recs, func(r events.Record) bool {
				return slices.ContainsFunc(q.Except, func(n memory.RunName) bool { return n.RunID == r.RunID })
			})
		}),
		asks("does not look at the limit", "OUTBOX/limit", func(q *memory.OutboxQuery) { q.Limit = 0 }, nil),
		asks("keeps the newest at a limit", "OUTBOX/limit", func(q *memory.OutboxQuery) { q.Limit = 0 }, func(q memory.OutboxQuery, recs []events.Record) []events.Record {
			if q.Limit > 0 && len(recs) > q.Limit {
				return recs[len(recs)-q.Limit:]
			}
			return recs
		}),
		asks("has a page of a thousand events", "OUTBOX/many", func(q *memory.OutboxQuery) {
			if q.Limit == 0 {
				q.Limit = 1000
			}
		}, nil),
		delivers("keeps delivered events", "OUTBOX/delivered", func(*broken, context.Context, []events.Record) error { return nil }),
		delivers("takes out the first of several", "OUTBOX/delivered", func(b *broken, ctx context.Context, recs []events.Record) error {
			return b.in.Delivered(ctx, recs[:min(1, len(recs))])
		}),
		delivers("takes out an id of every run", "OUTBOX/delivered", func(b *broken, ctx context.Context, recs []events.Record) error {
			all, _ := b.in.Undelivered(ctx, memory.OutboxQuery{})
			for _, r := range all {
				if slices.ContainsFunc(recs, func(o events.Record) bool { return o.ID == r.ID && o.Tenant == r.Tenant }) {
					recs = append(recs, r)
				}
			}
			return b.in.Delivered(ctx, recs)
		}),
		delivers("takes out an event of every tenant", "CTI-1/foreign-delivered", func(b *broken, ctx context.Context, recs []events.Record) error {
			all, _ := b.in.Undelivered(ctx, memory.OutboxQuery{})
			for _, r := range all {
				if slices.ContainsFunc(recs, func(o events.Record) bool { return o.ID == r.ID && o.RunID == r.RunID }) {
					recs = append(recs, r)
				}
			}
			return b.in.Delivered(ctx, recs)
		}),
		delivers("fails to deliver what is gone", "IDEMPOTENCE/delivered-again", func(b *broken, ctx context.Context, recs []events.Record) error {
			for _, r := range recs {
				all, _ := b.in.Undelivered(ctx, memory.OutboxQuery{Tenant: r.Tenant, RunID: r.RunID})
				if !slices.ContainsFunc(all, func(o events.Record) bool { return o.ID == r.ID }) {
					return memory.ErrNotFound
				}
			}
			return b.in.Delivered(ctx, recs)
		}),
		{"queues a waiting event twice", "IDEMPOTENCE/event-again", func(b *broken) {
			var doubles []events.Record
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				for _, e := range m.Events {
					waiting, _ := b.in.Undelivered(ctx, memory.OutboxQuery{Tenant: tenant, RunID: e.RunID})
					if slices.ContainsFunc(waiting, func(o events.Record) bool { return o.ID == e.ID }) {
						doubles = append(doubles, e)
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
			b.undelivered = func(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
				recs, err := b.in.Undelivered(ctx, q)
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
			mutated(func(_ *broken, m *memory.Mutation) {
				for _, e := range m.Events {
					last.set(e.Tenant+"/"+e.RunID+"/"+e.ID, e)
				}
			})(b)
			b.undelivered = func(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
				recs, err := b.in.Undelivered(ctx, q)
				for i, e := range recs {
					recs[i].Time = last.get(e.Tenant + "/" + e.RunID + "/" + e.ID).Time
				}
				return recs, err
			}
		}},
		{"drops an event that has another run's id", "IDEMPOTENCE/event-again", mutated(func(b *broken, m *memory.Mutation) {
			all, _ := b.in.Undelivered(context.Background(), memory.OutboxQuery{})
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
			mutated(func(_ *broken, m *memory.Mutation) {
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
				recs, _ = b.in.Undelivered(ctx, memory.OutboxQuery{Tenant: recs[0].Tenant, RunID: recs[0].RunID})
			}
			b.undelivered = func(context.Context, memory.OutboxQuery) ([]events.Record, error) { return nil, nil }
			return b.in.Delivered(ctx, recs)
		}),
		{"hides what another relay has, from the run too, and loses it", "OUTBOX/racing-relays", func(b *broken) {
			n := 0
			b.undelivered = func(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
				recs, err := b.in.Undelivered(ctx, q)
				b.mu.Lock()
				defer b.mu.Unlock()
				if n += len(recs); n > 30 && len(recs) > 1 {
					b.in.Delivered(ctx, recs[1:2])
					recs = slices.Delete(recs, 1, 2)
				}
				return recs, err
			}
		}},
		// Under FAULT, with what the passes do.
		{"takes events out as it hands them out", "FAULT/relay-pass", func(b *broken) {
			b.undelivered = func(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
				recs, err := b.in.Undelivered(ctx, q)
				b.in.Delivered(ctx, recs)
				return recs, err
			}
		}},
	}
	return all
}

func eraseDefects() []defect {
	return []defect{
		{"keeps what was derived from the erased", "SR-1/late-secret", func(b *broken) {
			b.show["list"] = func(s memory.Scope, _ time.Time, found []memory.Entry) []memory.Entry {
				return append(found, b.others(s, found, func(r memory.Record) bool { return r.Erased })...)
			}
		}},
		{"writes back the text that a scrub took out", "SR-1/late-secret", changed(func(e memory.Entry) memory.Entry {
			e.Content = replaceMarker(e.Content)
			return e
		})},
		{"restores nothing", "FORGET/gives-back", mutated(func(_ *broken, m *memory.Mutation) { m.Restore = nil })},
		{"restores the first only", "FORGET/gives-back", mutated(func(_ *broken, m *memory.Mutation) {
			m.Restore = m.Restore[:min(1, len(m.Restore))]
		})},
	}
}

func replaceMarker(s string) string {
	if s == "the key is [REDACTED:k]" {
		return "the key is [redacted]"
	}
	return s
}

// forgetDefects are about the passes of FAULT that are not about events.
func forgetDefects() []defect {
	return []defect{
		{"retires nothing", "FAULT/merge-pass", mutated(func(_ *broken, m *memory.Mutation) { m.Retire = nil })},
		{"erases nothing", "FAULT/forget-pass", mutated(func(_ *broken, m *memory.Mutation) {
			if len(m.Erase) > 2 {
				m.Restore = nil
			}
		})},
		{"puts nothing in the place of what is erased", "FAULT/scrub-pass", mutated(func(_ *broken, m *memory.Mutation) {
			if len(m.Erase) > 0 {
				m.Put = nil
			}
		})},
	}
}
