package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func idempotenceLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "IDEMPOTENCE", number: "M8", says: "the same entry again is a success that changes nothing; an id is never used for another"}
	l.cases = []testCase{
		{"put-again", "the same entry again is a success that changes nothing", nil, putAgain},
		{"put-again-lists", "an entry with nil lists and one with empty lists are the same", nil, putAgainLists},
		{"put-again-deleted", "the same entry after a delete is a success, and stays deleted", nil, putAgainDeleted},
		{"put-again-expired", "the same entry after its expiry is a success, and does not come back", nil, putAgainExpired},
		{"conflict-deleted", "another entry under a deleted one's id is a conflict", nil, conflictDeleted},
		{"conflict-expired", "another entry under an expired one's id is a conflict", nil, conflictExpired},
	}
	for _, f := range entryFields {
		l.cases = append(l.cases, testCase{"conflict-" + f.name, "an entry that differs in its " + f.name + " is another, and under a used id a conflict that changes nothing", nil,
			func(w *world) { conflictField(w, f.change) }})
	}
	l.cases = append(l.cases, []testCase{
		{"apply-again", "the same entry again in a mutation is a success that changes nothing", tx, applyAgain},
		{"apply-conflict", "another entry under a used id is a conflict in a mutation too", tx, applyConflict},
		{"put-again-merged", "the same entry after a merge does not bring it back", tx, putAgainMerged},
		{"put-again-erased", "nothing can be put under an erased id, the same entry neither", tx, putAgainErased},
		{"erase-again", "erasing what was erased or never there is no conflict", tx, eraseAgain},
		{"event-again", "an event that waits already is not queued twice, and stays as it is", tx, eventAgain},
		{"delivered-again", "delivering again, or what never was there, is no error", tx, deliveredAgain},
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

func putAgain(w *world) {
	e := w.whole("e1")
	w.put(home, e)
	w.puts(home, "e2")
	w.put(home, e)
	w.get(home, e)
	w.lists(home, "e1", "e2")
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

func putAgainExpired(w *world) {
	e := w.mortal("e1", time.Millisecond)
	w.put(home, e)
	w.advance(time.Millisecond)
	w.lists(home)
	w.put(home, e)
	w.lists(home)
}

func conflictDeleted(w *world) {
	w.puts(home, "e1")
	w.delete(home, "e1", true)
	other := w.entry("e1")
	other.Content = "another"
	w.mustBe(w.tryPut(home, other), driver.ErrConflict)
	w.lists(home)
}

func conflictExpired(w *world) {
	w.put(home, w.mortal("e1", time.Millisecond))
	w.advance(time.Millisecond)
	w.lists(home)
	w.mustBe(w.tryPut(home, w.entry("e1")), driver.ErrConflict)
	w.lists(home)
}

func applyAgain(w *world) {
	e := w.whole("e1")
	w.apply(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: e}}})
	docs := w.commits(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: e}}, Documents: acts(driver.Set, note(home, "n", "x")).Documents})
	w.get(home, e)
	w.lists(home, "e1")
	w.holds(docs[0])
}

func applyConflict(w *world) {
	w.puts(home, "e1")
	other := w.entry("e1")
	other.Content = "another"
	w.conflicts(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: other}}})
	w.get(home, w.entry("e1"))
}

func putAgainMerged(w *world) {
	w.puts(home, "old", "new")
	w.apply(retired(retire(home, "old", driver.Merged, "new")))
	w.puts(home, "old")
	w.apply(driver.Mutation{Put: w.placed(home, "old")})
	w.lists(home, "new")
	w.looksUp(home, w.entry("old"), driver.Merged, "new")
}

func putAgainErased(w *world) {
	w.puts(home, "e1")
	w.apply(driver.Mutation{Erase: located(home, "e1")})
	w.mustBe(w.tryPut(home, w.entry("e1")), driver.ErrConflict)
	w.conflicts(driver.Mutation{Put: w.placed(home, "e1")})
	w.lists(home)
}

func eraseAgain(w *world) {
	w.puts(home, "e1", "e2")
	w.apply(driver.Mutation{Erase: located(home, "e1")})
	w.apply(driver.Mutation{Erase: located(home, "e1", "never")})
	w.lists(home, "e2")
	w.stub(home, "e1", driver.Live, "")
	w.purged(home, "never")
}

func eventAgain(w *world) {
	e := w.event("run-1", "ev1")
	w.apply(queue(e, w.event("run-1", "ev2")))
	later := e
	later.Time = e.Time.Add(time.Hour)
	w.apply(queue(later))
	w.waiting(home.Tenant, "run-1", "ev1", "ev2")
	got := w.undelivered(home.Tenant, "run-1")[0]
	w.check(got.Time.Equal(e.Time), describeTime(e.Time), "%s", describeTime(got.Time))
	other := e
	other.Payload = events.WorkspaceUpdated{Path: "another", Version: 9}
	w.conflicts(queue(w.event("run-1", "ev3"), other))
	w.waiting(home.Tenant, "run-1", "ev1", "ev2")
	w.apply(queue(w.event("run-2", "ev1"))) // another run's event of that id is another
	w.waiting(home.Tenant, "run-2", "ev1")
}

func deliveredAgain(w *world) {
	e := w.event("run-1", "ev1")
	w.apply(queue(e, w.event("run-1", "ev2")))
	w.delivered(e)
	w.delivered(e, w.event("run-9", "never"))
	w.waiting(home.Tenant, "run-1", "ev2")
}
