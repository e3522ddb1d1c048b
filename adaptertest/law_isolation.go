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
			{"foreign-version", "a version of one tenant does not read another's memory", []Offer{Transactor, Versioned}, foreignVersion},
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
