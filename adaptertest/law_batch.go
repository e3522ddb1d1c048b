package adaptertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func batchLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "BATCH", number: "M8", says: "a mutation happens whole or not at all"}
	l.cases = []testCase{
		{"whole", "all parts of a mutation take effect", tx, wholeBatch},
		{"retired", "a retired entry is in no list, and its record says what became of it", tx, retiredEntries},
		{"retired-is-final", "a retired entry is not live to any condition, and cannot be deleted", tx, retiredIsFinal},
		{"retire-for-new", "entries can be retired in favour of one that the same mutation puts", tx, retireForNew},
		{"retire-new", "an entry can be put and retired by one mutation", tx, retireNew},
		{"restored", "a restored entry is back with its id, its createdAt and its place", tx, restoredEntry},
		{"restore-condition", "only merged and superseded entries can be restored", tx, restoreCondition},
		{"successor-condition", "the successor must be live", tx, successorCondition},
		{"cells", "a cell changes only from what the swap expects", tx, swapCells},
		{"cell-values", "cells hold bytes: an empty value is a value, and none is none", tx, cellValues},
		{"history", "history yields every record, whatever its state, as each query asks", tx, historyQueries},
		{"history-many", "history yields more than a page", tx, historyMany},
		{"history-while-changing", "a history loop may change the store, and yields every record that stays, once", tx, historyWhileChanging},
		{"history-stops", "a history loop may stop early", tx, historyStops},
	}
	for _, f := range failingParts {
		l.cases = append(l.cases, testCase{"fails-at-" + f.name, "if " + f.says + ", nothing of the mutation happens", tx,
			func(w *world) { failInTheMiddle(w, f.part) }})
	}
	l.cases = append(l.cases, []testCase{
		{"racing-put", "a batch that loses a race for an id leaves nothing behind", tx, racingBatches},
		{"racing-merges", "of merges that race for an entry exactly one happens", tx, racingMerges},
		{"racing-swaps", "of swaps that race exactly one succeeds", tx, racingSwaps},
		{"readers-see-whole", "a reader sees all of a mutation or nothing of it", tx, readersSeeWhole},
	}...)
	return l
}

// failingParts are parts that make a mutation fail in the world that
// failInTheMiddle prepares.
var failingParts = []struct {
	name, says string
	part       func(w *world, m *memory.Mutation)
}{
	{"live", "an entry that must be live is not", func(w *world, m *memory.Mutation) {
		m.Live = append(m.Live, located(home, "deleted")...)
	}},
	{"put", "another entry has an id that it puts", func(w *world, m *memory.Mutation) {
		e := w.entry("taken")
		e.Content = "another"
		m.Put = append(m.Put, memory.Placed{Scope: home, Entry: e})
	}},
	{"retire", "an entry that it retires is not live", func(w *world, m *memory.Mutation) {
		m.Retire = append(m.Retire, retire(home, "deleted", memory.Deleted, ""))
	}},
	{"successor", "a successor is not live", func(w *world, m *memory.Mutation) {
		m.Retire = append(m.Retire, retire(home, "taken", memory.Merged, "deleted"))
	}},
	{"restore", "an entry that it restores was deleted", func(w *world, m *memory.Mutation) {
		m.Restore = append(m.Restore, located(home, "deleted")...)
	}},
	{"cell", "a cell does not hold what a swap expects", func(w *world, m *memory.Mutation) {
		m.Cells = append(m.Cells, swap(home, "cell", "wrong", "new"))
	}},
}

// failInTheMiddle applies a mutation with something of every kind, in several
// scopes, of which one part fails.
func failInTheMiddle(w *world, part func(w *world, m *memory.Mutation)) {
	sales := at(home.Tenant, "sales")
	w.puts(home, "a", "b", "c", "taken", "deleted")
	w.puts(sales, "a")
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "c", memory.Merged, "b")))
	w.apply(memory.Mutation{Cells: []memory.CellSwap{swap(home, "cell", "", "old")}})
	m := memory.Mutation{
		Live:    located(home, "a"),
		Put:     append(w.placed(home, "new"), w.placed(sales, "new")...),
		Retire:  []memory.Retirement{retire(home, "a", memory.Superseded, "new")},
		Restore: located(home, "c"),
		Erase:   located(sales, "a"),
		Cells:   []memory.CellSwap{swap(sales, "cell", "", "new")},
		Events:  []events.Record{w.event("run-1", "ev1")},
	}
	part(w, &m)
	w.conflicts(m)
	w.lists(home, "taken", "b", "a")
	w.lists(sales, "a")
	w.looksUp(home, w.entry("a"), memory.Live, "")
	w.looksUp(home, w.entry("c"), memory.Merged, "b")
	w.purged(home, "new")
	w.holds(home, "cell", []byte("old"))
	w.holds(sales, "cell", nil)
	w.waiting(home.Tenant, "run-1")
}

