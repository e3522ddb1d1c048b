package adaptertest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func orderLaw() law {
	l := law{name: "ORDER", number: "M5", says: "newest first by createdAt, ties by the bytes of the id, descending"}
	l.cases = slices.Concat(
		throughLists("newest-first", "newest first, in whatever order they were written, and if by a millisecond", listNewestFirst),
		[]testCase{
			{"limit-one", "limit 1 is the newest", nil, limitOne},
			{"limit-huge", "the largest limit means all", nil, limitHuge},
		})
	return l
}

func listNewestFirst(w *world, r reader) {
	order := []string{"e5", "e4", "e3", "e2", "e1", "e0"}
	for _, i := range w.rng.Perm(len(order)) {
		e := w.entry(fmt.Sprint("e", i))
		e.CreatedAt = w.now.Add(time.Duration(i) * time.Hour)
		w.put(home, e)
	}
	w.sameIDs(r.read(w, home, nil), order)
	close := at("globex", "close")
	for i, id := range []string{"c", "a", "b"} { // not the order of the ids
		e := w.entry(id)
		e.CreatedAt = w.now.Add(time.Duration(i) * time.Millisecond)
		w.put(close, e)
	}
	w.sameIDs(r.read(w, close, nil), []string{"b", "a", "c"})
}

// tied are ids in the order of their bytes, which a collation would not give.
var tied = []string{"A", "B", "Z", "_", "a", "a0", "a1", "a10", "a2", "aa", "b", "z", "z\u00e9", "\u00e9", "\uffee", "\U00010000"}

func limitOne(w *world) {
	want := w.putMany(home, 3, nil)
	w.sameIDs(w.list(home, driver.Query{At: w.now, Limit: 1}), want[:1])
}

func limitHuge(w *world) {
	want := w.putMany(home, 3, nil)
	for _, limit := range []int{math.MaxInt32, math.MaxInt} {
		w.sameIDs(w.list(home, driver.Query{At: w.now, Limit: limit}), want)
	}
}

// samePages expects a list, and one at the latest version, to be what the reference lists.
func (w *world) samePages(s driver.Scope, q driver.Query) {
	want := w.ref.list(s, -1, q)
	w.sameEntries(w.list(s, q), want)
	if w.versions != nil {
		w.sameEntries(w.listAt(s, w.version(s.Tenant), q), want)
	}
}
