package adaptertest

import "github.com/openwop/agentmemory/memory/driver"

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