func wholeBatch(w *world) {
	sales := at(home.Tenant, "sales")
	w.puts(home, "a", "b", "c")
	w.puts(sales, "secret")
	w.apply(retired(retire(home, "c", memory.Merged, "b")))
	w.apply(memory.Mutation{
		Live:    located(home, "b"),
		Put:     append(w.placed(home, "new"), w.placed(sales, "new")...),
		Retire:  []memory.Retirement{retire(home, "a", memory.Superseded, "new")},
		Restore: located(home, "c"),
		Erase:   located(sales, "secret"),
		Cells:   []memory.CellSwap{swap(home, "cell", "", "x"), swap(sales, "cell", "", "y")},
		Events:  []events.Record{w.event("run-1", "ev1"), w.event("run-1", "ev2")},
	})
	w.lists(home, "new", "c", "b")
	w.lists(sales, "new")
	w.looksUp(home, w.entry("a"), memory.Superseded, "new")
	w.looksUp(home, w.entry("c"), memory.Live, "")
	w.stub(sales, "secret", memory.Live, "")
	w.holds(home, "cell", []byte("x"))
	w.holds(sales, "cell", []byte("y"))
	w.waiting(home.Tenant, "run-1", "ev1", "ev2")
}

func retiredEntries(w *world) {
	w.puts(home, "new")
	for _, x := range []memory.Retirement{
		retire(home, "m", memory.Merged, "new"), retire(home, "s", memory.Superseded, "new"), retire(home, "d", memory.Deleted, ""),
	} {
		e := w.whole(x.ID)
		w.put(home, e)
		w.apply(retired(x))
		w.looksUp(home, e, x.State, x.For)
		w.absent(home, x.ID)
		w.lists(home, "new")
	}
}

func retiredIsFinal(w *world) {
	w.puts(home, "new", "old")
	w.apply(retired(retire(home, "old", memory.Merged, "new")))
	w.conflicts(memory.Mutation{Live: located(home, "old")})
	w.conflicts(retired(retire(home, "old", memory.Deleted, "")))
	w.delete(home, "old", false)
	w.looksUp(home, w.entry("old"), memory.Merged, "new")
}

func retireForNew(w *world) {
	w.puts(home, "a", "b")
	m := retired(retire(home, "a", memory.Merged, "new"), retire(home, "b", memory.Merged, "new"))
	m.Put = w.placed(home, "new")
	w.apply(m)
	w.lists(home, "new")
	w.looksUp(home, w.entry("a"), memory.Merged, "new")
}

func retireNew(w *world) {
	m := retired(retire(home, "new", memory.Deleted, ""))
	m.Put = w.placed(home, "new")
	w.apply(m)
	w.lists(home)
	w.looksUp(home, w.entry("new"), memory.Deleted, "")
}

func restoredEntry(w *world) {
	all := w.putMany(home, 5, nil)
	middle := all[2]
	for _, state := range []memory.State{memory.Merged, memory.Superseded} {
		w.apply(retired(retire(home, middle, state, all[0])))
		w.sameIDs(w.list(home, memory.Query{At: w.now}), []string{all[0], all[1], all[3], all[4]})
		w.apply(memory.Mutation{Restore: located(home, middle)})
		w.sameIDs(w.list(home, memory.Query{At: w.now}), all)
		rec, err := w.tryLookup(home, middle)
		w.must(err)
		w.check(rec.State == memory.Live && rec.For == "", "a live record without a successor", "%s", describeRecord(&rec))
		w.remembers(home.Tenant, memory.HistoryQuery{Ref: home.Ref, For: all[0]})
	}
	w.apply(retired(retire(home, middle, memory.Deleted, "")))
}

func restoreCondition(w *world) {
	w.puts(home, "live", "deleted", "merged")
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "merged", memory.Merged, "live")))
	w.apply(memory.Mutation{Erase: located(home, "merged")})
	for _, id := range []string{"live", "deleted", "never", "merged"} {
		w.conflicts(memory.Mutation{Restore: located(home, id)})
	}
	w.lists(home, "live")
}

func successorCondition(w *world) {
	w.puts(home, "a", "live", "deleted", "merged")
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "merged", memory.Merged, "live")))
	for _, successor := range []string{"never", "deleted", "merged"} {
		w.conflicts(retired(retire(home, "a", memory.Superseded, successor)))
	}
	w.lists(home, "live", "a")
}

