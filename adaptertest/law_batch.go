package adaptertest

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

func batchLaw() law {
	return law{name: "BATCH", number: "M8", says: "a mutation happens whole or not at all", cases: slices.Concat(generate(
		generation{name: "parts", says: "a mutation of parts of each kind happens whole, and if one of them fails, nothing of it happens", needs: transactor,
			topics: []topic{entries, documents, outgoing}, plans: alone, sequences: [3]int{80, 400, 4000}, steps: 8, shared: true},
	), []testCase{
		{"readers-see-whole", "a reader sees all of a mutation or nothing of it", transactor, readersSeeWhole},
	}, raceCases("BATCH"))}
}

// readersSeeWhole moves a window of entries over and over, the oldest one out and a newer one in
// by one mutation, and lets readers count. A read of two moments misses both, or has both.
func readersSeeWhole(w *world) {
	const window = 10
	times := w.size(100, 400, 2000)
	all := make([]string, window+times)
	for i := range all {
		all[i] = manyID("e", i)
	}
	w.puts(home, all[:window]...)
	readers := []func() []driver.Entry{
		func() []driver.Entry { return w.list(home, driver.Query{At: w.now}) },
		func() (live []driver.Entry) {
			for _, rec := range w.lookUp(home, all...) {
				if rec.State == driver.Live {
					live = append(live, rec.Entry)
				}
			}
			return live
		},
	}
	if w.versions != nil {
		readers = append(readers,
			func() []driver.Entry { return w.listAt(home, w.version(home.Tenant), driver.Query{At: w.now}) },
			func() []driver.Entry {
				return w.listAt(home, w.version(home.Tenant), driver.Query{At: w.now, IDs: all})
			})
	}
	w.during(fmt.Sprintf("replace the last entry by a new first one %d times, while readers list and look up, now and at versions", times), func() {
		for k := range times {
			m := retired(retire(home, all[k], driver.Superseded, all[k+window]))
			m.Put = w.placed(home, all[k+window])
			w.apply(m)
			runtime.Gosched()
		}
	}, len(readers), func(i int) {
		got := readers[i]()
		w.check(len(got) == window, fmt.Sprint(window, " entries in each answer"), "%s", describe(ids(got)))
	})
}
