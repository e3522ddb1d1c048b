package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// transactorDefects are about mutations and records.
func transactorDefects() []defect {
	return slices.Concat(mutationDefects(), conditionDefects(), recordDefects(), historyDefects(), eraseDefects(), forgetDefects())
}

// mutated changes a mutation before the store has it.
func mutated(f func(b *broken, m *driver.Mutation)) func(b *broken) {
	return func(b *broken) {
		apply := b.apply
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
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

func (b *broken) record(s driver.Scope, id string) driver.Record {
	rec, _ := b.in.find(context.Background(), s, id)
	return rec
}

func (b *broken) dead(s driver.Scope, id string) bool {
	rec, err := b.in.find(context.Background(), s, id)
	return err != nil || rec.State != driver.Live
}

func mutationDefects() []defect {
	var all []defect
	drops := func(name, needs string, f func(b *broken, m *driver.Mutation)) {
		all = append(all, defect{name, needs, mutated(f)})
	}
	drops("forgets restorations", "BATCH/", func(_ *broken, m *driver.Mutation) { m.Restore = nil })
	drops("forgets erasures", "BATCH/", func(_ *broken, m *driver.Mutation) { m.Erase = nil })
	all = append(all, defect{"stores only the first document", "BATCH/", swapped(func(_ *broken, i int, _ *driver.DocumentSwap) bool { return i == 0 })})
	drops("queues only the first event", "BATCH/", func(_ *broken, m *driver.Mutation) { m.Events = m.Events[:min(1, len(m.Events))] })
	drops("puts only into the first scope", "BATCH/", func(_ *broken, m *driver.Mutation) {
		m.Put = unless(m.Put, func(p driver.Placed) bool { return p.Scope != m.Put[0].Scope })
	})
	// heirs changes the ids that entries are expected to be heirs of.
	heirs := func(name string, f func(b *broken, s driver.Scope, ids []string) []string) {
		drops(name, "BATCH/heir-condition", func(b *broken, m *driver.Mutation) {
			m.MergedInto = maps.Clone(m.MergedInto)
			for h, of := range m.MergedInto {
				m.MergedInto[h] = f(b, h.Scope, slices.Clone(of))
			}
		})
	}
	drops("does not look at heirs", "BATCH/heir-condition", func(_ *broken, m *driver.Mutation) { m.MergedInto = nil })
	heirs("takes what was erased for no heir's", func(b *broken, s driver.Scope, ids []string) []string {
		return slices.DeleteFunc(ids, func(id string) bool { return b.record(s, id).Erased })
	})
	heirs("takes what was superseded for no heir's", func(b *broken, s driver.Scope, ids []string) []string {
		return slices.DeleteFunc(ids, func(id string) bool { return b.record(s, id).State == driver.Superseded })
	})
	drops("retires everything as merged", "BATCH/", func(_ *broken, m *driver.Mutation) {
		m.Retire = slices.Clone(m.Retire)
		for i := range m.Retire {
			if m.Retire[i].State == driver.Superseded {
				m.Retire[i].State = driver.Merged
			}
		}
	})
	// A store that retires before it puts does not find the successor.
	drops("retires before it puts", "BATCH/retire-for-new", func(b *broken, m *driver.Mutation) {
		for _, r := range m.Retire {
			if _, err := b.in.find(context.Background(), r.Scope, r.For); r.For != "" && err != nil {
				m.Live = append(slices.Clone(m.Live), located(r.Scope, r.For)...)
			}
		}
	})
	drops("retires only what was there before", "BATCH/retire-new", func(b *broken, m *driver.Mutation) {
		for _, r := range m.Retire {
			if _, err := b.in.find(context.Background(), r.Scope, r.ID); err != nil {
				m.Live = append(slices.Clone(m.Live), located(r.Scope, r.ID)...)
			}
		}
	})
	// half commits some parts, whatever becomes of the rest.
	half := func(name, needs string, part func(m *driver.Mutation) driver.Mutation) {
		all = append(all, defect{name, needs, func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				v, err := b.in.Apply(ctx, tenant, m)
				if errors.Is(err, driver.ErrConflict) {
					first := part(&m)
					first.At = m.At
					b.in.Apply(ctx, tenant, first)
				}
				return v, err
			}
		}})
	}
	half("commits puts before it looks at documents", "BATCH/fails-at-document", func(m *driver.Mutation) driver.Mutation {
		return driver.Mutation{Put: m.Put}
	})
	half("commits erasures at once", "BATCH/fails-at-live", func(m *driver.Mutation) driver.Mutation { return driver.Mutation{Erase: m.Erase} })
	half("queues events at once", "BATCH/fails-at-put", func(m *driver.Mutation) driver.Mutation { return driver.Mutation{Events: m.Events} })
	half("commits what comes before a retirement", "BATCH/fails-at-retire", func(m *driver.Mutation) driver.Mutation { return driver.Mutation{Put: m.Put[:min(1, len(m.Put))]} })
	half("commits restorations at once", "BATCH/fails-at-restore", func(m *driver.Mutation) driver.Mutation {
		return driver.Mutation{Restore: m.Restore[:min(1, len(m.Restore))]}
	})
	half("stores documents at once", "BATCH/fails-at-successor", func(m *driver.Mutation) driver.Mutation { return driver.Mutation{Documents: m.Documents} })
	half("leaves events of a batch that lost a race", "BATCH/racing-put", func(m *driver.Mutation) driver.Mutation {
		return driver.Mutation{Put: m.Put[:min(1, len(m.Put))], Events: m.Events}
	})
	return all
}

