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

func droppedDocuments(w *world) {
	w.puts(home, "a")
	w.sets(note(home, "n", ""), digest(home, "d", "a"), file(home, "f", "customer:1"), note(at("acme", ""), "own", ""), timer(home, "t", w.now), timer(at("acme", ""), "t", w.now))
	w.drop(home.Tenant, 100, 3)
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true})
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Subject: "customer:1"})
}
