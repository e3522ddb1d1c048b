package adaptertest

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

func recordLaw() law {
	return law{name: "RECORD", number: "M8", says: "an entry comes back as it was put, and a call sees every write that was acknowledged before it began", cases: slices.Concat(generate(
		generation{name: "texts", says: "every text that is kept comes back byte for byte, and is found by itself only",
			topics: everyTopic[:4], plans: sharing(len(texts)+1, holdText), sequences: [3]int{1, 3, 20}, steps: 6, audited: 200},
	), []testCase{
		{"one-state-lookup", "many ids are looked up as they are at one moment", transactor, func(w *world) {
			readOneState(w, func(asked []string) (got []string) {
				for _, rec := range w.lookUp(home, asked...) {
					if !rec.Erased {
						got = append(got, rec.Entry.ID)
					}
				}
				return got
			})
		}},
		{"one-state-list", "many ids are listed at a version as they are at one moment", []Offer{Transactor, Versioned}, func(w *world) {
			readOneState(w, func(asked []string) []string {
				got, err := w.tryListAt(home, w.version(home.Tenant), driver.Query{At: w.now, IDs: asked})
				w.must(err)
				return ids(got)
			})
		}},
	}, raceCases("RECORD"))}
}

// readOneState erases two entries by one mutation, time and again: a read by ids has both
// or neither.
func readOneState(w *world, read func(asked []string) []string) {
	const rounds = 60
	pair := func(i int) []string { return []string{fmt.Sprint("x", i), fmt.Sprint("y", i)} }
	others := manyTexts("other", 50)
	w.puts(home, append(others, pair(0)...)...)
	var round atomic.Int64
	w.during("put two entries and erase both by one mutation 60 times, while three readers read them by ids", func() {
		for k := range rounds {
			w.apply(driver.Mutation{Put: w.placed(home, pair(k+1)...), Erase: located(home, pair(k)...)})
			round.Store(int64(k + 1))
		}
	}, 3, func(int) {
		p := pair(int(round.Load()))
		got := read(slices.Concat(p[:1], others, p[1:]))
		w.check(slices.Contains(got, p[0]) == slices.Contains(got, p[1]), "both entries or neither", "one of them")
	})
}
