package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// What is put, applied, erased, queued or delivered again is also in the sequences of
// steps.
func idempotenceLaw() law {
	return law{name: "IDEMPOTENCE", number: "M8", says: "the same entry again is a success that changes nothing; an id is never used for another", cases: []testCase{
		{"put-again-deleted", "the same entry after a delete is a success, and stays deleted", nil, putAgainDeleted},
		{"conflict", "an entry that differs in any field is another, and under a used id a conflict that changes nothing", nil, conflictFields},
	}}
}

// whole is an entry with something in every field.
func (w *world) whole(id string) driver.Entry {
	return driver.Entry{
		ID: id, Content: "text of\n" + id, Tags: []string{"t2", "t1"}, CreatedAt: w.now.Add(7 * time.Millisecond), ExpiresAt: w.now.Add(time.Hour),
		RunID: "run 7", Subjects: []string{"customer:2", "customer:1"}, Sources: []string{"s2", "s1"},
	}
}

// otherEntries are the ways in which an entry can be another one under the same id.
var otherEntries = []func(e *driver.Entry){
	func(e *driver.Entry) { e.Content += " " },
	func(e *driver.Entry) { e.Tags = []string{"t1", "t2"} },
	func(e *driver.Entry) { e.Tags = []string{"t2", "t1", "t1"} },
	func(e *driver.Entry) { e.CreatedAt = e.CreatedAt.Add(time.Millisecond) },
	func(e *driver.Entry) { e.ExpiresAt = e.ExpiresAt.Add(time.Millisecond) },
	func(e *driver.Entry) { e.ExpiresAt = time.Time{} },
	func(e *driver.Entry) { e.RunID += "x" },
	func(e *driver.Entry) { e.Subjects = e.Subjects[:1] },
	func(e *driver.Entry) { e.Sources = nil },
}

func conflictFields(w *world) {
	e := w.whole("e1")
	w.put(home, e)
	w.puts(home, "successor")
	tries := []func(){func() {}}
	tries = append(tries, func() { w.delete(home, "e1", true) })
	for _, before := range tries {
		before()
		for _, change := range otherEntries {
			other := e
			change(&other)
			w.mustBe(w.tryPut(home, other), driver.ErrConflict)
			if w.tx != nil {
				w.conflicts(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: other}}})
			}
		}
		w.audit()
	}
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
