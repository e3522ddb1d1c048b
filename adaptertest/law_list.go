package adaptertest

import (
	"math"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The laws of what a list holds, and in which order. What a case leaves is read by all ways
// when it ends: at instants around each expiry, by pages and by each field of a query.

func orderLaw() law {
	return law{name: "ORDER", number: "M5", says: "newest first by createdAt, ties by the bytes of the id, descending", cases: append([]testCase{
		{"limit-one", "limit 1 is the newest", nil, limitOne},
		{"limit-huge", "the largest limit means all", nil, limitHuge},
	}, generate(generation{name: "tied", says: "entries of one instant are in the order of the bytes of their ids", topics: everyTopic[:1],
		plans: sharing(len(tied), func(_ *world, p *plan, k int) { p.own = tied[k] }), sequences: [3]int{1, 3, 20}, steps: 6, audited: 20})...)}
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

func expiryLaw() law {
	return law{name: "TTL", number: "M4", says: "an entry is live iff now < expiresAt, to the millisecond, at the instant that the call carries", cases: generate(
		generation{name: "instants", says: "every instant that is kept comes back, in UTC, and is judged to the millisecond, and by no clock of the store",
			topics: everyTopic[:6], plans: oddInstants, sequences: [3]int{1, 3, 20}, steps: 5, audited: 10})}
}

// fieldWords are tags and subjects of which some begin or end like others.
var fieldWords = []string{"red", "green", "Green", "re", "greenish"}

func queryLaw() law {
	return law{name: "QUERY", number: "M4, M5", says: "a list holds what its query asks for, in any combination", cases: generate(
		generation{name: "fields", says: "each field of a query narrows, alone and with each other one, now and at versions",
			topics: []topic{basic, entries}, plans: sharing(20, func(w *world, p *plan, k int) {
				p.tag, p.subject = fieldWords[k%5], fieldWords[k/2%5]
				p.began = epoch.Add(time.Duration(k*7%20) * time.Millisecond)
			}), sequences: [3]int{1, 4, 40}, steps: 6, audited: 3})}
}
