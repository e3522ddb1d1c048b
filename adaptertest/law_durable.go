package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func durableLaw() law {
	l := law{name: "DURABLE", number: "M7, M8", says: "a store that is opened again has everything that it had, and processes that share it see each other's writes"}
	l.cases = []testCase{
		{"entries", "entries outlive the store that wrote them", []Offer{Durable}, durableEntries},
		{"deletions", "deletions outlive the store that made them", []Offer{Durable}, durableDeletions},
		{"ids", "ids stay used", []Offer{Durable}, durableIDs},
		{"records", "states, successors and stubs outlive the store", []Offer{Transactor, Durable}, durableRecords},
		{"cells", "cells outlive the store", []Offer{Transactor, Durable}, durableCells},
		{"events", "undelivered events outlive the store, in their order", []Offer{Transactor, Durable}, durableEvents},
		{"versions", "a version can be read by the store that is opened next", []Offer{Transactor, Versioned, Durable}, durableVersions},
		{"shared-writes", "each of two open stores sees the other's writes at once", []Offer{Shared}, sharedWrites},
		{"shared-ids", "of puts by two open stores that race for an id one wins", []Offer{Shared}, sharedIDs},
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
		w.mustBe(w.tryPut(home, other), memory.ErrConflict)
	}
	w.lists(home, "a")
}

func durableRecords(w *world) {
	w.puts(home, "new", "m", "s", "d", "x")
	w.apply(retired(retire(home, "m", memory.Merged, "new"), retire(home, "s", memory.Superseded, "new"), retire(home, "d", memory.Deleted, "")))
	w.apply(memory.Mutation{Erase: located(home, "x")})
	w.reopen()
	w.looksUp(home, w.entry("m"), memory.Merged, "new")
	w.looksUp(home, w.entry("s"), memory.Superseded, "new")
	w.looksUp(home, w.entry("d"), memory.Deleted, "")
	w.stub(home, "x", memory.Live, "")
	w.remembers(home.Tenant, memory.HistoryQuery{Ref: home.Ref, For: "new"}, "m", "s")
	w.apply(memory.Mutation{Restore: located(home, "m")})
	w.lists(home, "new", "m")
}

func durableCells(w *world) {
	w.apply(memory.Mutation{Cells: []memory.CellSwap{swap(home, "c", "", "x"), swap(home, "gone", "", "y")}})
	w.apply(memory.Mutation{Cells: []memory.CellSwap{swap(home, "gone", "y", "")}})
	w.reopen()
	w.holds(home, "c", []byte("x"))
	w.holds(home, "gone", nil)
	w.apply(memory.Mutation{Cells: []memory.CellSwap{swap(home, "c", "x", "z")}})
}

func durableEvents(w *world) {
	one, two, three := w.event("run-1", "c"), w.event("run-1", "b"), w.event("run-1", "a")
	w.apply(memory.Mutation{Events: []events.Record{one, two}})
	w.apply(memory.Mutation{Events: []events.Record{three}})
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
	w.apply(memory.Mutation{Erase: located(home, "a")})
	w.reopen()
	w.listsAt(home, before, "b")
	w.intact(home.Tenant, before, false)
	w.intact(home.Tenant, after, true)
	w.purge(home.Tenant, after)
	w.reopen()
	w.refused(before)
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

func sharedIDs(w *world) {
	stores := []memory.Adapter{w.store, w.second()}
	for round := range 5 {
		id := fmt.Sprint("e", round)
		var won atomic.Int64
		w.quietly(fmt.Sprintf("eight writers, four by each store, put different entries under %q at once", id), func() {
			w.parallel(8, func(i int) {
				e := w.entry(id)
				e.Content = fmt.Sprint("of writer ", i)
				if err := stores[i%2].Put(w.ctx, home, e); err == nil {
					won.Add(1)
				} else if !errors.Is(err, memory.ErrConflict) {
					w.must(err)
				}
			})
		})
		w.check(won.Load() == 1, "one success, and a conflict for the others", "%d successes", won.Load())
	}
}

func sharedSwaps(w *world) {
	second := w.second()
	tx, _ := memory.As[memory.Transactor](second)
	stores := []memory.Transactor{w.tx, tx}
	for round := range 5 {
		name := fmt.Sprint("lease", round)
		var won atomic.Int64
		w.quietly(fmt.Sprintf("eight callers, four by each store, set the cell %q at once", name), func() {
			w.parallel(8, func(i int) {
				_, err := stores[i%2].Apply(w.ctx, home.Tenant, memory.Mutation{At: w.now, Cells: []memory.CellSwap{swap(home, name, "", fmt.Sprint("owner ", i))}})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, memory.ErrConflict) {
					w.must(err)
				}
			})
		})
		w.check(won.Load() == 1, "one success, and a conflict for the others", "%d successes", won.Load())
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
