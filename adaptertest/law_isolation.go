package adaptertest

import "github.com/openwop/agentmemory/memory/driver"

func isolationLaw() law {
	return law{name: "CTI-1", number: "M1", says: "a scope is the exact pair of tenant and ref, byte for byte, and so is every other name", cases: append([]testCase{
		{"foreign-version", "a version of one tenant does not read another's memory", []Offer{Transactor, Versioned}, foreignVersion},
	}, nameCases()...)}
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
