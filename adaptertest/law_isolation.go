package adaptertest

import (
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

func isolationLaw() law {
	l := law{name: "CTI-1", number: "M1", says: "a scope is the exact pair of tenant and ref, byte for byte, and so is every other name"}
	l.cases = slices.Concat(
		[]testCase{
			{"foreign-tenant-error", "an id that another tenant holds cannot be told from an absent one, in the error text neither", nil, func(w *world) { foreignError(w, at("globex", "support")) }},
			{"foreign-ref-error", "an id that another ref holds cannot be told from an absent one, in the error text neither", nil, func(w *world) { foreignError(w, at("acme", "sales")) }},
			{"unknown-scope", "a scope that was never written reads as empty", nil, unknownScope},
			{"foreign-successor", "an entry is retired in favour of one of its own ref only", []Offer{Transactor}, foreignSuccessor},
			{"foreign-version", "a version of one tenant does not read another's memory", []Offer{Transactor, Versioned}, foreignVersion},
			{"foreign-intact", "erasing in one tenant or ref leaves the versions of others intact", []Offer{Transactor, Versioned}, foreignIntact},
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

func unknownScope(w *world) {
	w.lists(at("nobody", "support"))
	w.absent(at("nobody", "support"), "any")
	w.delete(at("nobody", "support"), "any", false)
	w.puts(home, "mine")
	w.lists(at("acme", "nothing"))
	w.absent(at("acme", "nothing"), "mine")
	w.delete(at("acme", "nothing"), "mine", false)
}

func foreignSuccessor(w *world) {
	w.puts(home, "old")
	w.puts(at("acme", "sales"), "new")
	w.puts(at("globex", "support"), "new")
	w.conflicts(retired(retire(home, "old", driver.Superseded, "new")))
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
