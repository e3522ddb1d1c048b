package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func durableLaw() law {
	l := law{name: "DURABLE", number: "M7, M8", says: "a store that is opened again has everything that it had, and processes that share it see each other's writes"}
	l.cases = []testCase{
		{"entries", "entries outlive the store that wrote them", []Offer{Durable}, durableEntries},
		{"deletions", "deletions outlive the store that made them", []Offer{Durable}, durableDeletions},
		{"ids", "ids stay used", []Offer{Durable}, durableIDs},
		{"records", "states, successors and stubs outlive the store", []Offer{Transactor, Durable}, durableRecords},
		{"documents", "documents outlive the store, and no revision is used again", []Offer{Transactor, Durable}, durableDocuments},
		{"due", "what is due is found by the store that is opened next", []Offer{Transactor, Scheduler, Durable}, durableDue},
		{"changes", "what has changed is known to the store that is opened next", []Offer{Transactor, Versioned, Changes, Durable}, durableChanges},
		{"events", "undelivered events outlive the store, in their order", []Offer{Transactor, Durable}, durableEvents},
		{"versions", "a version can be read by the store that is opened next", []Offer{Transactor, Versioned, Durable}, durableVersions},
		{"shared-writes", "each of two open stores sees the other's writes at once", []Offer{Shared}, sharedWrites},
		{"shared-ids", "of puts by two open stores that race for an id one wins", []Offer{Shared}, sharedIDs},
		{"shared-documents", "each of two open stores sees the other's documents at once, and their revisions ascend in common", []Offer{Transactor, Shared}, sharedDocuments},
		{"shared-swaps", "of swaps by two open stores that race one succeeds", []Offer{Transactor, Shared}, sharedSwaps},
		{"shared-versions", "a version taken by one open store is held by the other", []Offer{Transactor, Versioned, Shared}, sharedVersions},
	}
	return l
}

func durableEntries(w *world) {
	e := w.whole("whole")
	w.put(home, e)
	w.puts(home, "a", "b")
	w.puts(at("globex", "support"), "c")
	w.reopen()
	w.get(home, e)
	w.lists(home, "whole", "b", "a")
	w.lists(at("globex", "support"), "c")
	w.puts(home, "after")
	w.reopen()
	w.get(home, w.entry("after"))
}

func durableDeletions(w *world) {
	w.puts(home, "a", "b")
	w.delete(home, "a", true)
	w.reopen()
	w.lists(home, "b")
	w.delete(home, "a", false)
}

func durableIDs(w *world) {
	w.puts(home, "a", "gone")
	w.delete(home, "gone", true)
	w.reopen()
	for _, id := range []string{"a", "gone"} {
		w.puts(home, id)
		other := w.entry(id)
		other.Content = "another"
		w.mustBe(w.tryPut(home, other), driver.ErrConflict)
	}
	w.lists(home, "a")
}

func durableRecords(w *world) {
	w.puts(home, "new", "m", "s", "d", "x")
	w.apply(retired(retire(home, "m", driver.Merged, "new"), retire(home, "s", driver.Superseded, "new"), retire(home, "d", driver.Deleted, "")))
	w.apply(driver.Mutation{Erase: located(home, "x")})
	w.reopen()
	w.looksUp(home, w.entry("m"), driver.Merged, "new")
	w.looksUp(home, w.entry("s"), driver.Superseded, "new")
	w.looksUp(home, w.entry("d"), driver.Deleted, "")
	w.stub(home, "x", driver.Live, "")
	w.remembers(home.Tenant, driver.HistoryQuery{Ref: home.Ref, For: []string{"new"}}, "m", "s")
	w.apply(driver.Mutation{Restore: located(home, "m")})
	w.lists(home, "new", "m")
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

func durableDue(w *world) {
	soon := w.set(timer(home, "b", w.now))
	w.set(timer(at("globex", "support"), "a", w.now.Add(time.Hour)))
	w.reopen()
	w.isDue("timer", 10, "acme support/timer/b")
	w.removes(soon)
	w.reopen()
	w.advance(time.Hour)
	w.isDue("timer", 10, "globex support/timer/a")
}

func durableChanges(w *world) {
	w.puts(home, "a")
	from := w.version(home.Tenant)
	w.puts(home, "b")
	w.delete(home, "a", true)
	to := w.version(home.Tenant)
	w.reopen()
	w.changed(home, from, to, driver.ChangeSet{Put: []string{"b"}, Retired: []string{"a"}})
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
