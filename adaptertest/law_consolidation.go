package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

func raceConsolidation(w *world) {
	h := w.host()
	engine, err := consolidate.New(consolidate.Config{})
	w.must(err)
	pass := func(id string) {
		job := h.job(id, home.Tenant)
		_, err := engine.Run(w.ctx, job, home.Ref, consolidate.Options{})
		w.must(err)
	}
	const writers, writes = 3, 12
	fact := func(i, n int) string { return fmt.Sprintf("Desk %d of %d.", n, (n+i)%5) }
	w.quietly("three jobs put 12 facts each, of which many say the same, while four consolidations run", func() {
		w.parallel(writers+1, func(i int) {
			for n := range writes {
				if i < writers {
					_, err := h.job(fmt.Sprint("writer-", i), home.Tenant).Put(w.ctx, home.Ref, memory.Draft{Content: fact(i, n)})
					w.must(err)
				} else if n%3 == 0 {
					pass(fmt.Sprint("p", n))
				}
			}
		})
	})
	const visit = "The visit is tomorrow." // says another thing on another day (C8)
	for _, day := range []string{"one day", "the next day"} {
		w.did("a job puts %q twice on %s", visit, day)
		for range 2 {
			_, err := h.job(day, home.Tenant).Put(w.ctx, home.Ref, memory.Draft{Content: visit})
			w.must(err)
		}
		w.now = w.now.Add(24 * time.Hour)
	}
	w.did("the last consolidation runs")
	pass("last")
	var want []string
	for i := range writers * writes {
		want = append(want, fact(i/writes, i%writes))
	}
	slices.Sort(want)
	want = append(slices.Compact(want), visit, visit)
	w.came(slices.Sorted(slices.Values(contentsOf(w.live(h.bank.Reader(home.Tenant), home.Ref)))), want...)
}
