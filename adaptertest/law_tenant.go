package adaptertest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func tenantLaw() law {
	plain := []Offer{Tenants}
	tx := []Offer{Transactor, Tenants}
	versioned := []Offer{Transactor, Versioned, Tenants}
	return law{name: "TENANT", number: "M1, M7, M10", says: "the scopes that hold anything are listed, and of a tenant that is dropped nothing is left", cases: []testCase{
		{"order", "every scope that holds anything is listed once, in the byte order of tenant and ref", tx, scopesInOrder},
		{"resume", "a listing goes on behind any scope, whether it is listed or not", plain, scopesBehind},
		{"documents", "a scope that holds nothing but a document is listed, of whatever class", tx, scopesOfDocuments},
		{"own", "the tenant's own documents are a scope with an empty ref", tx, scopesOfOwn},
		{"ended", "a scope is listed while it holds what has ended, expired or was erased", tx, scopesOfEnded},
		{"purged", "a scope that holds nothing any more is not listed", versioned, scopesOfPurged},
		{"dropped-documents", "a dropped tenant has no documents, by no name", tx, droppedDocuments},
		{"dropped-versions", "versions of a dropped tenant are unavailable for ever, and later ones can be read", versioned, droppedVersions},
		{"dropped-lives", "what another tenant puts has none of the lives of what was dropped", versioned, droppedLives},
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
	names := []string{"a", "ab", "B", "é", "\uffff", "\U00010000", "a/b", strings.Repeat("n", 256), strings.Repeat("n", 255) + "o"}
	refs := append(names, strings.Repeat("n", 1024), strings.Repeat("n", 900)+"o", strings.Repeat("n", 900)+"m")
	var want []driver.Scope
	w.quietly("put entries, documents or both in scopes that chance chooses", func() {
		for _, i := range w.rng.Perm(len(names) * len(refs)) {
			s := at(names[i%len(names)], refs[i/len(names)])
			kind := w.rng.IntN(4)
			if kind == 0 {
				continue
			}
			want = append(want, s)
			if kind&1 != 0 {
				w.puts(s, "x", "y")
			}
			if kind&2 != 0 {
				w.sets(note(s, "n", ""), file(s, "f"))
			}
		}
	})
	slices.SortFunc(want, compareScopes)
	w.listed(driver.Scope{}, want...)
}

func scopesBehind(w *world) {
	all := []driver.Scope{at("a", "1"), at("a", "3"), at("b", "1"), at("b", "2"), at("d", "0")}
	for _, s := range all {
		w.puts(s, "x")
	}
	for i, s := range all {
		w.listed(s, all[i+1:]...)
	}
	for _, absent := range []struct {
		after driver.Scope
		n     int
	}{
		{at("", ""), 0}, {at("a", ""), 0}, {at("a", "2"), 1}, {at("a", "\xff"), 2}, {at("aa", "9"), 2}, {at("c", "z"), 4}, {at("e", ""), 5},
	} {
		w.quietly("go on behind a scope that is not there", func() { w.listed(absent.after, all[absent.n:]...) })
	}
}

func scopesOfDocuments(w *world) {
	w.puts(at("b", "support"), "x")
	w.set(note(at("a", "machinery"), "n", ""))
	w.set(file(at("b", "text"), "f"))
	w.set(file(at("c", "text"), "f"))
	want := []driver.Scope{at("a", "machinery"), at("b", "support"), at("b", "text"), at("c", "text")}
	w.listed(driver.Scope{}, want...)
	for _, d := range w.documents(driver.DocumentQuery{Tenant: "b", Ref: "text"}) {
		w.removes(d)
	}
	w.listed(driver.Scope{}, want[0], want[1], want[3])
}

func scopesOfOwn(w *world) {
	own := w.sets(note(at("acme", ""), "n", ""))
	w.puts(home, "x")
	w.set(file(at("globex", ""), "f"))
	w.listed(driver.Scope{}, at("acme", ""), home, at("globex", ""))
	w.listed(at("acme", ""), home, at("globex", ""))
	w.removes(own[0])
	w.listed(driver.Scope{}, home, at("globex", ""))
}

func scopesOfEnded(w *world) {
	var want []driver.Scope
	for _, ref := range []string{"deleted", "erased", "expired"} {
		want = append(want, at("acme", ref))
		w.put(at("acme", ref), w.mortal("x", time.Millisecond))
	}
	w.delete(want[0], "x", true)
	w.apply(driver.Mutation{Erase: located(want[1], "x")})
	w.advance(time.Hour)
	w.listed(driver.Scope{}, want...)
}

func scopesOfPurged(w *world) {
	w.puts(home, "x")
	w.puts(at("acme", "sales"), "y")
	w.delete(home, "x", true)
	w.purge(home.Tenant, w.version(home.Tenant))
	w.listed(driver.Scope{}, at("acme", "sales"))
}
