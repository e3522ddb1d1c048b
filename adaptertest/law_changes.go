package adaptertest

import "github.com/openwop/agentmemory/memory/driver"

// The changes between the versions that a case held are in every audit.
func changesLaw() law {
	return law{name: "CHANGES", number: "M7, S3", says: "what has changed in a scope between two versions is just what the mutations between them did", cases: []testCase{
		{"kinds", "what was put, retired, restored and erased is told, each in its list, and what changed nothing is not", []Offer{Transactor, Versioned, Changes}, changesOfEachKind},
	}}
}

func changesOfEachKind(w *world) {
	w.puts(home, "a", "b", "c", "m", "gone")
	w.apply(retired(retire(home, "m", driver.Merged, "a")))
	w.version(home.Tenant)
	m := retired(retire(home, "a", driver.Superseded, "p2"), retire(home, "b", driver.Deleted, ""))
	m.Put, m.Restore, m.Erase = w.placed(home, "p2"), located(home, "m"), located(home, "gone")
	w.apply(m)
	w.delete(home, "c", true)
	w.version(home.Tenant)
	w.puts(home, "c", "b")
	w.apply(driver.Mutation{Put: w.placed(home, "p2"), Live: located(home, "m"), Erase: located(home, "gone", "never")})
	w.sets(note(home, "n", "x"), digest(home, "d", "a"), file(home, "f"))
	w.apply(queue(w.event("run-1", "one")))
	w.apply(driver.Mutation{Erase: located(home, "a", "p2")})
}
