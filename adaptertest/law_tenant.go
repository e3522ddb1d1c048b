package adaptertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func tenantLaw() law {
	return law{name: "TENANT", number: "M1, M7, M10", says: "the scopes that hold anything are listed, and of a tenant that is dropped nothing is left", cases: []testCase{
		{"order", "every scope that holds anything is listed once, in the byte order of tenant and ref, from any scope on", []Offer{Tenants}, scopesInOrder},
		{"dropped", "a tenant is dropped by calls with a small limit, and all of it is gone: entries, documents, events and versions", []Offer{Transactor, Tenants}, droppedByParts},
	}}
}

func compareScopes(a, b driver.Scope) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref))
}

// listed expects these scopes behind another one, in their order.
func (w *world) listed(after driver.Scope, want ...driver.Scope) {
	if w.noting() {
		w.did("list the scopes behind %s", describeScope(after))
	}
	var got, expected []string
	for s, err := range w.tenants.Scopes(w.ctx, after) {
		w.must(err)
		got = append(got, describeScope(s))
	}
	for _, s := range want {
		expected = append(expected, describeScope(s))
	}
	w.came(got, expected...)
}

func scopesInOrder(w *world) {
	w.listed(driver.Scope{})
	names := []string{"a", "ab", "B", "\uffff", "\U00010000", strings.Repeat("n", 256), strings.Repeat("n", 255) + "o"}
	w.quietly("put entries, documents or both in scopes that chance chooses", func() {
		for _, i := range w.rng.Perm(len(names) * len(names)) {
			s, kind := at(names[i%len(names)], names[i/len(names)]), w.rng.IntN(4)
			if kind&1 != 0 {
				w.puts(s, "x")
			}
			if kind&2 != 0 && w.tx != nil {
				w.sets(note(s, "n", ""), file(at(s.Tenant, ""), s.Ref))
			}
		}
	})
	for _, after := range []driver.Scope{{}, at("a", "\xff"), at("aa", "9"), at("ab", ""), at("\xff", "")} {
		w.listed(after, slices.DeleteFunc(w.ref.scopes(), func(s driver.Scope) bool { return compareScopes(s, after) <= 0 })...)
	}
}

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

func droppedByParts(w *world) {
	other := at("globex", home.Ref)
	for _, s := range []driver.Scope{home, other} {
		w.puts(s, "a", "b", "c", "d")
		w.livesAgain(s, "a", "b")
		m := acts(driver.Set, note(s, "n", ""), digest(s, "d", "a"), file(s, "f", "customer:1"), timer(at(s.Tenant, ""), "t", w.now))
		m.Events = []events.Record{w.event("run-1", "e")}
		m.Events[0].Tenant = s.Tenant
		w.apply(m)
		w.apply(driver.Mutation{Erase: located(s, "c")})
	}
	w.drop(home.Tenant, 2, 50)
	w.audit()
	w.puts(home, "a", "e")
	w.livesAgain(other, "d", "a")
}
