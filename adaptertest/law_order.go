package adaptertest

import (
	"math"

	"github.com/openwop/agentmemory/memory/driver"
)

// The order of everything that is read is in every audit, in pages that chance chooses, and
// in the sweeps of names, instants and sizes.
func orderLaw() law {
	return law{name: "ORDER", number: "M5", says: "newest first by createdAt, ties by the bytes of the id, descending", cases: []testCase{
		{"limit-one", "limit 1 is the newest", nil, limitOne},
		{"limit-huge", "the largest limit means all", nil, limitHuge},
	}}
}

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
