package adaptertest

import (
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

func consolidationLaw() law {
	tx := []Offer{Transactor}
	return law{name: "CONSOLIDATE", number: "C2, C5, C7", says: "a consolidation on this store does what it says, and only once", cases: []testCase{
		workCase("work", "a consolidation leaves what it leaves on another store, though calls fail", tx, consolidateWork),
		{"racing-writes", "what is written by others at the same time is still there, or in a lineage", tx, raceConsolidation},
	}}
}

func raceConsolidation(w *world) {
	h := w.host()
	engine, err := consolidate.New(consolidate.Config{})
	w.must(err)
	pass := func(id string) {
		job := h.named(id, home.Tenant, nil)
		_, err := engine.Run(w.ctx, job, home.Ref, consolidate.Options{})
		w.must(err)
	}
	const writers, writes = 3, 12
	w.quietly("three jobs put 12 facts each, of which many say the same, while four consolidations run", func() {
		w.parallel(writers+1, func(i int) {
			for n := range writes {
				if i < writers {
					_, err := h.named(fmt.Sprint("writer-", i), home.Tenant, nil).Put(w.ctx, home.Ref, memory.Draft{Content: fmt.Sprintf("Desk %d of %d.", n, (n+i)%5)})
					w.must(err)
				} else if n%3 == 0 {
					pass(fmt.Sprint("p", n))
				}
			}
		})
	})
	w.did("the last consolidation runs")
	pass("last")
	want := map[string]bool{}
	for i := range writers {
		for n := range writes {
			want[fmt.Sprintf("Desk %d of %d.", n, (n+i)%5)] = true
		}
	}
	texts := h.contents(home.Tenant, home.Ref)
	for text := range sorted(want) {
		w.check(slices.Contains(texts, text), "the fact "+short(text)+" in live memory", "%s", describe(texts))
	}
	w.check(len(texts) == len(want), fmt.Sprint(len(want), " facts"), "%d: %s", len(texts), describe(texts))
}
