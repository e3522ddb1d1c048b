package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func limitsLaw() law {
	tx := []Offer{Transactor}
	return law{name: "LIMIT", number: "M9", says: "no mutation makes a tenant more than its limits allow", cases: []testCase{
		{"counted", "what lives or has expired counts by its bytes, until it ends or is erased, and counts again once it is restored", tx, countedEntries},
		{"racing", "of mutations that race for what is left no more succeed than there is room for", tx, func(w *world) { w.raceLimits(w.tx, w.tx) }},
	}}
}

func countedEntries(w *world) {
	for _, m := range []driver.Mutation{
		{Put: w.placed(home, "a", "b", "c", "d", "é")}, {Put: []driver.Placed{{Scope: at(home.Tenant, "sales"), Entry: w.mortal("short", time.Minute)}}},
		retired(retire(home, "a", driver.Deleted, ""), retire(home, "b", driver.Merged, "c"), retire(home, "c", driver.Superseded, "d")),
		{Restore: located(home, "b")}, {Erase: located(home, "b", "c", "d")},
	} {
		w.apply(m)
		w.advance(time.Hour)
		w.usesWhatTheReferenceSays(home)
	}
	w.apply(queue(w.event("run-1", "waits")))
	beyond := queue(w.event("run-1", "one"), w.event("run-1", "two"))
	beyond.Limits.Waiting = 1
	if w.kept != nil { // what is kept does not wait
		beyond.Keep = true
		w.apply(beyond)
	}
	beyond = queue(w.event("run-1", "three"))
	beyond.Limits.Waiting = 1
	_, err := w.tryApply(home.Tenant, beyond)
	w.mustBe(err, driver.ErrBacklog)
}

// raceLimits has two stores race for the last five places of home's tenant.
func (w *world) raceLimits(first, second driver.Transactor) {
	stores := []driver.Transactor{first, second}
	w.puts(home, "a", "b")
	var done atomic.Int64
	w.quietly("sixteen puts race for five places", func() {
		w.parallel(16, func(i int) {
			m := driver.Mutation{At: w.now, Put: w.placed(home, fmt.Sprintf("racer%02d", i)), Limits: driver.Limits{Entries: 7}}
			_, err := stores[i%2].Apply(w.ctx, home.Tenant, m)
			if err == nil {
				done.Add(1)
			} else if !errors.Is(err, driver.ErrStorageLimit) {
				w.must(err)
			}
		})
	})
	w.check(done.Load() == 5, "five of them", "%d", done.Load())
	w.check(len(w.list(home, driver.Query{At: w.now})) == 7, "seven entries", "another number")
}

func sharedLimits(w *world) {
	second, _ := driver.As[driver.Transactor](w.second())
	w.raceLimits(w.tx, second)
}
