package adaptertest

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// engineDefects are such as an engine stumbles over.
func engineDefects() []defect {
	merged := func(r driver.Record) bool { return r.State == driver.Merged }
	forgets := func(state driver.State) func(b *broken) {
		return mutated(func(_ *broken, m *driver.Mutation) {
			m.Retire = unless(m.Retire, func(r driver.Retirement) bool { return r.State == state })
		})
	}
	return []defect{
		{"forgets what is superseded", "CONSOLIDATE/merges-and-supersedes", forgets(driver.Superseded)},
		{"leaves no lineage behind", "CONSOLIDATE/merges-and-supersedes", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Merged {
				r.State, r.For = driver.Deleted, ""
			}
		})},
		{"keeps no documents beside what else a mutation does", "CONSOLIDATE/second-pass", func(b *broken) {
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				return sequence(collect(b.in.Documents(ctx, driver.DocumentQuery{Tenant: q.Tenant, Ref: q.Ref, Kind: "note"})))
			}
		}},
		{"loses writes that a mutation overtakes", "CONSOLIDATE/racing-writes", losesSome},
		{"retires what an entry names as its source", "DISTILL/compact-keeps", mutated(func(b *broken, m *driver.Mutation) {
			for _, p := range m.Put {
				for _, id := range p.Entry.Sources {
					m.Retire = append(m.Retire, driver.Retirement{Located: driver.Located{Scope: p.Scope, ID: id}, State: driver.Merged, For: p.Entry.ID})
				}
			}
		})},
		{"forgets what is merged", "DISTILL/compact-expires", forgets(driver.Merged)},
		{"forgets what a mutation deletes", "DISTILL/compact-removes", forgets(driver.Deleted)},
		{"has tags in any order", "DISTILL/same-address", turnsTags},
		{"has views that lose what a compaction merges", "DISTILL/held-view", func(b *broken) { b.leakIntoViews(merged, true) }},
		{"forgets what a pass supersedes", "FAULT/consolidation-pass", forgets(driver.Superseded)},
		{"refuses an event that it has had", "FAULT/distillation-pass", onceOnly},
		{"leaves archives to a collector", "DISTILL/archive", lingering(func(*broken, driver.Document, driver.Mutation) bool { return true })},
		{"finds what is due only until it is swapped", "FIRE/once", func(b *broken) {
			var swapped memo[string, bool]
			altered(func(_ *broken, x *driver.DocumentSwap) { swapped.set(nameIn(&x.Document), x.Rev > 0) })(b)
			b.due = func(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
				docs, err := b.in.Due(ctx, kind, at, limit)
				return slices.DeleteFunc(docs, func(d driver.Document) bool { return swapped.get(nameIn(&d)) }), err
			}
		}},
		{"lets two at once claim what is due", "FIRE/at-once", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				m.Documents = slices.Clone(m.Documents)
				for i := range m.Documents {
					x := &m.Documents[i]
					if held := b.document(&x.Document); held.Rev == x.Rev && !held.Due.IsZero() {
						for range 50 {
							runtime.Gosched()
						}
						x.Rev = b.document(&x.Document).Rev
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		{"claims before it loses the connection, and again after that", "FAULT/firing-pass", altered(func(b *broken, x *driver.DocumentSwap) {
			if held := b.document(&x.Document); x.Rev > 0 && held.Rev > x.Rev {
				x.Rev = held.Rev
			}
		})},
		{"loses what a compaction merges", "FAULT/compaction-pass", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Merged {
				r.For = ""
			}
		})},
	}
}

// losesSome loses what writers put once a pass has merged anything.
func losesSome(b *broken) {
	var mu sync.Mutex
	lost := 0
	mutated(func(_ *broken, m *driver.Mutation) {
		mu.Lock()
		defer mu.Unlock()
		if len(m.Put) == 1 && strings.HasPrefix(m.Put[0].Entry.RunID, "writer") {
			if lost++; lost%10 == 0 {
				m.Put, m.Events = nil, nil
			}
		}
	})(b)
}

// turnsTags gives the tags of every other read from their end.
func turnsTags(b *broken) {
	var mu sync.Mutex
	reads := 0
	turn := func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
		mu.Lock()
		defer mu.Unlock()
		if reads++; reads%2 == 0 {
			for i := range found {
				found[i].Tags = slices.Clone(found[i].Tags)
				slices.Reverse(found[i].Tags)
			}
		}
		return found
	}
	for _, way := range []string{"list", "list-at"} {
		b.show[way] = turn
	}
}

// onceOnly takes an event of a known id for a mistake.
func onceOnly(b *broken) {
	var known memo[string, bool]
	apply := b.apply
	b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
		for _, rec := range m.Events {
			if known.get(rec.ID) {
				return driver.Applied{}, driver.ErrConflict
			}
			known.set(rec.ID, true)
		}
		return apply(ctx, tenant, m)
	}
}
