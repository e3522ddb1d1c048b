package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// transactorDefects are about mutations, records and cells.
func transactorDefects() []defect {
	return slices.Concat(mutationDefects(), conditionDefects(), recordDefects(), historyDefects(), cellDefects(), eraseDefects(), forgetDefects())
}

// mutated changes a mutation before the store has it.
func mutated(f func(b *broken, m *memory.Mutation)) func(b *broken) {
	return func(b *broken) {
		apply := b.apply
		b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
			f(b, &m)
			return apply(ctx, tenant, m)
		}
	}
}

// unless drops what does not hold from a list, so that its condition is never
// checked.
func unless[T any](list []T, drop func(x T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func (b *broken) record(s memory.Scope, id string) memory.Record {
	rec, _ := b.in.Lookup(context.Background(), s, id)
	return rec
}

func (b *broken) dead(s memory.Scope, id string) bool {
	rec, err := b.in.Lookup(context.Background(), s, id)
	return err != nil || rec.State != memory.Live
}

func mutationDefects() []defect {
	var all []defect
	drops := func(name, needs string, f func(b *broken, m *memory.Mutation)) {
		all = append(all, defect{name, needs, mutated(f)})
	}
	drops("forgets restorations", "BATCH/whole", func(_ *broken, m *memory.Mutation) { m.Restore = nil })
	drops("forgets erasures", "BATCH/whole", func(_ *broken, m *memory.Mutation) { m.Erase = nil })
	drops("writes only the first cell", "BATCH/whole", func(_ *broken, m *memory.Mutation) { m.Cells = m.Cells[:min(1, len(m.Cells))] })
	drops("queues only the first event", "BATCH/whole", func(_ *broken, m *memory.Mutation) { m.Events = m.Events[:min(1, len(m.Events))] })
	drops("puts only into the first scope", "BATCH/whole", func(_ *broken, m *memory.Mutation) {
		m.Put = unless(m.Put, func(p memory.Placed) bool { return p.Scope != m.Put[0].Scope })
	})
	drops("retires everything as merged", "BATCH/retired", func(_ *broken, m *memory.Mutation) {
		m.Retire = slices.Clone(m.Retire)
		for i := range m.Retire {
			if m.Retire[i].State == memory.Superseded {
				m.Retire[i].State = memory.Merged
			}
		}
	})
	// A store that retires before it puts does not find the successor.
	drops("retires before it puts", "BATCH/retire-for-new", func(b *broken, m *memory.Mutation) {
		for _, r := range m.Retire {
			if _, err := b.in.Lookup(context.Background(), r.Scope, r.For); r.For != "" && err != nil {
				m.Live = append(slices.Clone(m.Live), located(r.Scope, r.For)...)
			}
		}
	})
	drops("retires only what was there before", "BATCH/retire-new", func(b *broken, m *memory.Mutation) {
		for _, r := range m.Retire {
			if _, err := b.in.Lookup(context.Background(), r.Scope, r.ID); err != nil {
				m.Live = append(slices.Clone(m.Live), located(r.Scope, r.ID)...)
			}
		}
	})
	// half commits some parts, whatever becomes of the rest.
	half := func(name, needs string, part func(m *memory.Mutation) memory.Mutation) {
		all = append(all, defect{name, needs, func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				v, err := b.in.Apply(ctx, tenant, m)
				if errors.Is(err, memory.ErrConflict) {
					first := part(&m)
					first.At = m.At
					b.in.Apply(ctx, tenant, first)
				}
				return v, err
			}
		}})
	}
	half("commits puts before it looks at cells", "BATCH/fails-at-cell", func(m *memory.Mutation) memory.Mutation {
		return memory.Mutation{Put: m.Put}
	})
	half("commits erasures at once", "BATCH/fails-at-live", func(m *memory.Mutation) memory.Mutation { return memory.Mutation{Erase: m.Erase} })
	half("queues events at once", "BATCH/fails-at-put", func(m *memory.Mutation) memory.Mutation { return memory.Mutation{Events: m.Events} })
	half("commits what comes before a retirement", "BATCH/fails-at-retire", func(m *memory.Mutation) memory.Mutation { return memory.Mutation{Put: m.Put[:1]} })
	half("commits restorations at once", "BATCH/fails-at-restore", func(m *memory.Mutation) memory.Mutation {
		return memory.Mutation{Restore: m.Restore[:min(1, len(m.Restore))]}
	})
	half("writes cells at once", "BATCH/fails-at-successor", func(m *memory.Mutation) memory.Mutation { return memory.Mutation{Cells: m.Cells} })
	half("leaves events of a batch that lost a race", "BATCH/racing-put", func(m *memory.Mutation) memory.Mutation {
		return memory.Mutation{Put: m.Put[:min(1, len(m.Put))], Events: m.Events}
	})
	return all
}

