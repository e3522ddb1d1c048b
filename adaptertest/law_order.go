package adaptertest

import (
	"math"

	"github.com/openwop/agentmemory/memory/driver"
)

func limitOne(w *world) {
	want := w.putMany(home, 3)
	w.sameIDs(w.list(home, driver.Query{At: w.now, Limit: 1}), want[:1])
}

func limitHuge(w *world) {
	want := w.putMany(home, 3)
	for _, limit := range []int{math.MaxInt32, math.MaxInt} {
		w.sameIDs(w.list(home, driver.Query{At: w.now, Limit: limit}), want)
	}
}
