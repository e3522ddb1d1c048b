package adaptertest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

func tenantLaw() law {
	return law{name: "TENANT", number: "M1, M7, M10", says: "the scopes that hold anything are listed, and of a tenant that is dropped nothing is left", cases: generate(
		generation{name: "order", says: "every scope that holds anything is listed once, in the byte order of tenant and ref, from any scope on", needs: []Offer{Tenants},
			topics: []topic{basic, documents}, sequences: [3]int{1, 2, 10}, steps: 2,
			plans: sharing(len(scopeNames)*len(scopeNames), func(_ *world, p *plan, k int) {
				p.Scope = at(scopeNames[k%len(scopeNames)], scopeNames[k/len(scopeNames)])
			})},
		generation{name: "dropped", says: "a tenant is dropped by calls with a small limit, and all of it is gone: entries, documents, events and versions", needs: []Offer{Transactor, Tenants},
			topics: []topic{basic, documents, outgoing, tenants}, plans: severalScopes, sequences: [3]int{3, 10, 100}, steps: 20, audited: 5})}
}

// scopeNames are in another order as UTF-16, by a collation, or cut.
var scopeNames = []string{"a", "ab", "B", "\uffff", "\U00010000", strings.Repeat("n", 256), strings.Repeat("n", 255) + "o"}

func compareScopes(a, b driver.Scope) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref))
}

// listed expects these scopes behind another one, in their order.
func (w *world) listed(after driver.Scope, want ...driver.Scope) {
	w.did("list the scopes behind %s", after)
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

// drop drops a tenant by calls with a limit, and expects an end within some calls.
func (w *world) drop(tenant string, limit, calls int) {
	for range calls {
		w.did("drop %s, about %d at a time", named(tenant), limit)
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
