package adaptertest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// engineDefects are such as an engine stumbles over.
func engineDefects() []defect {
	merged := func(r memory.Record) bool { return r.State == memory.Merged }
	forgets := func(state memory.State) func(b *broken) {
		return mutated(func(_ *broken, m *memory.Mutation) {
			m.Retire = unless(m.Retire, func(r memory.Retirement) bool { return r.State == state })
		})
	}
	return []defect{
		{"forgets what is superseded", "CONSOLIDATE/merges-and-supersedes", forgets(memory.Superseded)},
		{"leaves no lineage behind", "CONSOLIDATE/merges-and-supersedes", recorded(func(_ *broken, r *memory.Record) {
			if r.State == memory.Merged {
				r.State, r.For = memory.Deleted, ""
			}
		})},
		{"has no cells of long names", "CONSOLIDATE/second-pass", func(b *broken) {
			mutated(func(_ *broken, m *memory.Mutation) {
				m.Cells = unless(m.Cells, func(c memory.CellSwap) bool { return len(c.Name) > 48 })
			})(b)
			b.cell = func(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
				if len(name) > 48 {
					return nil, ctx.Err()
				}
				return b.in.Cell(ctx, s, name)
			}
		}},
		{"has views that lose what a pass merges", "CONSOLIDATE/held-view", func(b *broken) { b.leakIntoViews(merged, true) }},
		{"rewrites a scope from what it read last", "CONSOLIDATE/write-in-a-pass", rewritesWhole},
		{"loses writes that a mutation overtakes", "CONSOLIDATE/racing-writes", losesSome},
		{"retires what an entry names as its source", "DISTILL/compact-keeps", mutated(func(b *broken, m *memory.Mutation) {
			for _, p := range m.Put {
				for _, id := range p.Entry.Sources {
					m.Retire = append(m.Retire, memory.Retirement{Located: memory.Located{Scope: p.Scope, ID: id}, State: memory.Merged, For: p.Entry.ID})
				}
			}
		})},
		{"forgets what is merged", "DISTILL/compact-expires", forgets(memory.Merged)},
		{"forgets what a mutation deletes", "DISTILL/compact-removes", forgets(memory.Deleted)},
		{"has tags in any order", "DISTILL/same-address", turnsTags},
		{"has views that lose what a compaction merges", "DISTILL/held-view", func(b *broken) { b.leakIntoViews(merged, true) }},
		{"forgets what a pass supersedes", "FAULT/consolidation-pass", forgets(memory.Superseded)},
		{"refuses an event that it has had", "FAULT/distillation-pass", onceOnly},
		{"loses what a compaction merges", "FAULT/compaction-pass", recorded(func(_ *broken, r *memory.Record) {
			if r.State == memory.Merged {
				r.For = ""
			}
		})},
	}
}

// rewritesWhole keeps, when it retires anything, only what was there when it was last
// read.
func rewritesWhole(b *broken) {
	var read memo[memory.Scope, []memory.Entry]
	b.listAt = func(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
		b.mu.Lock()
		read.set(s, slices.Clone(b.scopes[s]))
		b.mu.Unlock()
		return b.in.ListAt(ctx, s, v, q)
	}
	mutated(func(b *broken, m *memory.Mutation) {
		if len(m.Retire) == 0 {
			return
		}
		s := m.Retire[0].Scope
		for _, e := range b.kept(s) {
			if !slices.ContainsFunc(read.get(s), func(o memory.Entry) bool { return o.ID == e.ID }) {
				b.in.Delete(context.Background(), s, e.ID, m.At)
			}
		}
	})(b)
}

// losesSome loses what writers put once a pass has merged anything.
func losesSome(b *broken) {
	var mu sync.Mutex
	lost := 0
	mutated(func(_ *broken, m *memory.Mutation) {
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
	turn := func(_ memory.Scope, _ time.Time, found []memory.Entry) []memory.Entry {
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
	for _, way := range []string{"list", "list-at", "scan"} {
		b.show[way] = turn
	}
}

// onceOnly takes an event of a known id for a mistake.
func onceOnly(b *broken) {
	var known memo[string, bool]
	apply := b.apply
	b.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
		for _, rec := range m.Events {
			if known.get(rec.ID) {
				return "", memory.ErrConflict
			}
			known.set(rec.ID, true)
		}
		return apply(ctx, tenant, m)
	}
}
