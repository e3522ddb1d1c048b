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
		{"entries", "a mutation that goes beyond the entries of a tenant is refused, and nothing of it happens", tx, limitedEntries},
		{"bytes", "the bytes of content are counted, not its characters", tx, limitedBytes},
		{"counted", "what was deleted, merged, superseded or erased does not count, and what was restored does again", tx, countedEntries},
		{"shrinking", "beyond the limit everything goes on that makes no more", tx, shrinkingBeyond},
		{"waiting", "a mutation that goes beyond the events that may wait is refused", tx, limitedEvents},
		{"others", "what other tenants have does not count", tx, limitsOfOthers},
		{"expired", "what has expired counts until it is purged", []Offer{Transactor, Versioned}, limitsOfExpired},
		{"dropped", "what a dropped tenant had does not count", []Offer{Transactor, Tenants}, limitsOfDropped},
		{"racing", "of mutations that race for what is left no more succeed than there is room for", tx, func(w *world) { w.raceLimits(w.tx, w.tx) }},
	}}
}

// bounded is a mutation that puts entries of home under limits.
func (w *world) bounded(entries, bytes int64, ids ...string) driver.Mutation {
	return driver.Mutation{Put: w.placed(home, ids...), Limits: driver.Limits{Entries: entries, Bytes: bytes}}
}

// overflows expects that m is beyond a limit.
func (w *world) overflows(m driver.Mutation, kind error) {
	_, err := w.tryApply(home.Tenant, m)
	w.mustBe(err, kind)
}

// uses expects home's tenant to use exactly so many entries and bytes: there is room for
// one entry more where the limits leave it, and for nothing beyond.
func (w *world) uses(entries, bytes int64) {
	probe := fmt.Sprintf("probe%04d", w.probes)
	w.probes++
	size := int64(len(w.entry(probe).Content))
	w.overflows(w.bounded(entries+1, 0, probe, probe+"x"), driver.ErrStorageLimit)
	w.overflows(w.bounded(0, bytes+size-1, probe), driver.ErrStorageLimit)
	w.apply(w.bounded(entries+1, bytes+size, probe))
	w.apply(driver.Mutation{Erase: located(home, probe)})
}

func limitedEntries(w *world) {
	w.apply(w.bounded(2, 0, "a"))
	w.puts(home, "b") // a put knows no limit
	m := w.bounded(2, 0, "c")
	m.Documents = []driver.DocumentSwap{{Document: digest(home, "d", "c")}, {Document: note(home, "n", "x")}}
	m.Events = queue(w.event("run-1", "one")).Events
	w.overflows(m, driver.ErrStorageLimit)
	w.purged(home, "c")
	w.lacks(digest(home, "d", "c"))
	w.lacks(note(home, "n", "x"))
	w.waiting(home.Tenant, "run-1")
	w.lists(home, "b", "a")
	w.apply(w.bounded(2, 0, "b")) // it is there
	w.apply(w.bounded(3, 0, "c"))
	w.lists(home, "c", "b", "a")
}

func limitedBytes(w *world) {
	m := w.bounded(0, 9, "a")
	m.Put[0].Entry.Content = "äöü€" // 9 bytes, 4 characters
	w.apply(m)
	e := m.Put[0].Entry
	e.ID = "b"
	m.Put, m.Limits.Bytes = []driver.Placed{{Scope: home, Entry: e}}, 17
	w.overflows(m, driver.ErrStorageLimit)
	m.Limits.Bytes = 18
	w.apply(m)
}

func countedEntries(w *world) {
	of := func(id string) int64 { return int64(len(w.entry(id).Content)) }
	each := of("a")
	w.uses(0, 0)
	w.puts(home, "a", "b", "c", "d", "e")
	w.puts(home, "a")
	w.uses(5, 5*each)
	w.delete(home, "a", true)
	w.delete(home, "a", false)
	w.uses(4, 4*each)
	m := retired(retire(home, "b", driver.Merged, "f"), retire(home, "c", driver.Superseded, "d"))
	m.Put = w.placed(home, "f", "g")
	w.apply(m)
	w.uses(4, 4*each)
	w.apply(driver.Mutation{Restore: located(home, "b")})
	w.uses(5, 5*each)
	w.apply(driver.Mutation{Erase: located(home, "b", "c", "never")})
	w.uses(4, 4*each)
	w.apply(driver.Mutation{Put: w.placed(home, "h"), Retire: []driver.Retirement{retire(home, "h", driver.Deleted, "")}})
	w.apply(driver.Mutation{Put: w.placed(home, "i"), Erase: located(home, "i", "e")})
	w.uses(3, 3*each)
}

func shrinkingBeyond(w *world) {
	w.puts(home, "a", "b", "c")
	m := w.bounded(1, 1, "d")
	m.Retire = []driver.Retirement{retire(home, "a", driver.Superseded, "d")}
	w.apply(m)
	m = w.bounded(1, 1, "e")
	m.Retire = []driver.Retirement{retire(home, "b", driver.Merged, "e"), retire(home, "c", driver.Merged, "e")}
	w.apply(m)
	w.apply(driver.Mutation{Erase: located(home, "d"), Limits: m.Limits})
	w.lists(home, "e")
}

func limitedEvents(w *world) {
	for _, tenant := range []string{"globex", "acme2", "ACME"} { // what waits of others does not count
		other := w.event("run-1", "theirs")
		other.Tenant = tenant
		_, err := w.tryApply(tenant, queue(other))
		w.must(err)
	}
	m := queue(w.event("run-1", "one"), w.event("run-2", "two"))
	m.Limits.Waiting = 2
	w.apply(m)
	beyond := queue(w.event("run-1", "three"))
	beyond.Put = w.placed(home, "a")
	beyond.Limits.Waiting = 2
	w.overflows(beyond, driver.ErrBacklog)
	w.purged(home, "a")
	w.waiting(home.Tenant, "run-1", "one")
	w.delivered(m.Events[1])
	w.apply(beyond)
	w.waiting(home.Tenant, "run-1", "one", "three")
}

func limitsOfOthers(w *world) {
	for _, name := range lookalikes {
		w.puts(at(name, "ref"), "x", "y")
	}
	w.puts(at(home.Tenant, "sales"), "x")
	w.uses(1, int64(len(w.entry("x").Content)))
}

func limitsOfExpired(w *world) {
	e := w.entry("short")
	e.ExpiresAt = w.now.Add(time.Minute)
	w.put(home, e)
	w.puts(home, "long")
	w.advance(time.Hour)
	w.uses(2, int64(len(e.Content)+len(w.entry("long").Content)))
	w.purge(home.Tenant, w.version(home.Tenant))
	w.uses(1, int64(len(w.entry("long").Content)))
}

func limitsOfDropped(w *world) {
	w.puts(home, "a", "b", "c")
	w.delete(home, "b", true)
	w.drop(home.Tenant, 1, 20)
	w.uses(0, 0)
}

// raceLimits has two stores race for the last five places of home's tenant.
func (w *world) raceLimits(first, second driver.Transactor) {
	stores := []driver.Transactor{first, second}
	w.puts(home, "a", "b")
	var done atomic.Int64
	w.quietly("sixteen puts race for five places", func() {
		w.parallel(16, func(i int) {
			m := w.bounded(7, 0, fmt.Sprintf("racer%02d", i))
			m.At = w.now
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
	w.uses(2, int64(2*len(w.entry("a").Content)))
}

func sharedLimits(w *world) {
	second, _ := driver.As[driver.Transactor](w.second())
	w.raceLimits(w.tx, second)
}
