package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func changesLaw() law {
	changes := []Offer{Transactor, Versioned, Changes}
	return law{name: "CHANGES", number: "M7, S3", says: "what has changed in a scope between two versions is just what the mutations between them did", cases: []testCase{
		{"kinds", "what was put, retired, restored and erased is told, each in its list", changes, changesOfEachKind},
		{"bounds", "the mutations after the first version up to the last are told, and no other", changes, changesBetween},
		{"once", "an id comes once, however often it was touched", changes, changesOnce},
		{"nothing", "what changed nothing is not told", changes, changesOfNothing},
		{"unavailable", "versions that cannot be read are refused", changes, changesRefused},
		{"purged", "a purge does not change what is told from its version on", changes, changesAcrossPurge},
		{"many", "more than a page of ids is told", changes, manyChanges},
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

func changesBetween(w *world) {
	versions := []driver.Version{w.version(home.Tenant)}
	for i := range 5 {
		w.puts(home, fmt.Sprint("e", i))
		versions = append(versions, w.version(home.Tenant))
	}
	for from := range versions {
		for to := from; to < len(versions); to++ {
			var want driver.ChangeSet
			for i := from; i < to; i++ {
				want.Put = append(want.Put, fmt.Sprint("e", i))
			}
			w.changed(home, versions[from], versions[to], want)
		}
	}
}

func changesOnce(w *world) {
	w.puts(home, "a", "b")
	from := w.version(home.Tenant)
	for range 3 {
		w.apply(retired(retire(home, "a", driver.Merged, "b")))
		w.apply(driver.Mutation{Restore: located(home, "a")})
	}
	w.apply(driver.Mutation{Put: w.placed(home, "c"), Retire: []driver.Retirement{retire(home, "c", driver.Deleted, "")}})
	w.changed(home, from, w.version(home.Tenant), driver.ChangeSet{Put: []string{"c"}, Retired: []string{"a", "c"}, Restored: []string{"a"}})
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

func changesRefused(w *world) {
	w.puts(home, "a")
	before := w.version(home.Tenant)
	w.puts(home, "b")
	now := w.version(home.Tenant)
	refused := func(from, to driver.Version) {
		w.did("ask what has changed from %s to %s", w.name(from), w.name(to))
		_, err := w.changes.Changes(w.ctx, home, from, to)
		w.mustBe(err, driver.ErrSnapshotUnavailable)
	}
	for _, forged := range []driver.Version{"", "x", before + "0"} {
		refused(forged, now)
		refused(before, forged)
	}
	w.purge(home.Tenant, now)
	refused(before, now)
	refused(before, before)
	w.changed(home, now, now, driver.ChangeSet{})
}

func changesAcrossPurge(w *world) {
	w.puts(home, "a", "b")
	w.delete(home, "a", true)
	horizon := w.version(home.Tenant)
	w.puts(home, "c")
	w.delete(home, "b", true)
	w.apply(driver.Mutation{Erase: located(home, "c")})
	to := w.version(home.Tenant)
	want := driver.ChangeSet{Put: []string{"c"}, Retired: []string{"b"}, Erased: []string{"c"}}
	w.changed(home, horizon, to, want)
	w.purge(home.Tenant, horizon)
	w.changed(home, horizon, to, want)
}

func manyChanges(w *world) {
	from := w.version(home.Tenant)
	all := w.putMany(home, 1100, nil)
	w.changed(home, from, w.version(home.Tenant), driver.ChangeSet{Put: all})
}
