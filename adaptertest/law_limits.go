package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

// What counts is proven by the sequences of steps, each of which ends with an audit of
// what the tenant uses, and by the model, whose mutations have limits now and then.
func limitsLaw() law {
	tx := []Offer{Transactor}
	return law{name: "LIMIT", number: "M9", says: "no mutation makes a tenant more than its limits allow", cases: []testCase{
		{"refused", "a mutation that goes beyond a limit is refused, and nothing of it happens", tx, limitRefuses},
		{"racing", "of mutations that race for what is left no more succeed than there is room for", tx, func(w *world) { w.raceLimits(w.tx, w.tx) }},
	}}
}

// uses expects the tenant of a scope to use exactly what the reference says: there is room
// for one entry more where the limits leave it, and for nothing beyond.
func (w *world) uses(s driver.Scope) {
	used := w.ref.used(s.Tenant, &driver.Mutation{Limits: driver.Limits{Entries: 1}})
	probe := fmt.Sprintf("probe%04d", w.probes)
	w.probes++
	size := int64(len(w.entry(probe).Content))
	for _, try := range []struct {
		limits driver.Limits
		fits   bool
		ids    []string
	}{
		{driver.Limits{Entries: used.Entries + 1}, false, []string{probe, probe + "x"}},
		{driver.Limits{Bytes: used.Bytes + size - 1}, false, []string{probe}},
		{driver.Limits{Entries: used.Entries + 1, Bytes: used.Bytes + size}, true, []string{probe}},
	} {
		_, err := w.tryApply(s.Tenant, driver.Mutation{Put: w.placed(s, try.ids...), Limits: try.limits})
		w.check(errors.Is(err, driver.ErrStorageLimit) != try.fits, "what the tenant uses", "%s", describeError(err))
	}
	w.apply(driver.Mutation{Erase: located(s, probe)})
}

func limitRefuses(w *world) {
	w.puts(home, "a") // a put knows no limit
	w.apply(queue(w.event("run-1", "zero")))
	m := driver.Mutation{Put: w.placed(home, "b", "c"), Events: queue(w.event("run-1", "one"), w.event("run-1", "two")).Events}
	m.Documents = acts(driver.Set, digest(home, "d", "c"), note(home, "n", "x")).Documents
	for _, limits := range []driver.Limits{{Entries: 2}, {Bytes: 20}, {Waiting: 2}} {
		m.Limits = limits
		_, err := w.tryApply(home.Tenant, m)
		w.check(err != nil, "a limit that is met", "success")
		w.audit()
	}
	m.Limits = driver.Limits{Entries: 3, Bytes: 36, Waiting: 3}
	w.apply(m)
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

func durableLimits(w *world) {
	w.puts(home, "a", "b", "c")
	w.delete(home, "b", true)
	w.reopen()
	w.uses(home)
}

func sharedLimits(w *world) {
	second, _ := driver.As[driver.Transactor](w.second())
	w.raceLimits(w.tx, second)
}