func conditionDefects() []defect {
	var all []defect
	skip := func(name, needs string, f func(b *broken, m *memory.Mutation)) {
		all = append(all, defect{name, needs, mutated(f)})
	}
	skip("does not check that entries are live", "BATCH/fails-at-live", func(_ *broken, m *memory.Mutation) { m.Live = nil })
	skip("passes over puts that conflict", "BATCH/fails-at-put", func(b *broken, m *memory.Mutation) {
		m.Put = unless(m.Put, func(p memory.Placed) bool {
			rec, err := b.in.Lookup(context.Background(), p.Scope, p.Entry.ID)
			return err == nil && differences(&rec.Entry, &p.Entry) != ""
		})
	})
	skip("passes over conflicting puts of one entry", "IDEMPOTENCE/apply-conflict", func(b *broken, m *memory.Mutation) {
		m.Put = unless(m.Put, func(p memory.Placed) bool {
			_, err := b.in.Lookup(context.Background(), p.Scope, p.Entry.ID)
			return err == nil
		})
	})
	skip("refuses a put of what is there", "IDEMPOTENCE/apply-again", func(b *broken, m *memory.Mutation) {
		for _, p := range m.Put {
			if !b.dead(p.Scope, p.Entry.ID) {
				m.Live = located(p.Scope, "nothing")
			}
		}
	})
	skip("passes over retirements of what is not live", "BATCH/fails-at-retire", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return r.State == memory.Deleted && b.dead(r.Scope, r.ID) })
	})
	skip("retires again what is retired", "BATCH/retired-is-final", func(b *broken, m *memory.Mutation) {
		for _, r := range m.Retire {
			if rec := b.record(r.Scope, r.ID); rec.State == memory.Merged {
				m.Restore = nil
				m.Retire = unless(m.Retire, func(o memory.Retirement) bool { return o == r })
			}
		}
	})
	skip("does not look at the successor", "BATCH/fails-at-successor", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return r.For != "" && !b.placing(m, r) && b.dead(r.Scope, r.For) })
	})
	skip("takes a merged successor", "BATCH/successor-condition", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool {
			return r.For != "" && b.record(r.Scope, r.For).State == memory.Merged
		})
	})
	skip("passes over restorations of what was deleted", "BATCH/fails-at-restore", func(b *broken, m *memory.Mutation) {
		m.Restore = unless(m.Restore, func(l memory.Located) bool { return b.record(l.Scope, l.ID).State == memory.Deleted })
	})
	skip("passes over restorations of what is live", "BATCH/restore-condition", func(b *broken, m *memory.Mutation) {
		m.Restore = unless(m.Restore, func(l memory.Located) bool {
			rec, err := b.in.Lookup(context.Background(), l.Scope, l.ID)
			return err == nil && rec.State == memory.Live
		})
	})
	skip("passes over restorations of what is erased", "BATCH/restore-condition", func(b *broken, m *memory.Mutation) {
		m.Restore = unless(m.Restore, func(l memory.Located) bool { return b.record(l.Scope, l.ID).Erased })
	})
	skip("passes over swaps that fail", "BATCH/fails-at-cell", func(b *broken, m *memory.Mutation) {
		m.Cells = unless(m.Cells, func(c memory.CellSwap) bool {
			now, _ := b.in.Cell(context.Background(), c.Scope, c.Name)
			return string(now) != string(c.Old)
		})
	})
	skip("takes an erased entry for live", "FORGET/not-live", func(b *broken, m *memory.Mutation) {
		m.Live = unless(m.Live, func(l memory.Located) bool { return b.record(l.Scope, l.ID).Erased })
	})
	skip("refuses to erase twice", "IDEMPOTENCE/erase-again", func(b *broken, m *memory.Mutation) {
		for _, l := range m.Erase {
			if b.record(l.Scope, l.ID).Erased {
				m.Live = append(slices.Clone(m.Live), l)
			}
		}
	})
	skip("refuses to erase what is not there", "IDEMPOTENCE/erase-again", func(b *broken, m *memory.Mutation) {
		for _, l := range m.Erase {
			if _, err := b.in.Lookup(context.Background(), l.Scope, l.ID); err != nil {
				m.Live = append(slices.Clone(m.Live), l)
			}
		}
	})
	// Conditions and expiry.
	expired := func(b *broken, s memory.Scope, id string, at time.Time) bool {
		rec := b.record(s, id)
		return !rec.Entry.LiveAt(at)
	}
	skip("does not judge expiry in conditions", "TTL/expired-condition", func(b *broken, m *memory.Mutation) {
		m.Live = unless(m.Live, func(l memory.Located) bool { return expired(b, l.Scope, l.ID, m.At) })
	})
	skip("has conditions end a millisecond early", "TTL/expired-condition", func(b *broken, m *memory.Mutation) {
		if len(m.Live) > 0 {
			m.At = m.At.Add(time.Millisecond)
		}
	})
	skip("retires what has expired", "TTL/expired-retire", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return expired(b, r.Scope, r.ID, m.At) })
	})
	skip("takes an expired successor", "TTL/expired-successor", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return r.For != "" && expired(b, r.Scope, r.For, m.At) })
	})
	// Conditions and scopes.
	elsewhere := func(b *broken, s memory.Scope, id string) bool {
		return b.dead(s, id) && len(b.known(func(o memory.Scope) bool { return o != s && !b.dead(o, id) })) > 0
	}
	skip("finds conditions in any scope", "CTI-1/foreign-mutation", func(b *broken, m *memory.Mutation) {
		m.Live = unless(m.Live, func(l memory.Located) bool { return elsewhere(b, l.Scope, l.ID) })
	})
	skip("finds what it retires in any scope", "CTI-1/foreign-mutation", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return elsewhere(b, r.Scope, r.ID) })
	})
	skip("finds successors in any scope", "CTI-1/foreign-successor", func(b *broken, m *memory.Mutation) {
		m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return r.For != "" && !b.placing(m, r) && elsewhere(b, r.Scope, r.For) })
	})
	skip("erases an id in every ref", "CTI-1/foreign-erase", func(b *broken, m *memory.Mutation) {
		for _, l := range m.Erase {
			for _, s := range b.known(func(o memory.Scope) bool { return o.Tenant == l.Tenant }) {
				m.Erase = append(m.Erase, located(s, l.ID)...)
			}
		}
	})
	skip("erases what it has put in every tenant", "CTI-1/foreign-erase", func(b *broken, m *memory.Mutation) {
		for _, l := range m.Erase {
			for _, s := range b.known(func(o memory.Scope) bool { return o.Tenant != l.Tenant }) {
				b.in.Apply(context.Background(), s.Tenant, memory.Mutation{Erase: located(s, l.ID)})
			}
		}
	})
	// Errors that say too much.
	says := func(what string, f func(m memory.Mutation) string) {
		all = append(all, defect{"names " + what + " in the conflict of a mutation", "SR-1/errors-of-mutations", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				v, err := b.in.Apply(ctx, tenant, m)
				if err != nil {
					err = fmt.Errorf("%w: %s", err, f(m))
				}
				return v, err
			}
		}})
	}
	says("ids", func(m memory.Mutation) string { return fmt.Sprint(m.Live, m.Retire, m.Restore) })
	says("entries", func(m memory.Mutation) string { return fmt.Sprint(m.Put) })
	says("the values of cells", func(m memory.Mutation) string {
		var out []string
		for _, c := range m.Cells {
			out = append(out, string(c.Old))
		}
		return strings.Join(out, ",")
	})
	// Races.
	all = append(all,
		defect{"checks and merges in two steps", "BATCH/racing-merges", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				for _, r := range m.Retire {
					if b.dead(r.Scope, r.ID) {
						return "", memory.ErrConflict
					}
				}
				for range 100 {
					runtime.Gosched()
				}
				m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return b.dead(r.Scope, r.ID) })
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		defect{"compares and swaps in two steps", "BATCH/racing-swaps", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				m.Cells = slices.Clone(m.Cells)
				for i, c := range m.Cells {
					now, err := b.in.Cell(ctx, c.Scope, c.Name)
					if err != nil || string(now) != string(c.Old) {
						return "", memory.ErrConflict
					}
					for range 50 {
						runtime.Gosched()
					}
					m.Cells[i].Old, _ = b.in.Cell(ctx, c.Scope, c.Name)
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		defect{"shows a mutation in parts", "BATCH/readers-see-whole", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				if len(m.Put) > 0 && len(m.Retire) > 0 {
					if _, err := b.in.Apply(ctx, tenant, memory.Mutation{At: m.At, Put: m.Put}); err != nil {
						return "", err
					}
					for range 50 {
						runtime.Gosched()
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}})
	return all
}

// placing reports whether the mutation itself puts the successor.
func (b *broken) placing(m *memory.Mutation, r memory.Retirement) bool {
	return slices.ContainsFunc(m.Put, func(p memory.Placed) bool { return p.Scope == r.Scope && p.Entry.ID == r.For })
}

// recorded changes records as they are looked up and listed in history.
func recorded(f func(b *broken, r *memory.Record)) func(b *broken) {
	return func(b *broken) {
		lookup, history := b.lookup, b.history
		b.lookup = func(ctx context.Context, s memory.Scope, id string) (memory.Record, error) {
			rec, err := lookup(ctx, s, id)
			if err == nil {
				f(b, &rec)
			}
			return rec, err
		}
		b.history = func(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
			return func(yield func(memory.Record, error) bool) {
				for rec, err := range history(ctx, tenant, q) {
					if err == nil {
						f(b, &rec)
					}
					if !yield(rec, err) {
						return
					}
				}
			}
		}
	}
}

func recordDefects() []defect {
	original := func(b *broken, r *memory.Record) memory.Entry {
		for _, e := range b.kept(r.Scope) {
			if e.ID == r.Entry.ID {
				return e
			}
		}
		return r.Entry
	}
	return []defect{
		{"forgets the successor of what was superseded", "BATCH/retired", recorded(func(_ *broken, r *memory.Record) {
			if r.State == memory.Superseded {
				r.For = ""
			}
		})},
		{"keeps only the id of what was retired", "BATCH/retired", recorded(func(_ *broken, r *memory.Record) {
			if r.State == memory.Merged && !r.Erased {
				r.Entry = memory.Entry{ID: r.Entry.ID, Content: r.Entry.Content, CreatedAt: r.Entry.CreatedAt}
			}
		})},
		{"keeps the successor of what was restored", "BATCH/restored", func(b *broken) {
			var successor memo[memory.Located, string]
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				for _, r := range m.Retire {
					successor.set(r.Located, r.For)
				}
				return b.in.Apply(ctx, tenant, m)
			}
			recorded(func(_ *broken, r *memory.Record) {
				if r.State == memory.Live && !r.Erased {
					r.For = successor.get(memory.Located{Scope: r.Scope, ID: r.Entry.ID})
				}
			})(b)
		}},
		{"restores with a new createdAt", "BATCH/restored", func(b *broken) {
			var restored memo[string, bool]
			b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
				for _, l := range m.Restore {
					restored.set(l.ID, true)
				}
				return b.in.Apply(ctx, tenant, m)
			}
			b.show["list"] = func(_ memory.Scope, _ time.Time, found []memory.Entry) []memory.Entry {
				for i := range found {
					if restored.get(found[i].ID) {
						found[i].CreatedAt = found[i].CreatedAt.Add(time.Hour)
					}
				}
				slices.SortFunc(found, newestFirst)
				return found
			}
		}},
		{"hides the expired from lookup", "TTL/expired-history", func(b *broken) {
			b.lookup = func(ctx context.Context, s memory.Scope, id string) (memory.Record, error) {
				rec, err := b.in.Lookup(ctx, s, id)
				if err == nil && !rec.Entry.ExpiresAt.IsZero() {
					return memory.Record{}, memory.ErrNotFound
				}
				return rec, err
			}
		}},
		{"hides the expired from history", "TTL/expired-history", filtered(func(_ *broken, _ memory.HistoryQuery, r memory.Record) bool {
			return r.Entry.ExpiresAt.IsZero()
		})},
		{"shows a live record as retired at its expiry", "TTL/expired-history", recorded(func(_ *broken, r *memory.Record) {
			if !r.Entry.ExpiresAt.IsZero() && r.State == memory.Live {
				r.State = memory.Deleted
			}
		})},
		{"escapes markers in records", "SR-1/marker-in-history", recorded(func(_ *broken, r *memory.Record) {
			r.Entry.Content = strings.ReplaceAll(r.Entry.Content, "<", "&lt;")
		})},
		{"keeps the content of what was erased", "SR-1/erased", recorded(func(b *broken, r *memory.Record) {
			if r.Erased && r.State == memory.Live {
				r.Entry.Content = original(b, r).Content
			}
		})},
		{"keeps the tags of what was erased", "SR-1/erased", recorded(func(b *broken, r *memory.Record) {
			if r.Erased && r.State == memory.Live {
				r.Entry.Tags = original(b, r).Tags
			}
		})},
		{"keeps the subjects of what was erased", "SR-1/erased", recorded(func(b *broken, r *memory.Record) {
			if r.Erased && r.State == memory.Live {
				r.Entry.Subjects = original(b, r).Subjects
			}
		})},
		{"keeps the sources of what was erased", "SR-1/erased", recorded(func(b *broken, r *memory.Record) {
			if r.Erased && r.State == memory.Live {
				r.Entry.Sources = original(b, r).Sources
			}
		})},
		{"erases live entries only", "SR-1/erased", recorded(func(b *broken, r *memory.Record) {
			if r.Erased && r.State != memory.Live {
				r.Entry = original(b, r)
			}
		})},
		{"prints what was erased", "SR-1/erased", func(b *broken) {
			b.text = func() string {
				for _, e := range b.others(home, nil, func(r memory.Record) bool { return r.Erased }) {
					return e.Content
				}
				return ""
			}
		}},
		{"keeps a stub without the state", "FORGET/stub", recorded(func(_ *broken, r *memory.Record) {
			if r.Erased {
				r.State = memory.Deleted
			}
		})},
		{"keeps a stub without the successor", "FORGET/stub", recorded(func(_ *broken, r *memory.Record) {
			if r.Erased {
				r.For = ""
			}
		})},
		{"keeps the createdAt of a stub", "FORGET/stub", recorded(func(b *broken, r *memory.Record) {
			if r.Erased {
				r.Entry.CreatedAt = original(b, r).CreatedAt
			}
		})},
	}
}
