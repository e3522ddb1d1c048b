package adaptertest

import (
	"fmt"

	"github.com/openwop/agentmemory/memory/driver"
)

func idempotenceLaw() law {
	return law{name: "IDEMPOTENCE", number: "M8", says: "the same entry again is a success that changes nothing; an id is never used for another", cases: []testCase{
		{"put-again-lists", "an entry with nil lists and one with empty lists are the same", nil, putAgainLists},
		{"put-again-deleted", "the same entry after a delete is a success, and stays deleted", nil, putAgainDeleted},
		{"put-another", "an entry that differs in anything is another, and under a used id a conflict that changes nothing", nil, putAnother},
	}}
}

func putAgainLists(w *world) {
	e := w.entry("e1")
	e.Tags, e.Subjects, e.Sources = nil, nil, nil
	w.put(home, e)
	e.Tags, e.Subjects, e.Sources = []string{}, []string{}, []string{}
	w.put(home, e)
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

func putAnother(w *world) {
	for i, change := range entryChanges {
		e := w.put(home, w.whole(fmt.Sprint("e", i)))
		other := e
		change(&other)
		w.mustBe(w.tryPut(home, other), driver.ErrConflict)
		w.get(home, e)
	}
	w.unmirrored() // which of them are live and in which order are other laws
}
