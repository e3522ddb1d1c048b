package adaptertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// many are what plans cannot have many of, each with a case that has them by the ladder of sizes. All
// start with nothing, and an audit follows.
var many = []struct {
	name, says string
	needs      []Offer
	run        func(w *world, n int)
}{
	{"labels", "an entry of so many tags, subjects and sources, and host text of so many subjects", nil, func(w *world, n int) {
		e := w.entry("e")
		e.Tags, e.Subjects, e.Sources = manyTexts("tag", min(n, 4097)), manyTexts("customer:", n), manyTexts("source ", n)
		w.put(home, e)
		w.auditList(home, live, driver.Query{At: w.now, Tags: e.Tags})
		w.auditList(home, live, driver.Query{At: w.now, Tags: append(slices.Clone(e.Tags), "other")})
		if w.tx != nil {
			w.set(file(home, "f", e.Subjects...))
			w.auditHistory(home.Tenant, driver.HistoryQuery{Subject: e.Subjects[n-1]})
			w.auditFound(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Subject: e.Subjects[n-1]})
		}
	}},
	{"chain", "a chain of so many successors", transactor, func(w *world, n int) {
		n = min(n, 1001)
		w.putMany(home, n)
		var m driver.Mutation
		for i := range n - 1 {
			m.Retire = append(m.Retire, retire(home, manyID("e", i), driver.Merged, manyID("e", i+1)))
		}
		w.quietly("merge each with the next", func() { w.apply(m) })
		if w.versions != nil {
			w.purge(home.Tenant, w.version(home.Tenant))
			w.delete(home, manyID("e", n-1), true)
			w.purge(home.Tenant, w.version(home.Tenant))
		}
	}},
	{"lives", "an entry that ends and is restored so many times", transactor, func(w *world, n int) {
		w.puts(home, "a", "b")
		w.quietly("merge it and restore it over and over", func() {
			for range min(n, 1001) / 2 {
				w.apply(retired(retire(home, "a", driver.Merged, "b")))
				w.apply(driver.Mutation{Restore: located(home, "a")})
			}
		})
	}},
	{"scopes", "so many refs, and so many tenants", []Offer{Tenants}, func(w *world, n int) {
		w.quietly(fmt.Sprintf("put an entry in each of %d refs, and of as many tenants", n), func() {
			for i := range n {
				w.puts(at("acme", fmt.Sprintf("r%05d", i)), "x")
				w.puts(at(fmt.Sprintf("t%05d", i), "r"), "x")
			}
		})
		w.listed(driver.Scope{}, w.ref.scopes()...)
		w.listed(at("acme", "r00050"), w.ref.scopes()[51:]...)
		if w.tx != nil {
			w.sameRecords(w.history("acme", driver.HistoryQuery{}), w.ref.history("acme", driver.HistoryQuery{}))
			w.drop("acme", 1000, n)
			w.listed(driver.Scope{}, w.ref.scopes()...)
		}
		w.unmirrored() // each scope was seen
	}},
}

func manyCases() []testCase {
	var cases []testCase
	for _, c := range many {
		cases = append(cases, testCase{"many-" + c.name, "the store is right with " + c.says, c.needs, func(w *world) {
			for _, n := range w.rungs() {
				w.restart()
				w.did("with %d of them", n)
				c.run(w, n)
				w.audit()
			}
			w.unmirrored() // each rung was audited
		}})
	}
	return cases
}

func manyID(name string, i int) string { return fmt.Sprintf("%s%05d", name, i) }

func manyTexts(name string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(name, i))
	}
	return all
}

// sizes are lengths of texts and values.
func (w *world) sizes() []int {
	all := []int{1, 63, 64, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20, 1<<20 + 1, 1<<24 - 1, 1 << 24, 1<<24 + 1}
	return slices.DeleteFunc(all, func(n int) bool { return n > w.size(1<<20+1, 1<<24+1) })
}

// long is a text of n bytes that no part of it equals.
func long(n int) string {
	var b strings.Builder
	filler := strings.Repeat("words é of any kind\r\n", 50)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d %s", i, filler)
	}
	return strings.ToValidUTF8(b.String()[:n], "x")
}

// longTexts are entries whose content, tag, subject and run are long, within what each
// may be.
func longTexts(w *world) {
	for i, n := range w.sizes() {
		e := w.entry(fmt.Sprint("e", i))
		e.Content = long(n)
		e.Tags, e.Subjects = []string{long(min(n, 256))}, []string{strings.ReplaceAll(long(min(n, driver.MaxLabelBytes)), "\r\n", "  ")}
		w.put(home, e)
		e.Content = e.Content[:len(e.Content)-1] + "~"
		w.mustBe(w.tryPut(home, e), driver.ErrConflict)
	}
}

func longValues(w *world) {
	w.puts(home, "a")
	for i, n := range w.sizes() {
		value := []byte(long(n))
		copy(value, []byte{0, 0xff})
		docs := []driver.Document{note(home, fmt.Sprint("n", i), ""), digest(home, fmt.Sprint("d", i), "a"), file(home, fmt.Sprint("f", i))}
		if n > 1<<20 { // one of them is enough of the longest
			docs = docs[i%3:][:1]
		}
		for _, d := range docs {
			d.Value = value
			d = w.set(d)
			w.auditFound(exactly(&d))
			d.Group, d.Value = "group", nil
			d = w.commits(acts(driver.Retain, d))[0]
			w.auditFound(exactly(&d))
			if n > 1<<20 {
				w.commits(acts(driver.Remove, d))
			}
		}
	}
}
