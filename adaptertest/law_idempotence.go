package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func idempotenceLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "IDEMPOTENCE", number: "M8", says: "the same entry again is a success that changes nothing; an id is never used for another"}
	l.cases = []testCase{
		{"put-again-lists", "an entry with nil lists and one with empty lists are the same", nil, putAgainLists},
		{"put-again-deleted", "the same entry after a delete is a success, and stays deleted", nil, putAgainDeleted},
	}
	for _, f := range entryFields {
		l.cases = append(l.cases, testCase{"conflict-" + f.name, "an entry that differs in its " + f.name + " is another, and under a used id a conflict that changes nothing", nil,
			func(w *world) { conflictField(w, f.change) }})
	}
	l.cases = append(l.cases, []testCase{
		{"put-again-merged", "the same entry after a merge does not bring it back", tx, putAgainMerged},
	}...)
	return l
}

// entryFields are the ways in which an entry can be another one under the same id.
var entryFields = []struct {
	name   string
	change func(e *driver.Entry)
}{
	{"content", func(e *driver.Entry) { e.Content += " " }},
	{"tags", func(e *driver.Entry) { e.Tags = []string{"t1", "t2"} }},
	{"createdAt", func(e *driver.Entry) { e.CreatedAt = e.CreatedAt.Add(time.Millisecond) }},
	{"expiresAt", func(e *driver.Entry) { e.ExpiresAt = e.ExpiresAt.Add(time.Millisecond) }},
	{"run", func(e *driver.Entry) { e.RunID += "x" }},
	{"subjects", func(e *driver.Entry) { e.Subjects = e.Subjects[:1] }},
	{"sources", func(e *driver.Entry) { e.Sources = nil }},
}

func conflictField(w *world, change func(e *driver.Entry)) {
	e := w.whole("e1")
	w.put(home, e)
	other := e
	change(&other)
	w.mustBe(w.tryPut(home, other), driver.ErrConflict)
	w.get(home, e)
	w.lists(home, "e1")
}

func putAgainLists(w *world) {
	e := w.entry("e1")
	e.Tags, e.Subjects, e.Sources = nil, nil, nil
	w.put(home, e)
	e.Tags, e.Subjects, e.Sources = []string{}, []string{}, []string{}
	w.put(home, e)
	w.lists(home, "e1")
}

func putAgainDeleted(w *world) {
	e := w.entry("e1")
	w.put(home, e)
	w.delete(home, "e1", true)
	w.put(home, e)
	w.lists(home)
	w.absent(home, "e1")
	w.delete(home, "e1", false)
}

func putAgainMerged(w *world) {
	w.puts(home, "old", "new")
	w.apply(retired(retire(home, "old", driver.Merged, "new")))
	w.puts(home, "old")
	w.apply(driver.Mutation{Put: w.placed(home, "old")})
	w.lists(home, "new")
	w.looksUp(home, w.entry("old"), driver.Merged, "new")
}
