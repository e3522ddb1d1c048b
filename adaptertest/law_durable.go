package adaptertest

import (
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func durableLaw() law {
	l := law{name: "DURABLE", number: "M7, M8", says: "a store that is opened again has everything that it had, and processes that share it see each other's writes"}
	sequences := func(w *world) int { return w.size(4, 8, 60) }
	l.cases = []testCase{
		{"reopened", "whatever was done is there in a store that is closed and opened again, now and then", []Offer{Durable}, func(w *world) {
			w.explore(sequences(w), w.reopen)
		}},
		{"killed", "whatever was acknowledged is there in a store whose process is killed, now and then", []Offer{Killed}, func(w *world) {
			w.explore(sequences(w), w.crash)
		}},
		{"ids", "ids stay used", []Offer{Durable}, durableIDs},
		{"documents", "documents outlive the store, and no revision is used again", []Offer{Transactor, Durable}, durableDocuments},
		{"events", "undelivered events outlive the store, in their order, and later ones queue behind them", []Offer{Transactor, Durable}, durableEvents},
		{"versions", "a version can be read by the store that is opened next", []Offer{Transactor, Versioned, Durable}, durableVersions},
		{"shared", "whatever one of two open stores has done the other one shows at once", []Offer{Shared}, func(w *world) {
			var handles []driver.Adapter
			w.explore(sequences(w), func() {
				closed := func(s driver.Adapter) bool {
					return !slices.ContainsFunc(w.opened, func(o driver.Adapter) bool { return same(s, o) })
				}
				if len(handles) == 0 || slices.ContainsFunc(handles, closed) {
					handles = []driver.Adapter{w.store, w.second()}
				}
				slices.Reverse(handles)
				w.did("go on with the other handle")
				w.use(handles[0])
			})
		}},
		{"shared-again", "whatever one of two open stores has read before, it reads what the other one has made of it", []Offer{Shared}, func(w *world) {
			sweepAgain(w, func() []driver.Adapter { return []driver.Adapter{w.store, w.second()} })
		}},
		{"limits", "what was written before a store was opened counts towards its limits", []Offer{Transactor, Durable}, durableLimits},
		{"shared-writes", "each of two open stores sees the other's writes at once", []Offer{Shared}, sharedWrites},
		{"shared-ids", "of puts by two open stores that race for an id one wins", []Offer{Shared}, sharedIDs},
		{"shared-documents", "each of two open stores sees the other's documents at once, and their revisions ascend in common", []Offer{Transactor, Shared}, sharedDocuments},
		{"shared-swaps", "of swaps by two open stores that race one succeeds", []Offer{Transactor, Shared}, sharedSwaps},
		{"shared-limits", "two open stores that race for what is left of a limit do not go beyond it", []Offer{Transactor, Shared}, sharedLimits},
		{"shared-versions", "a version taken by one open store is held by the other", []Offer{Transactor, Versioned, Shared}, sharedVersions},
	}
	return l
}

func durableIDs(w *world) {
	w.puts(home, "a", "gone")
	w.delete(home, "gone", true)
	w.reopen()
	w.delete(home, "gone", false)
	for _, id := range []string{"a", "gone"} {
		w.puts(home, id)
		other := w.entry(id)
		other.Content = "another"
		w.mustBe(w.tryPut(home, other), driver.ErrConflict)
	}
	w.lists(home, "a")
}

func durableDocuments(w *world) {
	w.puts(home, "a", "b")
	kept := w.sets(note(home, "n", "x"), note(at(home.Tenant, ""), "n", "\x00y"), digest(home, "d", "a"), file(home, "f", "customer:1"), timer(home, "t", w.now))
	gone := w.sets(note(home, "gone", "z"), digest(home, "e", "b"))
	w.removes(gone[0])
	w.apply(driver.Mutation{Erase: located(home, "b")})
	w.reopen()
	for _, d := range kept {
		w.holds(d)
	}
	w.lacks(gone[0])
	w.lacks(gone[1])
	anew := w.set(note(home, "gone", "z"))
	w.check(anew.Rev > gone[1].Rev, fmt.Sprintf("a revision above %d", gone[1].Rev), "%d", anew.Rev)
	w.apply(driver.Mutation{Erase: located(home, "a")})
	w.lacks(kept[2])
	w.set(kept[0])
}

func sharedDocuments(w *world) {
	first, second := w.store, w.second()
	d := note(home, "n", "")
	for i := range 4 {
		w.did("from here on by the other store")
		w.use(second)
		d.Value = []byte(fmt.Sprint(i))
		d = w.set(d)
		w.did("from here on by the first store")
		w.use(first)
		w.holds(d)
		first, second = second, first
	}
}

func durableEvents(w *world) {
	one, two, three := w.event("run-1", "c"), w.event("run-1", "b"), w.event("run-1", "a")
	w.apply(driver.Mutation{Events: []events.Record{one, two}})
	w.apply(driver.Mutation{Events: []events.Record{three}})
	w.delivered(two)
	w.reopen()
	w.waiting(home.Tenant, "run-1", "c", "a")
	w.apply(queue(w.event("run-1", "0")))
	w.waiting(home.Tenant, "run-1", "c", "a", "0")
}

func durableVersions(w *world) {
	w.puts(home, "a", "b")
	before := w.version(home.Tenant)
	w.delete(home, "a", true)
	after := w.version(home.Tenant)
	w.reopen()
	w.listsAt(home, before, "b", "a")
	w.listsAt(home, after, "b")
	w.puts(home, "c")
	w.listsAt(home, before, "b", "a")
	w.apply(driver.Mutation{Erase: located(home, "a")})
	w.reopen()
	w.listsAt(home, before, "b")
	w.intact(home, before, false)
	w.intact(home, after, true)
	w.purge(home.Tenant, after)
	w.reopen()
	w.refused(home, before)
}

func sharedWrites(w *world) {
	first, second := w.store, w.second()
	for i := range 4 {
		id := fmt.Sprint("e", i)
		w.use(first)
		w.puts(home, id)
		w.did("from here on by the other store")
		w.use(second)
		w.get(home, w.entry(id))
		w.lists(home, id)
		w.delete(home, id, true)
		w.did("from here on by the first store")
		w.use(first)
		w.lists(home)
		w.absent(home, id)
		first, second = second, first
	}
}

func sharedIDs(w *world) { w.racePuts(w.store, w.second()) }

func sharedSwaps(w *world) {
	second, _ := driver.As[driver.Transactor](w.second())
	stores := []driver.Transactor{w.tx, second}
	for round := range 5 {
		d := note(home, fmt.Sprint("lease", round), "")
		w.oneWins(8, fmt.Sprintf("eight callers, four by each store, set the document %q at once", d.Key), func(i int) error {
			mine := d
			mine.Value = []byte(fmt.Sprint("owner ", i))
			_, err := stores[i%2].Apply(w.ctx, home.Tenant, acts(driver.Set, mine))
			return err
		})
	}
}

func sharedVersions(w *world) {
	w.puts(home, "a", "b")
	v := w.version(home.Tenant)
	w.use(w.second())
	w.listsAt(home, v, "b", "a")
	w.delete(home, "a", true)
	w.puts(home, "c")
	w.listsAt(home, v, "b", "a")
}
