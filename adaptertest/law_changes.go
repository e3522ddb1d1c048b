package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func changesLaw() law {
	changes := []Offer{Transactor, Versioned, Changes}
	return law{name: "CHANGES", number: "M7, S3", says: "what has changed in a scope between two versions is just what the mutations between them did", cases: []testCase{
		{"kinds", "what was put, retired, restored and erased is told, each in its list", changes, changesOfEachKind},
		{"nothing", "what changed nothing is not told", changes, changesOfNothing},
	}}
}

func changesOfEachKind(w *world) {
	w.puts(home, "a", "b", "c", "m", "gone")
	w.apply(retired(retire(home, "m", driver.Merged, "a")))
	from := w.version(home.Tenant)
	w.puts(home, "p1")
	m := retired(retire(home, "a", driver.Superseded, "p2"), retire(home, "b", driver.Deleted, ""))
	m.Put, m.Restore, m.Erase = w.placed(home, "p2"), located(home, "m"), located(home, "gone")
	w.apply(m)
	w.delete(home, "c", true)
	w.changed(home, from, w.version(home.Tenant), driver.ChangeSet{
		Put: []string{"p1", "p2"}, Retired: []string{"a", "b", "c"}, Restored: []string{"m"}, Erased: []string{"gone"}})
	from = w.version(home.Tenant)
	w.apply(driver.Mutation{Erase: located(home, "a", "p2")})
	w.changed(home, from, w.version(home.Tenant), driver.ChangeSet{Erased: []string{"a", "p2"}})
}

func changesOfNothing(w *world) {
	w.puts(home, "a", "gone", "erased")
	w.put(home, w.mortal("expired", time.Millisecond))
	w.delete(home, "gone", true)
	w.apply(driver.Mutation{Erase: located(home, "erased")})
	from := w.version(home.Tenant)
	w.puts(home, "a", "gone")
	w.apply(driver.Mutation{Put: w.placed(home, "a"), Live: located(home, "a"), Erase: located(home, "erased", "never")})
	w.delete(home, "gone", false)
	w.conflicts(driver.Mutation{Put: w.placed(home, "new"), Live: located(home, "never")})
	w.sets(note(home, "n", "x"), digest(home, "d", "a"), file(home, "f"))
	w.apply(queue(w.event("run-1", "one")))
	w.advance(time.Hour)
	w.changed(home, from, w.version(home.Tenant), driver.ChangeSet{})
}
