package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func racingBatches(w *world) {
	sales := at(home.Tenant, "sales")
	for round := range 5 {
		id := fmt.Sprint("e", round)
		var won atomic.Int64
		w.quietly(fmt.Sprintf("four batches and four puts of different entries race for %q", id), func() {
			w.parallel(8, func(i int) {
				e := w.entry(id)
				e.Content = fmt.Sprint("of writer ", i)
				var err error
				if i%2 == 0 {
					err = w.tryPut(home, e)
				} else {
					_, err = w.tryApply(home.Tenant, driver.Mutation{
						Put:    append(w.placed(sales, fmt.Sprint(id, "-", i)), driver.Placed{Scope: home, Entry: e}),
						Events: []events.Record{w.event("run-1", fmt.Sprint(id, "-", i))},
					})
				}
				if err == nil {
					won.Store(int64(i) + 1)
				} else if !errors.Is(err, driver.ErrConflict) {
					w.must(err)
				}
			})
		})
		winner := int(won.Load()) - 1
		e := w.entry(id)
		e.Content = fmt.Sprint("of writer ", winner)
		w.get(home, e)
		for i := 1; i < 8; i += 2 {
			if i != winner {
				w.purged(sales, fmt.Sprint(id, "-", i))
			}
		}
		var want []string
		if winner%2 == 1 {
			want = []string{fmt.Sprint(id, "-", winner)}
		}
		w.sameEvents(w.undelivered(driver.OutboxQuery{Tenant: home.Tenant, RunID: "run-1"}), want...)
		w.delivered(w.event("run-1", fmt.Sprint(id, "-", winner)))
	}
}

func racingMerges(w *world) {
	for round := range 5 {
		old := fmt.Sprint("old", round)
		w.puts(home, old)
		var won atomic.Int64
		w.quietly(fmt.Sprintf("eight batches at once merge %q into an entry of their own", old), func() {
			w.parallel(8, func(i int) {
				id := fmt.Sprint(old, "-into-", i)
				m := retired(retire(home, old, driver.Merged, id))
				m.Put = w.placed(home, id)
				if _, err := w.tryApply(home.Tenant, m); err == nil {
					won.Add(1)
				} else if !errors.Is(err, driver.ErrConflict) {
					w.must(err)
				}
			})
		})
		w.check(won.Load() == 1, "one success, and a conflict for the others", "%d successes", won.Load())
		got := w.list(home, driver.Query{At: w.now})
		w.check(len(got) == round+1, fmt.Sprint(round+1, " entries"), "%s", describeTexts(ids(got)))
	}
}

// readersSeeWhole replaces an entry over and over, and lets readers count.
func readersSeeWhole(w *world) {
	w.puts(home, "e000", "other")
	w.quietly("replace the one entry by another 100 times, while four readers list", func() {
		var done atomic.Bool
		w.parallel(5, func(i int) {
			if i > 0 {
				for !done.Load() {
					got := w.list(home, driver.Query{At: w.now})
					w.check(len(got) == 2, "two entries in each list", "%s", describeTexts(ids(got)))
				}
				return
			}
			defer done.Store(true)
			for k := range 100 {
				next := fmt.Sprintf("e%03d", k+1)
				m := retired(retire(home, fmt.Sprintf("e%03d", k), driver.Superseded, next))
				m.Put = w.placed(home, next)
				w.apply(m)
			}
		})
	})
}
