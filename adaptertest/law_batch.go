package adaptertest

import (
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func batchLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "BATCH", number: "M8", says: "a mutation happens whole or not at all"}
	l.cases = []testCase{
		{"whole", "all parts of a mutation take effect", tx, wholeBatch},
		{"heir-condition", "that an entry is heir of exactly some holds for those that were retired in its favour, whatever became of them since", tx, heirCondition},
	}
	for _, f := range failingParts {
		l.cases = append(l.cases, testCase{"fails-at-" + f.name, "if " + f.says + ", nothing of the mutation happens", tx,
			func(w *world) { failInTheMiddle(w, f.part) }})
	}
	l.cases = append(l.cases, []testCase{
		{"racing-put", "a batch that loses a race for an id leaves nothing behind", tx, racingBatches},
		{"racing-merges", "of merges that race for an entry exactly one happens", tx, racingMerges},
		{"racing-heirs", "of mutations that race to be the first for whose entry another is retired exactly one happens", tx, racingHeirs},
		{"readers-see-whole", "a reader sees all of a mutation or nothing of it", tx, readersSeeWhole},
		{"versions-see-whole", "a version that was read while writers of its tenant were at work shows the same ever after", []Offer{Transactor, Versioned}, versionsSeeWhole},
	}...)
	return l
}

// failingParts are parts that make a mutation fail in the world that
// failInTheMiddle prepares.
var failingParts = []struct {
	name, says string
	part       func(w *world, m *driver.Mutation)
}{
	{"live", "an entry that must be live is not", func(w *world, m *driver.Mutation) {
		m.Live = append(m.Live, located(home, "deleted")...)
	}},
	{"put", "another entry has an id that it puts", func(w *world, m *driver.Mutation) {
		e := w.entry("taken")
		e.Content = "another"
		m.Put = append(m.Put, driver.Placed{Scope: home, Entry: e})
	}},
	{"retire", "an entry that it retires is not live", func(w *world, m *driver.Mutation) {
		m.Retire = append(m.Retire, retire(home, "deleted", driver.Deleted, ""))
	}},
	{"successor", "a successor is not live", func(w *world, m *driver.Mutation) {
		m.Retire = append(m.Retire, retire(home, "taken", driver.Merged, "deleted"))
	}},
	{"restore", "an entry that it restores was deleted", func(w *world, m *driver.Mutation) {
		m.Restore = append(m.Restore, located(home, "deleted")...)
	}},
	{"document", "a document is not as a swap expects it", func(w *world, m *driver.Mutation) {
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: note(home, "note", "new")})
	}},
	{"event", "an event of another payload waits under the id of one that it announces", func(w *world, m *driver.Mutation) {
		other := w.event("run-1", "waiting")
		other.Payload = events.MemoryWritten{MemoryRef: home.Ref, MemoryID: "another"}
		m.Events = append(m.Events, other)
	}},
}

// failInTheMiddle applies a mutation with something of every kind, in several
// scopes, of which one part fails.
func failInTheMiddle(w *world, part func(w *world, m *driver.Mutation)) {
	sales := at(home.Tenant, "sales")
	w.puts(home, "a", "b", "c", "taken", "deleted")
	w.puts(sales, "a")
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "c", driver.Merged, "b")))
	w.apply(driver.Mutation{Events: []events.Record{w.event("run-1", "waiting")}})
	old := w.set(note(home, "note", "old"))
	m := driver.Mutation{
		Live:    located(home, "a"),
		Put:     append(w.placed(home, "new"), w.placed(sales, "new")...),
		Retire:  []driver.Retirement{retire(home, "a", driver.Superseded, "new")},
		Restore: located(home, "c"),
		Erase:   located(sales, "a"),
		Events:  []events.Record{w.event("run-1", "ev1")},
	}
	m.Documents = acts(driver.Set, note(sales, "note", "new"), digest(home, "d", "b")).Documents
	part(w, &m)
	w.conflicts(m)
	w.lists(home, "taken", "b", "a")
	w.lists(sales, "a")
	w.looksUp(home, w.entry("a"), driver.Live, "")
	w.looksUp(home, w.entry("c"), driver.Merged, "b")
	w.purged(home, "new")
	w.holds(old)
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}, "support/note/note")
	w.waiting(home.Tenant, "run-1", "waiting")
}

func wholeBatch(w *world) {
	sales := at(home.Tenant, "sales")
	w.puts(home, "a", "b", "c")
	w.puts(sales, "secret")
	w.apply(retired(retire(home, "c", driver.Merged, "b")))
	docs := w.commits(driver.Mutation{
		Live:      located(home, "b"),
		Put:       append(w.placed(home, "new"), w.placed(sales, "new")...),
		Retire:    []driver.Retirement{retire(home, "a", driver.Superseded, "new")},
		Restore:   located(home, "c"),
		Erase:     located(sales, "secret"),
		Events:    []events.Record{w.event("run-1", "ev1"), w.event("run-1", "ev2")},
		Documents: acts(driver.Set, note(home, "n", "x"), note(sales, "n", "y"), digest(home, "d", "new"), file(at(home.Tenant, ""), "f")).Documents,
	})
	w.lists(home, "new", "c", "b")
	w.lists(sales, "new")
	w.looksUp(home, w.entry("a"), driver.Superseded, "new")
	w.looksUp(home, w.entry("c"), driver.Live, "")
	w.stub(sales, "secret", driver.Live, "")
	for _, d := range docs {
		w.holds(d)
	}
	w.waiting(home.Tenant, "run-1", "ev1", "ev2")
}

func heirCondition(w *world) {
	w.puts(home, "h", "m", "s", "x", "r", "other", "d")
	w.puts(at(home.Tenant, "sales"), "h", "m")
	w.apply(retired(retire(at(home.Tenant, "sales"), "m", driver.Merged, "h")))
	expects := func(of ...string) driver.Mutation {
		return driver.Mutation{MergedInto: map[driver.Located][]string{{Scope: home, ID: "h"}: of}, Live: located(home, "h")}
	}
	w.apply(expects())
	w.apply(retired(retire(home, "m", driver.Merged, "h"), retire(home, "s", driver.Superseded, "h"), retire(home, "x", driver.Merged, "h"),
		retire(home, "r", driver.Merged, "h"), retire(home, "d", driver.Deleted, "")))
	w.apply(driver.Mutation{Erase: located(home, "x")})
	w.conflicts(expects())
	w.conflicts(expects("m", "s", "r"))
	w.conflicts(expects("m", "s", "x", "r", "other"))
	w.conflicts(expects("m", "s", "x", "other"))
	for _, of := range [][]string{{"m", "s", "x"}, nil} { // what erases the heir, and another entry too, may not miss any
		m := driver.Mutation{MergedInto: expects(of...).MergedInto, Erase: located(home, "h", "other")}
		w.conflicts(m)
	}
	w.apply(expects("m", "s", "x", "r"))
	w.apply(driver.Mutation{Restore: located(home, "r")})
	w.conflicts(expects("m", "s", "x", "r"))
	w.apply(expects("x", "s", "m"))
	m := expects("x", "s", "m")
	m.Retire = []driver.Retirement{retire(home, "other", driver.Merged, "h")}
	w.apply(m)
	w.apply(expects("m", "other", "s", "x"))
}