func conditionDefects() []defect {
	var all []defect
	skip := func(name, needs string, f func(b *broken, m *driver.Mutation)) {
		all = append(all, defect{name, needs, mutated(f)})
	}
	skip("does not check that entries are live", "BATCH/fails-at-live", func(_ *broken, m *driver.Mutation) { m.Live = nil })
	skip("passes over puts that conflict", "BATCH/fails-at-put", func(b *broken, m *driver.Mutation) {
		m.Put = unless(m.Put, func(p driver.Placed) bool {
			rec, err := b.in.find(context.Background(), p.Scope, p.Entry.ID)
			return err == nil && differences(&rec.Entry, &p.Entry) != ""
		})
	})
	skip("passes over conflicting puts of one entry", "IDEMPOTENCE/apply-conflict", func(b *broken, m *driver.Mutation) {
		m.Put = unless(m.Put, func(p driver.Placed) bool {
			_, err := b.in.find(context.Background(), p.Scope, p.Entry.ID)
			return err == nil
		})
	})
	skip("refuses a put of what is there", "IDEMPOTENCE/apply-again", func(b *broken, m *driver.Mutation) {
		for _, p := range m.Put {
			if !b.dead(p.Scope, p.Entry.ID) {
				m.Live = located(p.Scope, "nothing")
			}
		}
	})
	skip("passes over retirements of what is not live", "BATCH/fails-at-retire", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return r.State == driver.Deleted && b.dead(r.Scope, r.ID) })
	})
	skip("retires again what is retired", "BATCH/retired-is-final", func(b *broken, m *driver.Mutation) {
		for _, r := range m.Retire {
			if rec := b.record(r.Scope, r.ID); rec.State == driver.Merged {
				m.Restore = nil
				m.Retire = unless(m.Retire, func(o driver.Retirement) bool { return o == r })
			}
		}
	})
	skip("does not look at the successor", "BATCH/fails-at-successor", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return r.For != "" && !b.placing(m, r) && b.dead(r.Scope, r.For) })
	})
	skip("takes a merged successor", "BATCH/successor-condition", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool {
			return r.For != "" && b.record(r.Scope, r.For).State == driver.Merged
		})
	})
	skip("passes over restorations of what was deleted", "BATCH/fails-at-restore", func(b *broken, m *driver.Mutation) {
		m.Restore = unless(m.Restore, func(l driver.Located) bool { return b.record(l.Scope, l.ID).State == driver.Deleted })
	})
	skip("passes over restorations of what is live", "BATCH/restore-condition", func(b *broken, m *driver.Mutation) {
		m.Restore = unless(m.Restore, func(l driver.Located) bool {
			rec, err := b.in.find(context.Background(), l.Scope, l.ID)
			return err == nil && rec.State == driver.Live
		})
	})
	skip("passes over restorations of what is erased", "BATCH/restore-condition", func(b *broken, m *driver.Mutation) {
		m.Restore = unless(m.Restore, func(l driver.Located) bool { return b.record(l.Scope, l.ID).Erased })
	})
	all = append(all, defect{"passes over swaps that fail", "BATCH/fails-at-document", swapped(func(b *broken, _ int, x *driver.DocumentSwap) bool {
		return b.document(&x.Document).Rev == x.Rev
	})})
	skip("takes an erased entry for live", "FORGET/not-live", func(b *broken, m *driver.Mutation) {
		m.Live = unless(m.Live, func(l driver.Located) bool { return b.record(l.Scope, l.ID).Erased })
	})
	skip("refuses to erase twice", "IDEMPOTENCE/erase-again", func(b *broken, m *driver.Mutation) {
		for _, l := range m.Erase {
			if b.record(l.Scope, l.ID).Erased {
				m.Live = append(slices.Clone(m.Live), l)
			}
		}
	})
	skip("refuses to erase what is not there", "IDEMPOTENCE/erase-again", func(b *broken, m *driver.Mutation) {
		for _, l := range m.Erase {
			if _, err := b.in.find(context.Background(), l.Scope, l.ID); err != nil {
				m.Live = append(slices.Clone(m.Live), l)
			}
		}
	})
	// Conditions and expiry.
	expired := func(b *broken, s driver.Scope, id string, at time.Time) bool {
		rec := b.record(s, id)
		return !rec.Entry.LiveAt(at)
	}
	skip("does not judge expiry in conditions", "TTL/expired-condition", func(b *broken, m *driver.Mutation) {
		m.Live = unless(m.Live, func(l driver.Located) bool { return expired(b, l.Scope, l.ID, m.At) })
	})
	skip("has conditions end a millisecond early", "TTL/expired-condition", func(b *broken, m *driver.Mutation) {
		if len(m.Live) > 0 {
			m.At = m.At.Add(time.Millisecond)
		}
	})
	skip("retires what has expired", "TTL/expired-retire", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return expired(b, r.Scope, r.ID, m.At) })
	})
	skip("takes an expired successor", "TTL/expired-successor", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return r.For != "" && expired(b, r.Scope, r.For, m.At) })
	})
	// Conditions and scopes.
	elsewhere := func(b *broken, s driver.Scope, id string) bool {
		return b.dead(s, id) && len(b.known(func(o driver.Scope) bool { return o != s && !b.dead(o, id) })) > 0
	}
	skip("finds conditions in any scope", "CTI-1/names-tenant", func(b *broken, m *driver.Mutation) {
		m.Live = unless(m.Live, func(l driver.Located) bool { return elsewhere(b, l.Scope, l.ID) })
	})
	skip("finds what it retires in any scope", "CTI-1/names-tenant", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return elsewhere(b, r.Scope, r.ID) })
	})
	skip("finds successors in any scope", "CTI-1/foreign-successor", func(b *broken, m *driver.Mutation) {
		m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return r.For != "" && !b.placing(m, r) && elsewhere(b, r.Scope, r.For) })
	})
	skip("erases an id in every ref", "CTI-1/foreign-", func(b *broken, m *driver.Mutation) {
		for _, l := range m.Erase {
			for _, s := range b.known(func(o driver.Scope) bool { return o.Tenant == l.Tenant }) {
				m.Erase = append(m.Erase, located(s, l.ID)...)
			}
		}
	})
	skip("erases what it has put in every tenant", "CTI-1/foreign-", func(b *broken, m *driver.Mutation) {
		for _, l := range m.Erase {
			for _, s := range b.known(func(o driver.Scope) bool { return o.Tenant != l.Tenant }) {
				b.in.Apply(context.Background(), s.Tenant, driver.Mutation{Erase: located(s, l.ID)})
			}
		}
	})
	// Errors that say too much.
	says := func(what string, f func(m driver.Mutation) string) {
		all = append(all, defect{"names " + what + " in the conflict of a mutation", "SR-1/errors-transactor", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				v, err := b.in.Apply(ctx, tenant, m)
				if err != nil {
					err = fmt.Errorf("%w: %s", err, f(m))
				}
				return v, err
			}
		}})
	}
	says("ids", func(m driver.Mutation) string { return fmt.Sprint(m.Live, m.Retire, m.Restore) })
	says("entries", func(m driver.Mutation) string { return fmt.Sprint(m.Put) })
	says("documents", func(m driver.Mutation) string { return fmt.Sprint(m.Documents) })
	all = append(all, defect{"names what is not valid", "SR-1/errors-transactor", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			made, err := b.in.Apply(ctx, tenant, m)
			if errors.Is(err, driver.ErrValidation) {
				err = fmt.Errorf("%w: %v", err, m)
			}
			return made, err
		}
	}})
	// Races.
	all = append(all,
		defect{"checks and merges in two steps", "BATCH/racing-merges", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				for _, r := range m.Retire {
					if b.dead(r.Scope, r.ID) {
						return driver.Applied{}, driver.ErrConflict
					}
				}
				for range 100 {
					runtime.Gosched()
				}
				m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return b.dead(r.Scope, r.ID) })
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		defect{"compares and swaps in two steps", "DOCUMENT/racing-swaps", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				m.Documents = slices.Clone(m.Documents)
				for i := range m.Documents {
					x := &m.Documents[i]
					if b.document(&x.Document).Rev != x.Rev {
						return driver.Applied{}, driver.ErrConflict
					}
					for range 50 {
						runtime.Gosched()
					}
					x.Rev = b.document(&x.Document).Rev
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		defect{"shows a mutation in parts", "BATCH/readers-see-whole", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if len(m.Put) > 0 && len(m.Retire) > 0 {
					if _, err := b.in.Apply(ctx, tenant, driver.Mutation{At: m.At, Put: m.Put}); err != nil {
						return driver.Applied{}, err
					}
					for range 50 {
						runtime.Gosched()
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		defect{"lists in two halves", "BATCH/readers-see-whole", func(b *broken) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				all, err := b.in.List(ctx, s, q)
				if err != nil || len(all) < 2 {
					return all, err
				}
				all = slices.Clone(all[:len(all)/2])
				q.After = all[len(all)-1].Cursor()
				q.Limit = max(0, q.Limit-len(all))
				for range 50 {
					runtime.Gosched()
				}
				rest, err := b.in.List(ctx, s, q)
				return append(all, rest...), err
			}
		}})
	return all
}

// placing reports whether the mutation itself puts the successor.
func (b *broken) placing(m *driver.Mutation, r driver.Retirement) bool {
	return slices.ContainsFunc(m.Put, func(p driver.Placed) bool { return p.Scope == r.Scope && p.Entry.ID == r.For })
}

// recorded changes records as they are looked up and listed in history.
func recorded(f func(b *broken, r *driver.Record)) func(b *broken) {
	return func(b *broken) {
		lookups, history := b.lookups, b.history
		b.lookups = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
			recs, err := lookups(ctx, s, ids)
			for i := range recs {
				f(b, &recs[i])
			}
			return recs, err
		}
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			return func(yield func(driver.Record, error) bool) {
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
	original := func(b *broken, r *driver.Record) driver.Entry {
		for _, e := range b.kept(r.Scope) {
			if e.ID == r.Entry.ID {
				return e
			}
		}
		return r.Entry
	}
	return []defect{
		{"forgets the successor of what was superseded", "BATCH/", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Superseded {
				r.For = ""
			}
		})},
		{"keeps only the id of what was retired", "BATCH/", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Merged && !r.Erased {
				r.Entry = driver.Entry{ID: r.Entry.ID, Content: r.Entry.Content, CreatedAt: r.Entry.CreatedAt}
			}
		})},
		{"keeps the successor of what was restored", "BATCH/", func(b *broken) {
			var successor memo[driver.Located, string]
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				for _, r := range m.Retire {
					successor.set(r.Located, r.For)
				}
				return b.in.Apply(ctx, tenant, m)
			}
			recorded(func(_ *broken, r *driver.Record) {
				if r.State == driver.Live && !r.Erased {
					r.For = successor.get(driver.Located{Scope: r.Scope, ID: r.Entry.ID})
				}
			})(b)
		}},
		{"restores with a new createdAt", "BATCH/", func(b *broken) {
			var restored memo[string, bool]
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				for _, l := range m.Restore {
					restored.set(l.ID, true)
				}
				return b.in.Apply(ctx, tenant, m)
			}
			b.show["list"] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
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
			b.lookup = func(ctx context.Context, s driver.Scope, id string) (driver.Record, error) {
				rec, err := b.in.find(ctx, s, id)
				if err == nil && !rec.Entry.ExpiresAt.IsZero() {
					return driver.Record{}, driver.ErrNotFound
				}
				return rec, err
			}
		}},
		{"hides the expired from history", "TTL/expired-history", filtered(func(_ *broken, _ driver.HistoryQuery, r driver.Record) bool {
			return r.Entry.ExpiresAt.IsZero()
		})},
		{"shows a live record as retired at its expiry", "TTL/expired-history", recorded(func(_ *broken, r *driver.Record) {
			if !r.Entry.ExpiresAt.IsZero() && r.State == driver.Live {
				r.State = driver.Deleted
			}
		})},
		{"escapes markers in records", "SR-1/marker-get", recorded(func(_ *broken, r *driver.Record) {
			r.Entry.Content = strings.ReplaceAll(r.Entry.Content, "<", "&lt;")
		})},
		{"keeps the content of what was erased", "SR-1/erased", recorded(func(b *broken, r *driver.Record) {
			if r.Erased && r.State == driver.Live {
				r.Entry.Content = original(b, r).Content
			}
		})},
		{"keeps the tags of what was erased", "SR-1/erased", recorded(func(b *broken, r *driver.Record) {
			if r.Erased && r.State == driver.Live {
				r.Entry.Tags = original(b, r).Tags
			}
		})},
		{"keeps the subjects of what was erased", "SR-1/erased", recorded(func(b *broken, r *driver.Record) {
			if r.Erased && r.State == driver.Live {
				r.Entry.Subjects = original(b, r).Subjects
			}
		})},
		{"keeps the sources of what was erased", "SR-1/erased", recorded(func(b *broken, r *driver.Record) {
			if r.Erased && r.State == driver.Live {
				r.Entry.Sources = original(b, r).Sources
			}
		})},
		{"erases live entries only", "SR-1/erased", recorded(func(b *broken, r *driver.Record) {
			if r.Erased && r.State != driver.Live {
				r.Entry = original(b, r)
			}
		})},
		{"prints what was erased", "SR-1/erased", func(b *broken) {
			b.text = func() string {
				for _, e := range b.others(home, nil, func(r driver.Record) bool { return r.Erased }) {
					return e.Content
				}
				return ""
			}
		}},
		{"keeps a stub without the state", "FORGET/stub", recorded(func(_ *broken, r *driver.Record) {
			if r.Erased {
				r.State = driver.Deleted
			}
		})},
		{"keeps a stub without the successor", "FORGET/stub", recorded(func(_ *broken, r *driver.Record) {
			if r.Erased {
				r.For = ""
			}
		})},
		{"keeps the createdAt of a stub", "FORGET/stub", recorded(func(b *broken, r *driver.Record) {
			if r.Erased {
				r.Entry.CreatedAt = original(b, r).CreatedAt
			}
		})},
	}
}
