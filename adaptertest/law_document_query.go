package adaptertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// documentQueryCases are about what documents a query yields, and how they come back.
func documentQueryCases() []testCase {
	tx := []Offer{Transactor}
	cases := []testCase{
		{"values", "values are bytes, and nil and empty are the same", tx, documentValues},
		{"largest-names", "the longest names come back", tx, largestNames},
		{"order", "documents come in the byte order of ref, kind and key", tx, documentOrder},
		{"narrowed", "kind, key, group and subject narrow together", tx, narrowedDocuments},
	}
	return cases
}

func documentValues(w *world) {
	d := note(home, "n", "")
	for _, value := range [][]byte{nil, {}, []byte("\x00\xff\x00"), []byte("null"), []byte(`{"a":1.0}`), []byte("a\r\nb "), {}, []byte("\x01"), nil, {0}} {
		d.Value = value
		d = w.set(d)
		w.holds(d)
	}
	given := []byte("mine")
	d.Value = given
	d = w.set(d)
	w.did("overwrite the value that was given, and that which was read")
	w.watch.forget()
	given[0] = 'x'
	d.Value = []byte("mine")
	got := w.documents(exactly(&d))
	w.check(len(got) == 1 && string(got[0].Value) == "mine", "the value as it was given", "%s", describeDocuments(got))
	got[0].Value[0] = 'x'
	w.holds(d)
}

func largestNames(w *world) {
	d := file(at(strings.Repeat("t", driver.MaxTenantBytes), strings.Repeat("r", driver.MaxRefBytes)), strings.Repeat("k", driver.MaxKeyBytes),
		strings.Repeat("s", driver.MaxLabelBytes))
	d.Kind, d.Group = strings.Repeat("i", driver.MaxKindBytes), strings.Repeat("g", driver.MaxKeyBytes)
	d = w.set(d)
	w.holds(d)
	w.yields(driver.DocumentQuery{Tenant: d.Tenant, EveryRef: true, Group: d.Group, Subject: d.Subjects[0]}, nameIn(&d))
	entry := strings.Repeat("e", driver.MaxIDBytes)
	w.puts(d.Scope, entry)
	c := digest(d.Scope, "c", entry)
	c.Due = time.Time{}
	w.set(c)
	w.apply(driver.Mutation{Erase: located(d.Scope, entry)})
	w.lacks(c)
}

func documentOrder(w *world) {
	var docs []driver.Document
	for i, ref := range tied {
		for _, name := range []string{"b", "B", "ab", "a"} {
			docs = append(docs, driver.Document{Scope: at(home.Tenant, ref), Kind: name, Key: tied[(i*5+len(name))%len(tied)]},
				driver.Document{Scope: at(home.Tenant, ref), Kind: "a0", Key: name})
		}
	}
	docs = append(docs, note(at(home.Tenant, ""), "n", ""))
	for _, i := range w.rng.Perm(len(docs)) {
		w.set(docs[i])
	}
	slices.SortFunc(docs, func(a, b driver.Document) int {
		return slices.Compare([]string{a.Ref, a.Kind, a.Key}, []string{b.Ref, b.Kind, b.Key})
	})
	var names []string
	for _, d := range docs {
		names = append(names, nameIn(&d))
	}
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}, names...)
}

// eachName has a document for each way to combine two values of every name.
func narrowedDocuments(w *world) {
	pair := func(n, bit int) string { return string("xy"[n>>bit&1]) }
	var docs []driver.Document
	for n := range 8 {
		d := file(home, pair(n, 1)+fmt.Sprint(n&4), "s"+pair(n, 2))
		d.Kind, d.Group = "k"+pair(n, 0), "g"+pair(n, 1)
		docs = append(docs, d)
	}
	w.sets(docs...)
	slices.SortFunc(docs, func(a, b driver.Document) int { return strings.Compare(nameIn(&a), nameIn(&b)) })
	for _, q := range []driver.DocumentQuery{
		{}, {Kind: "kx"}, {Key: "x0"}, {Group: "gy"}, {Subject: "sx"}, {Kind: "kx", Group: "gy"}, {Kind: "ky", Subject: "sx"}, {Group: "gx", Subject: "sy"},
		{Key: "y4", Group: "gy"}, {Key: "y4", Group: "gx"}, {Kind: "kx", Key: "x0"}, {Kind: "kx", Key: "x0", Group: "gx", Subject: "sx"},
		{Kind: "kx", Key: "x0", Group: "gy"}, {Kind: "kx", Key: "x0", Subject: "sy"},
	} {
		q.Tenant, q.Ref = home.Tenant, home.Ref
		want := []string{}
		for _, d := range docs {
			if (q.Kind == "" || q.Kind == d.Kind) && (q.Key == "" || q.Key == d.Key) && (q.Group == "" || q.Group == d.Group) &&
				(q.Subject == "" || q.Subject == d.Subjects[0]) {
				want = append(want, nameIn(&d))
			}
		}
		w.yields(q, want...)
		q.EveryRef = true
		w.yields(q, want...)
		q.EveryRef, q.Ref = false, ""
		w.yields(q)
	}
}
