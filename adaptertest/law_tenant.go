package adaptertest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

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
