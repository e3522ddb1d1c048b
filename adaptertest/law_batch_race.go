package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
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
					_, err = w.tryApply(home.Tenant, memory.Mutation{
						Put:    append(w.placed(sales, fmt.Sprint(id, "-", i)), memory.Placed{Scope: home, Entry: e}),
						Events: []events.Record{w.event("run-1", fmt.Sprint(id, "-", i))},
					})
				}
				if err == nil {
					won.Store(int64(i) + 1)
				} else if !errors.Is(err, memory.ErrConflict) {
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
		w.sameEvents(w.undelivered(memory.OutboxQuery{Tenant: home.Tenant, RunID: "run-1"}), want...)
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
				m := retired(retire(home, old, memory.Merged, id))
				m.Put = w.placed(home, id)
				if _, err := w.tryApply(home.Tenant, m); err == nil {
					won.Add(1)
				} else if !errors.Is(err, memory.ErrConflict) {
					w.must(err)
				}
			})
		})
		w.check(won.Load() == 1, "one success, and a conflict for the others", "%d successes", won.Load())
		got := w.list(home, memory.Query{At: w.now})
		w.check(len(got) == round+1, fmt.Sprint(round+1, " entries"), "%s", describeTexts(ids(got)))
	}
}

func racingSwaps(w *world) {
	var won atomic.Int64
	w.quietly("eight callers at once raise a cell from what they read, 20 times each", func() {
		w.parallel(8, func(int) {
			for range 20 {
				old, err := w.tx.Cell(w.ctx, home, "count")
				w.must(err)
				_, err = w.tryApply(home.Tenant, memory.Mutation{Cells: []memory.CellSwap{
					{Scope: home, Name: "count", Old: old, New: append(slices.Clone(old), 'i')}}})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, memory.ErrConflict) {
					w.must(err)
				}
			}
		})
	})
	w.holds(home, "count", []byte(strings.Repeat("i", int(won.Load()))))
}

// readersSeeWhole replaces an entry over and over, and lets readers count.
func readersSeeWhole(w *world) {
	w.puts(home, "e000", "other")
	w.quietly("replace the one entry by another 100 times, while four readers list", func() {
		var done atomic.Bool
		w.parallel(5, func(i int) {
			if i > 0 {
				for !done.Load() {
					got := w.list(home, memory.Query{At: w.now})
					w.check(len(got) == 2, "two entries in each list", "%s", describeTexts(ids(got)))
				}
				return
			}
			defer done.Store(true)
			for k := range 100 {
				next := fmt.Sprintf("e%03d", k+1)
				m := retired(retire(home, fmt.Sprintf("e%03d", k), memory.Superseded, next))
				m.Put = w.placed(home, next)
				w.apply(m)
			}
		})
	})
}
