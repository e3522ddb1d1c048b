package adaptertest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func tenantLaw() law {
	return law{name: "TENANT", number: "M1, M7, M10", says: "the scopes that hold anything are listed, and of a tenant that is dropped nothing is left", cases: []testCase{
		{"scopes", "a scope is listed as long as it holds anything: entries of whatever state, or documents of whatever class", []Offer{Transactor, Tenants}, scopesOfAll},
		{"dropped", "a tenant that is dropped by parts has nothing, and its names can be used anew", []Offer{Transactor, Tenants}, droppedByParts},
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

// scopesOfAll lets a scope hold one thing after the other, each alone, and audits all. Of
// what happens to an entry another scope keeps a trace for good.
func scopesOfAll(w *world) {
	m := acts(driver.Set, note(at("b", ""), "own", ""), note(at("a", "machinery"), "n", ""), file(at("b", "text"), "f"), file(at("c", ""), "f"))
	for i, x := range m.Documents {
		w.set(x.Document)
		for _, ref := range []string{"deleted", "erased", "expired", "live"} {
			s := at(x.Tenant, fmt.Sprint(ref, i))
			w.put(s, w.mortal("x", time.Minute))
			if ref == "deleted" {
				w.delete(s, "x", true)
			}
			if ref == "erased" {
				w.apply(driver.Mutation{Erase: located(s, "x")})
			}
		}
		w.audit()
	}
	w.advance(time.Hour)
	w.audit()
	for _, d := range w.documents(driver.DocumentQuery{Tenant: "b", EveryRef: true}) {
		w.removes(d)
		w.audit()
	}
	if w.versions != nil {
		w.purge("b", w.version("b"))
	}
}

func droppedByParts(w *world) {
	for range 3 {
		d := w.set(file(home, "f"))
		w.fillMany(20, "e", func(i int, e *driver.Entry) { e.Subjects = []string{"customer:1"} })
		w.delete(home, manyID("e", 1), true)
		for i := range 10 {
			w.sets(note(home, fmt.Sprint("n", i), ""), digest(home, fmt.Sprint("d", i), manyID("e", i)), file(at(home.Tenant, ""), fmt.Sprint("f", i), "customer:1"))
			w.apply(queue(w.event("run-1", fmt.Sprint("e", i))))
		}
		w.drop(home.Tenant, 4, 80)
		w.audit()
		again := w.set(file(home, "f"))
		w.check(again.Rev > d.Rev, fmt.Sprintf("a revision above %d", d.Rev), "%d", again.Rev)
		w.drop(home.Tenant, 1000, 2)
		w.drop(home.Tenant, 10, 1) // it is not there
	}
}

// drop drops a tenant by calls with a limit, and expects an end within some calls.
func (w *world) drop(tenant string, limit, calls int) {
	held := 0
	if w.ref != nil {
		t := w.ref.tenant(tenant)
		held = len(t.records) + len(t.documents)
	}
	for call := range calls {
		w.did("drop %s, about %d at a time", short(tenant), limit)
		more, err := w.tenants.DropTenant(w.ctx, tenant, limit)
		w.must(err)
		if !more {
			w.check(call > 0 || held < 8*limit, fmt.Sprintf("more is left of %d records and documents", held), "nothing is left after one call")
			if w.ref != nil {
				w.ref.drop(tenant)
			}
			return
		}
	}
	w.fail(fmt.Sprintf("nothing is left after %d calls", calls), "more is left")
}