func swapCells(w *world) {
	cells := func(c ...memory.CellSwap) memory.Mutation { return memory.Mutation{Cells: c} }
	w.holds(home, "c", nil)
	w.conflicts(cells(swap(home, "c", "x", "y")))
	w.apply(cells(swap(home, "c", "", "x")))
	w.conflicts(cells(swap(home, "c", "", "y")))
	w.conflicts(cells(swap(home, "c", "X", "y")))
	w.apply(cells(swap(home, "c", "x", "y")))
	w.holds(home, "c", []byte("y"))
	w.holds(home, "C", nil)
	w.apply(cells(swap(home, "c", "y", "")))
	w.holds(home, "c", nil)
	w.apply(cells(swap(home, "c", "", "z")))
	w.holds(home, "c", []byte("z"))
}

func cellValues(w *world) {
	var old []byte
	for _, value := range [][]byte{{}, []byte("\x00\xff\x00"), []byte(strings.Repeat("v", 1<<16)), {}, nil} {
		w.apply(memory.Mutation{Cells: []memory.CellSwap{{Scope: home, Name: "c", Old: old, New: value}}})
		w.holds(home, "c", value)
		old = value
	}
	w.conflicts(memory.Mutation{Cells: []memory.CellSwap{{Scope: home, Name: "c", Old: []byte{}, New: []byte("x")}}})
}

func historyQueries(w *world) {
	put := func(id string, subjects ...string) {
		e := w.entry(id)
		e.Subjects = subjects
		w.put(home, e)
	}
	put("live", "customer:1", "customer:2")
	put("deleted", "customer:1")
	put("merged", "customer:11")
	put("superseded", "customer:1")
	put("erased", "customer:1")
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "merged", memory.Merged, "live"), retire(home, "superseded", memory.Superseded, "live")))
	w.apply(memory.Mutation{Erase: located(home, "erased")})
	w.puts(at(home.Tenant, "sales"), "elsewhere")

	tenant, ref := home.Tenant, home.Ref
	w.remembers(tenant, memory.HistoryQuery{}, "live", "deleted", "merged", "superseded", "erased", "elsewhere")
	w.remembers(tenant, memory.HistoryQuery{Ref: ref}, "live", "deleted", "merged", "superseded", "erased")
	w.remembers(tenant, memory.HistoryQuery{Subject: "customer:1"}, "live", "deleted", "superseded")
	w.remembers(tenant, memory.HistoryQuery{Subject: "customer:2"}, "live")
	w.remembers(tenant, memory.HistoryQuery{Ref: ref, For: "live"}, "merged", "superseded")
	w.remembers(tenant, memory.HistoryQuery{Ref: ref, For: "live", Subject: "customer:1"}, "superseded")
	w.remembers(tenant, memory.HistoryQuery{Ref: ref, For: "merged"})
	for _, rec := range w.history(tenant, memory.HistoryQuery{Ref: ref, For: "live", Subject: "customer:1"}) {
		want := w.entry("superseded")
		want.Subjects = []string{"customer:1"}
		w.sameRecord(rec, memory.Record{Scope: home, Entry: want, State: memory.Superseded, For: "live"})
	}
}

func historyMany(w *world) {
	all := w.putMany(home, 1100, func(i int, e *memory.Entry) { e.Subjects = []string{"customer:1"} })
	w.remembers(home.Tenant, memory.HistoryQuery{Subject: "customer:1"}, slices.Clone(all)...)
	w.remembers(home.Tenant, memory.HistoryQuery{Ref: home.Ref}, all...)
}

func historyWhileChanging(w *world) {
	all := w.putMany(home, 300, nil)
	seen := map[string]bool{}
	w.quietly("read the history, and in its loop delete an entry, put another and look one up", func() {
		i := 0
		for rec, err := range w.tx.History(w.ctx, home.Tenant, memory.HistoryQuery{Ref: home.Ref}) {
			w.must(err)
			w.check(i < 10*len(all), "an end", "more than %d records", 10*len(all))
			w.check(!seen[rec.Entry.ID], "every record once", "%q again", rec.Entry.ID)
			seen[rec.Entry.ID] = true
			if i < 100 {
				w.delete(home, all[i], true)
				w.puts(home, fmt.Sprint("new", i))
				w.get(home, w.entry(fmt.Sprint("new", i)))
			}
			i++
		}
	})
	for _, id := range all {
		w.check(seen[id], "every record that was there", "all but %q", id)
	}
}

func historyStops(w *world) {
	w.putMany(home, 10, nil)
	w.quietly("stop reading the history at the third record", func() {
		n := 0
		for _, err := range w.tx.History(w.ctx, home.Tenant, memory.HistoryQuery{}) {
			w.must(err)
			if n++; n == 3 {
				break
			}
		}
	})
	w.puts(home, "after") // nothing is locked
}
