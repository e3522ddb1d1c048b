package adaptertest

import (
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func isolationLaw() law {
	l := law{name: "CTI-1", number: "M1", says: "a scope is the exact pair of tenant and ref, byte for byte, and so is every other name"}
	l.cases = slices.Concat(
		[]testCase{
			{"foreign-tenant-error", "an id that another tenant holds cannot be told from an absent one, in the error text neither", nil, func(w *world) { foreignError(w, at("globex", "support")) }},
			{"foreign-ref-error", "an id that another ref holds cannot be told from an absent one, in the error text neither", nil, func(w *world) { foreignError(w, at("acme", "sales")) }},
			{"foreign-version", "a version of one tenant does not read another's memory", []Offer{Transactor, Versioned}, foreignVersion},
			{"foreign-intact", "erasing in one tenant or ref leaves the versions of others intact", []Offer{Transactor, Versioned}, foreignIntact},
			{"foreign-purge", "purging a tenant takes nothing of another: versions, former lives, marks of erasure, documents", []Offer{Transactor, Versioned}, foreignPurge},
			{"foreign-drop", "dropping a tenant takes nothing of another: versions, former lives, marks of erasure, documents", []Offer{Transactor, Versioned, Tenants}, foreignDrop},
		},
		nameCases())
	return l
}

func foreignError(w *world, foreign driver.Scope) {
	w.puts(home, "mine")
	w.puts(foreign, "theirs")
	_, absent := w.tryGet(home, "never")
	_, err := w.tryGet(home, "theirs")
	w.mustBe(err, driver.ErrNotFound)
	w.check(absent != nil && err.Error() == absent.Error(), describeError(absent), "%s", describeError(err))
}

// foreignVersion reads by every method that takes a version, of a tenant that has the
// same ids and as many mutations, and of one that was never written.
func foreignVersion(w *world) {
	w.puts(home, "a")
	w.puts(at("globex", "support"), "a")
	for _, v := range []driver.Version{w.version("acme"), w.version("nobody")} {
		for _, tenant := range []string{"globex", "Acme", "nobody else"} {
			w.refused(at(tenant, "support"), v)
		}
	}
	w.refused(at("nobody", "support"), w.version("acme"))
	w.refused(at("acme", "support"), w.version("nobody"))
}

func foreignIntact(w *world) {
	w.puts(home, "mine")
	w.puts(at("globex", "support"), "theirs")
	w.puts(at("acme", "sales"), "theirs")
	v := w.version("acme")
	w.apply(driver.Mutation{Erase: located(at("globex", "support"), "theirs")})
	w.intact(home, v, true)
	w.apply(driver.Mutation{Erase: located(at("acme", "sales"), "theirs")})
	w.intact(home, v, true)
	w.intact(at("acme", "nothing"), v, true)
	w.intact(at("acme", "sales"), v, false)
}

// live takes a tenant through all that leaves a trace behind its entries, and holds the
// versions on the way, from the one before anything.
func (w *world) live(s driver.Scope) {
	w.version(s.Tenant)
	kept := w.entry("kept")
	kept.Subjects = []string{"customer:1"}
	w.put(s, kept)
	w.puts(s, "deleted", "restored", "erased")
	w.put(s, w.mortal("expired", time.Millisecond))
	w.sets(note(s, "n", "value"), digest(s, "d", "kept"), digest(s, "gone", "erased"), file(s, "f", "customer:1"))
	w.version(s.Tenant)
	ended := retired(retire(s, "restored", driver.Merged, "kept"), retire(s, "deleted", driver.Deleted, ""))
	ended.Events = []events.Record{w.event("run-1", "e")}
	ended.Events[0].Tenant = s.Tenant
	w.apply(ended)
	w.version(s.Tenant)
	w.apply(driver.Mutation{Restore: located(s, "restored"), Erase: located(s, "erased")})
	w.version(s.Tenant)
}

// foreignEnd ends what is held of a tenant, of which there are more versions than of its
// neighbours in the byte order of names, whose lives go on as before.
func foreignEnd(w *world, end func()) {
	others := []driver.Scope{at("Acme", "support"), at("globex", "support")}
	for _, other := range others {
		w.live(other)
	}
	w.puts(home, "a", "b", "c", "d")
	w.live(home)
	w.advance(time.Millisecond)
	end()
	w.audit()
	for _, other := range others {
		w.apply(retired(retire(other, "restored", driver.Merged, "kept")))
		w.version(other.Tenant)
		w.apply(driver.Mutation{Restore: located(other, "restored")})
		w.apply(driver.Mutation{Erase: located(other, "kept")})
	}
}

func foreignPurge(w *world) {
	foreignEnd(w, func() { w.purge(home.Tenant, w.version(home.Tenant)) })
}

func foreignDrop(w *world) {
	foreignEnd(w, func() { w.drop(home.Tenant, 3, 30) })
}
