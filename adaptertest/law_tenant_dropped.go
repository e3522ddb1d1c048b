package adaptertest

import (
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// drop drops a tenant by calls with a limit, and expects an end within some calls.
func (w *world) drop(tenant string, limit, calls int) {
	for range calls {
		w.did("drop %s, about %d at a time", short(tenant), limit)
		more, err := w.tenants.DropTenant(w.ctx, tenant, limit)
		w.must(err)
		if !more {
			if w.ref != nil {
				w.ref.drop(tenant)
			}
			return
		}
	}
	w.fail(fmt.Sprintf("nothing is left after %d calls", calls), "more is left")
}

func droppedEntries(w *world) {
	w.put(home, w.whole("whole"))
	w.puts(home, "live", "deleted", "merged", "erased")
	w.puts(at("acme", "sales"), "live")
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "merged", driver.Merged, "live")))
	w.apply(driver.Mutation{Erase: located(home, "erased")})
	w.drop(home.Tenant, 100, 3)
	w.lists(home)
	w.lists(at("acme", "sales"))
	w.absent(home, "live")
	w.sameTexts(recordIDs(w.lookUp(home, "live", "deleted", "merged", "erased")))
	w.remembers(home.Tenant, driver.HistoryQuery{})
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:1"})
	w.remembers(home.Tenant, driver.HistoryQuery{Ref: home.Ref, For: []string{"live"}})
	w.listed(driver.Scope{})
}

// recordIDs are the ids of records.
func recordIDs(recs []driver.Record) []string {
	got := []string{}
	for _, r := range recs {
		got = append(got, r.Entry.ID)
	}
	return got
}

func droppedByParts(w *world) {
	w.putMany(home, 20, nil)
	for i := range 10 {
		w.sets(note(home, fmt.Sprint("n", i), ""), file(at("acme", ""), fmt.Sprint("f", i)))
		w.apply(queue(w.event("run-1", fmt.Sprint("e", i))))
	}
	w.drop(home.Tenant, 7, 50)
	w.lists(home)
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true})
	w.waiting(home.Tenant, "")
	w.listed(driver.Scope{})
}

func droppedVersions(w *world) {
	w.drop("nobody", 2, 2)
	w.listsAt(at("nobody", "support"), w.version("nobody"))
	other := at("globex", home.Ref)
	w.puts(other, "gone")
	seen := w.version(other.Tenant)
	w.apply(driver.Mutation{Erase: located(other, "gone")})
	old := []driver.Version{w.version(home.Tenant)}
	for i := range 5 {
		w.puts(home, fmt.Sprint("e", i))
		old = append(old, w.version(home.Tenant))
	}
	w.quietly("drop it by two at a time", func() { w.drop(home.Tenant, 2, 50) })
	unavailable := func() {
		for _, v := range old {
			_, err := w.tryListAt(home, v, driver.Query{At: w.now})
			w.mustBe(err, driver.ErrSnapshotUnavailable)
			_, err = w.tryGetAt(home, v, "e0")
			w.mustBe(err, driver.ErrSnapshotUnavailable)
		}
	}
	unavailable()
	empty := w.version(home.Tenant)
	w.listsAt(home, empty)
	for i := range 8 {
		w.puts(home, fmt.Sprint("new", i))
		v := w.version(home.Tenant)
		w.check(!slices.Contains(old, v), "a version that was never given out", "%s", w.name(v))
		w.intact(home, v, true)
	}
	unavailable()
	w.listsAt(home, empty)
	w.intact(other, seen, false)
}

// droppedLives drops an entry that has had two lives. A store may give its place to the next
// one.
func droppedLives(w *world) {
	other := at("globex", "support")
	w.puts(other, "a")
	v := w.version(other.Tenant)
	w.puts(home, "restored", "head")
	w.livesAgain(home, "restored", "head")
	w.drop(home.Tenant, 100, 3)
	w.puts(other, "b", "c")
	w.listsAt(other, v, "a")
	w.livesAgain(other, "b", "a")
	w.livesAgain(other, "c", "a")
	w.listsAt(other, v, "a")
}

func droppedAgain(w *world) {
	w.puts(at("globex", "support"), "a")
	w.drop(home.Tenant, 10, 2)
	for range 3 {
		w.puts(home, "a", "b")
		w.drop(home.Tenant, 10, 3)
		w.lists(home)
		w.drop(home.Tenant, 10, 1)
	}
	w.lists(at("globex", "support"), "a")
}

func droppedAnew(w *world) {
	w.puts(home, "a", "b")
	d := w.sets(file(home, "f"))
	w.drop(home.Tenant, 10, 3)
	e := w.entry("a")
	e.Content, e.Subjects = "other", []string{"customer:1"}
	w.put(home, e)
	w.lists(home, "a")
	w.looksUp(home, e, driver.Live, "")
	again := w.set(file(home, "f"))
	w.check(again.Rev > d[0].Rev, fmt.Sprintf("a revision above %d", d[0].Rev), "%d", again.Rev)
	w.listed(driver.Scope{}, home)
}

func droppedDocuments(w *world) {
	w.puts(home, "a")
	w.sets(note(home, "n", ""), digest(home, "d", "a"), file(home, "f", "customer:1"), note(at("acme", ""), "own", ""), timer(home, "t", w.now), timer(at("acme", ""), "t", w.now))
	w.drop(home.Tenant, 100, 3)
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true})
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Subject: "customer:1"})
}

func droppedEvents(w *world) {
	w.apply(queue(w.event("run-1", "one"), w.event("run-2", "two"), w.event("run-2", "three")))
	w.drop(home.Tenant, 1, 6) // there are more of them than go at a time
	w.apply(queue(w.event("run-1", "one")))
	w.waiting(home.Tenant, "run-1", "one")
}
