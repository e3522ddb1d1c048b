package adaptertest

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// readersSeeWhole moves a window of entries over and over, the oldest one out and a newer one in
// by one mutation, and lets readers count. A read of two moments misses both, or has both.
func readersSeeWhole(w *world) {
	const window = 10
	times := w.size(100, 400)
	all := make([]string, window+times)
	for i := range all {
		all[i] = manyID("e", i)
	}
	w.puts(home, all[:window]...)
	downwards := slices.Clone(all) // against the window, which a read as fast as the writer would pass otherwise
	slices.Reverse(downwards)
	readers := []func() []driver.Entry{
		func() []driver.Entry { return w.list(home, driver.Query{At: w.now}) },
		func() (live []driver.Entry) {
			for _, rec := range w.lookUp(home, downwards...) {
				if rec.State == driver.Live {
					live = append(live, rec.Entry)
				}
			}
			return live
		},
	}
	if w.versions != nil {
		readers = append(readers,
			func() []driver.Entry { return w.list(home, driver.Query{At: w.now, Version: w.version(home.Tenant)}) },
			func() []driver.Entry {
				return w.list(home, driver.Query{At: w.now, Version: w.version(home.Tenant), IDs: all})
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
