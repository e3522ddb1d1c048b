package adaptertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// rungs are how many of something a case works with. The top one is beyond every page
// and bound that a store is likely to have.
func (w *world) rungs() []int {
	switch w.size(0, 1, 2) {
	case 0:
		return []int{130}
	case 1:
		return []int{512, 4097}
	}
	return []int{99, 100, 101, 127, 128, 129, 255, 256, 257, 499, 500, 501, 511, 512, 513, 999, 1000, 1001, 1023, 1024, 1025,
		2000, 2047, 2048, 2049, 3000, 4095, 4096, 4097, 10_001}
}

// many are the operations that take or return many, each with a case that has them by the
// ladder of sizes. All start with nothing, and an audit follows.
var many = []struct {
	name, says string
	needs      []Offer
	run        func(w *world, n int)
}{
	{"entries", "so many entries in any order, of which four have one instant and a third share a tag", nil, func(w *world, n int) {
		w.putMany(home, n, func(i int, e *driver.Entry) {
			place := 2 * i // the half in order, and then the others between those
			if i >= (n+1)/2 {
				place = 2*(i*7919%(n/2)) + 1
			}
			e.CreatedAt = w.now.Add(time.Duration(place/4) * time.Millisecond) // four of one instant
			if i%3 == 0 {
				e.Tags = []string{"third"}
			}
		})
		w.pageThrough(n, "third")
		live := func() []string { return ids(w.ref.list(home, -1, driver.Query{At: w.now})) }
		for _, end := range []int{n/2 + 1, 3 * n / 4} {
			w.quietly(fmt.Sprintf("delete entry %d up to %d of the list", n/2, end), func() {
				for _, id := range live()[n/2 : end] {
					w.delete(home, id, true)
				}
			})
			w.lists(home, live()...)
		}
	}},
	{"labels", "an entry of so many tags, subjects and sources, and host text of so many subjects", nil, func(w *world, n int) {
		e := w.entry("e")
		e.Tags, e.Subjects, e.Sources = manyTexts("tag", min(n, 4097)), manyTexts("customer:", n), manyTexts("source ", n)
		w.put(home, e)
		w.sameIDs(w.list(home, driver.Query{At: w.now, Tags: e.Tags}), []string{"e"})
		w.sameIDs(w.list(home, driver.Query{At: w.now, Tags: append(slices.Clone(e.Tags), "other")}), nil)
		if w.tx != nil {
			w.set(file(home, "f", e.Subjects...))
			w.remembers(home.Tenant, driver.HistoryQuery{Subject: e.Subjects[n-1]}, "e")
			w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Subject: e.Subjects[n-1]}, "support/file/f")
		}
	}},
	{"parts", "a mutation of so many parts, of which only the last fails, or none", []Offer{Transactor}, failsAtTheLast},
	{"records", "so many records of one subject, successor and ref", []Offer{Transactor}, manyRecords},
	{"chain", "a chain of so many successors", []Offer{Transactor}, func(w *world, n int) {
		w.fillMany(n, "e", nil)
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
	{"lives", "an entry that ends and is restored so many times", []Offer{Transactor}, func(w *world, n int) {
		w.puts(home, "a", "b")
		w.quietly("merge it and restore it over and over", func() {
			for range min(n, 1001) / 2 {
				w.apply(retired(retire(home, "a", driver.Merged, "b")))
				w.apply(driver.Mutation{Restore: located(home, "a")})
			}
		})
	}},
	{"documents", "so many documents of a ref, kind, group and subject", []Offer{Transactor}, func(w *world, n int) {
		var docs []driver.Document
		for i := range n {
			d := file(home, fmt.Sprintf("f%05d", i*7919%n), "customer:1", fmt.Sprint("customer:", i))
			d.Group = "group"
			if i%2 == 1 {
				d.Kind, d.Group = "other", "other"
			}
			docs = append(docs, d)
		}
		w.setMany(docs)
	}},
	{"made", "a document made of so many entries, and an entry of which so many are made", []Offer{Transactor}, func(w *world, n int) {
		w.fillMany(n, "e", nil)
		d := digest(home, "all")
		var docs []driver.Document
		for i := range n {
			d.Of = append(d.Of, manyID("e", i))
			docs = append(docs, digest(home, fmt.Sprintf("d%05d", i), manyID("e", n/2)))
		}
		w.setMany(append(docs, d))
		w.audit()
		w.apply(driver.Mutation{Erase: located(home, manyID("e", n-1))})
		w.audit()
		w.apply(driver.Mutation{Erase: located(home, manyID("e", n/2))})
	}},
	{"due", "so many documents that are due, many of them at one instant", []Offer{Transactor, Scheduler}, func(w *world, n int) {
		var docs []driver.Document
		for i := range n {
			docs = append(docs, timer(home, fmt.Sprintf("t%05d", i), w.now.Add(time.Duration(i%97)*time.Millisecond)))
		}
		w.setMany(docs)
		w.advance(time.Second)
		for _, limit := range []int{1, 100, 128, n - 1, n} {
			got := w.due("timer", w.now, limit)
			w.check(len(got) == min(limit, n), fmt.Sprint(min(limit, n), " documents"), "%d", len(got))
			for i, want := range w.ref.due("timer", w.now)[:min(limit, n)] {
				w.check(got[i].Due.Equal(want.Due), "what is due first", "%s", describeDocument(&got[i]))
			}
		}
	}},
	{"events", "so many events of two runs and of another tenant, queued one by one and together", []Offer{Transactor}, manyWaiting},
	{"logged", "a log of so many events, which a mutation and an emission bring in halves", []Offer{Transactor, Events}, func(w *world, n int) {
		w.quietly(fmt.Sprintf("log %d events by a mutation, as many by an emission, and all of them again", n/2), func() {
			var recs []events.Record
			for i := range n / 2 * 2 {
				recs = append(recs, w.event("run-1", manyID("ev", i)))
			}
			w.apply(logged(recs[:n/2]...))
			w.emit(recs[n/2:]...)
			w.emit(recs...)
			w.apply(logged(recs...))
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
	{"dropped", "a tenant of so many records, documents and events", []Offer{Transactor, Tenants}, func(w *world, n int) {
		manyRecords(w, n)
		manyWaiting(w, n)
		w.set(file(home, "f", "customer:1"))
		w.puts(at("globex", "support"), "stays")
		w.drop(home.Tenant, 100, 3*n)
		w.puts(home, manyID("e", 1))
	}},
	{"versions", "a version held over so many mutations", []Offer{Transactor, Versioned}, func(w *world, n int) {
		w.puts(home, "a", "b", "c")
		w.delete(home, "b", true)
		w.version(home.Tenant)
		w.quietly(fmt.Sprintf("put and delete %d entries", n), func() {
			for i := range n {
				w.puts(home, manyID("e", i))
				if i%2 == 0 {
					w.delete(home, manyID("e", i), true)
				}
			}
		})
	}},
	{"at-a-version", "so many entries at a version, most of which have ended since", []Offer{Transactor, Versioned}, func(w *world, n int) {
		w.fillMany(n, "e", func(i int, e *driver.Entry) { e.CreatedAt = w.now.Add(time.Duration(i*7919%n/5) * time.Millisecond) })
		v := w.version(home.Tenant)
		var m driver.Mutation
		for i := range n {
			if i%3 > 0 {
				m.Retire = append(m.Retire, retire(home, manyID("e", i), driver.Deleted, ""))
			}
		}
		w.quietly("delete two of three", func() { w.apply(m) })
		want := ids(w.ref.list(home, w.held[0].number, driver.Query{At: w.now}))
		for _, size := range []int{n/3 + 1, 512} {
			w.quietly("read it by pages", func() {
				w.walk(size, want, func(q driver.Query) []driver.Entry { return w.listAt(home, v, q) })
			})
		}
	}},
	{"purged", "a purge of so many records, of three refs", []Offer{Transactor, Versioned}, func(w *world, n int) {
		manyRecords(w, n)
		for _, s := range []driver.Scope{at(home.Tenant, "sales"), at(home.Tenant, "zoo")} {
			m := driver.Mutation{Put: w.placed(s, manyTexts("e", n/3)...)}
			for _, p := range m.Put {
				m.Retire = append(m.Retire, retire(s, p.Entry.ID, driver.Deleted, ""))
			}
			w.quietly(fmt.Sprintf("put and delete %d entries in %s", n/3, describeScope(s)), func() { w.apply(m) })
		}
		w.purge(home.Tenant, w.version(home.Tenant))
		var m driver.Mutation
		for i := range n * 2 / 3 { // the lower part of all ids goes
			m.Erase = append(m.Erase, located(home, manyID("e", i))...)
		}
		m.Erase = append(m.Erase, located(home, "head")...) // and so its lineage
		w.quietly("erase two thirds", func() { w.apply(m) })
		w.purge(home.Tenant, w.version(home.Tenant))
		w.purge(home.Tenant, w.version(home.Tenant))
		w.lookUp(home, manyID("e", 0), manyID("e", 1))
		w.puts(home, "a")
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

// pageThrough reads a scope of n entries by pages of many sizes, with a tag and without.
func (w *world) pageThrough(n int, tag string) {
	for _, tags := range [][]string{nil, {tag}} {
		want := ids(w.ref.list(home, -1, driver.Query{At: w.now, Tags: tags}))
		for _, size := range []int{n/7 + 1, 100, 127, 128, 129, 256, 511, 512, 513, 1000, 1024, n - 1, n} {
			if size < n/20 || size > n {
				continue
			}
			w.quietly(fmt.Sprintf("read by pages of %d, tags %s", size, describeTexts(tags)), func() {
				w.walk(size, want, func(q driver.Query) []driver.Entry {
					q.Tags = tags
					return w.list(home, q)
				})
			})
		}
	}
}

// walk goes through everything page by page.
func (w *world) walk(size int, want []string, page func(q driver.Query) []driver.Entry) {
	q := driver.Query{At: w.now, Limit: size}
	var got []driver.Entry
	for range len(want)/size + 2 {
		p := page(q)
		w.check(len(p) <= size, fmt.Sprintf("at most %d entries", size), "%d", len(p))
		got = append(got, p...)
		if len(p) < size {
			break
		}
		q.After = p[len(p)-1].Cursor()
	}
	w.sameIDs(got, want)
}

// fillMany puts n entries in home by one mutation.
func (w *world) fillMany(n int, name string, change func(i int, e *driver.Entry)) {
	var m driver.Mutation
	for i := range n {
		e := w.entry(manyID(name, i))
		if change != nil {
			change(i, &e)
		}
		m.Put = append(m.Put, driver.Placed{Scope: home, Entry: e})
	}
	w.quietly(fmt.Sprintf("put %d entries %s… by one mutation", n, name), func() { w.apply(m) })
}

func (w *world) setMany(docs []driver.Document) []driver.Document {
	var stored []driver.Document
	w.quietly(fmt.Sprintf("store %d documents by one mutation", len(docs)), func() { stored = w.sets(docs...) })
	return stored
}

// everyPart is a mutation of n parts of each kind, in the world that prepareParts makes.
func (w *world) everyPart(n int) driver.Mutation {
	var m driver.Mutation
	for i := range n {
		id := func(name string) string { return manyID(name, i) }
		m.Live = append(m.Live, located(home, id("live"))...)
		m.Put = append(m.Put, w.placed(home, id("put"))...)
		m.Retire = append(m.Retire, retire(home, id("retire"), driver.Superseded, id("live")))
		m.Restore = append(m.Restore, located(home, id("restore"))...)
		m.Erase = append(m.Erase, located(home, id("erase"))...)
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: note(home, id("n"), id("value"))})
		m.Events = append(m.Events, w.event("run-1", id("ev")))
	}
	return m
}

func (w *world) prepareParts(n int) {
	for _, name := range []string{"live", "retire", "restore", "erase"} {
		w.fillMany(n, name, nil)
	}
	var m driver.Mutation
	for i := range n {
		m.Retire = append(m.Retire, retire(home, manyID("restore", i), driver.Merged, manyID("live", i)))
	}
	w.quietly("merge a quarter", func() { w.apply(m) })
}

// failsAtTheLast makes the last part of each kind fail in turn, and then none.
func failsAtTheLast(w *world, n int) {
	n = n/2 + 1
	w.prepareParts(n)
	for _, c := range []struct {
		name string
		fail func(m *driver.Mutation)
	}{
		{"live", func(m *driver.Mutation) { m.Live[n-1].ID = "never" }},
		{"put", func(m *driver.Mutation) { m.Put[n-1].Entry.ID = manyID("live", n-1) }},
		{"retire", func(m *driver.Mutation) { m.Retire[n-1].ID = manyID("restore", n-1) }},
		{"successor", func(m *driver.Mutation) { m.Retire[n-1].For = "never" }},
		{"restore", func(m *driver.Mutation) { m.Restore[n-1].ID = manyID("live", n-1) }},
		{"document", func(m *driver.Mutation) { m.Documents[n-1].Rev = 1 << 40 }},
	} {
		m := w.everyPart(n)
		c.fail(&m)
		w.quietly(fmt.Sprintf("apply a mutation of %d parts of each kind, of which the last %s fails", n, c.name), func() { w.conflicts(m) })
		w.lists(home, ids(w.ref.list(home, -1, driver.Query{At: w.now}))...)
	}
	w.quietly(fmt.Sprintf("apply a mutation of %d parts of each kind", n), func() { w.apply(w.everyPart(n)) })
}

func manyRecords(w *world, n int) {
	w.puts(home, "head")
	w.fillMany(n, "e", func(i int, e *driver.Entry) { e.Subjects = []string{"customer:1", fmt.Sprint("customer:", i)} })
	var m driver.Mutation
	for i := range n {
		switch id := manyID("e", i); i % 5 {
		case 0, 1:
			m.Retire = append(m.Retire, retire(home, id, driver.Merged, "head"))
		case 2:
			m.Retire = append(m.Retire, retire(home, id, driver.Deleted, ""))
		case 3:
			m.Erase = append(m.Erase, located(home, id)...)
		}
	}
	w.quietly("merge, delete and erase the most of them", func() { w.apply(m) })
	var merged []string
	for _, r := range m.Retire {
		if r.For == "head" {
			merged = append(merged, r.ID)
		}
	}
	w.quietly("expect that the one is heir of all of them, and of all but the last", func() {
		heirs := func(of []string) driver.Mutation {
			return driver.Mutation{MergedInto: map[driver.Located][]string{{Scope: home, ID: "head"}: of}}
		}
		w.apply(heirs(merged))
		w.conflicts(heirs(append(slices.Clone(merged[:len(merged)-1]), "never")))
	})
}

func manyWaiting(w *world, n int) {
	w.quietly(fmt.Sprintf("queue %d events of two runs, and as many of another tenant", n), func() {
		var recs, foreign []events.Record
		for i := range n {
			e := w.event([]string{"run-1", "run-2"}[i%2], manyID("ev", i))
			recs = append(recs, e)
			e.Tenant = "globex"
			foreign = append(foreign, e)
		}
		_, err := w.tryApply("globex", queue(foreign...))
		w.must(err)
		w.apply(queue(recs[:n/2]...))
		for _, e := range recs[n/2 : n/2+n/10] {
			w.apply(queue(e))
		}
		w.apply(queue(recs[n/2+n/10:]...))
	})
	for _, limit := range []int{1, 100, 128, 256, 500, 512, 1000, n - 1, n} {
		w.counts(home.Tenant, limit, n)
		w.counts("", limit, 2*n)
	}
	w.audit()
	w.quietly("deliver all but some, in one call", func() {
		all := w.ref.undelivered("", "")
		w.delivered(all[2 : len(all)-1]...)
	})
}

// sizes are lengths of texts and values.
func (w *world) sizes() []int {
	switch w.size(0, 1, 2) {
	case 0:
		return []int{1, 65_535, 65_536, 65_537, 1 << 20, 1<<20 + 1}
	case 1:
		return []int{1, 63, 64, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20, 1<<20 + 1, 1 << 24, 1<<24 + 1}
	}
	return []int{1, 63, 64, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20, 1<<20 + 1, 1<<24 - 1, 1 << 24, 1<<24 + 1, 1<<25 + 1}
}

// long is a text of n bytes that no part of it equals.
func long(n int) string {
	var b strings.Builder
	filler := strings.Repeat("words é of any kind ", 50)
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
		e.Tags, e.Subjects = []string{long(min(n, 256))}, []string{long(min(n, driver.MaxLabelBytes))}
		w.put(home, e)
		w.get(home, e)
		other := e
		other.Content = e.Content[:len(e.Content)-1] + "~"
		w.mustBe(w.tryPut(home, other), driver.ErrConflict)
	}
}

func longValues(w *world) {
	w.puts(home, "a")
	for i, n := range w.sizes() {
		for _, d := range []driver.Document{note(home, fmt.Sprint("n", i), ""), digest(home, fmt.Sprint("d", i), "a"), file(home, fmt.Sprint("f", i))} {
			d.Value = slices.Concat([]byte{0, 0xff}, []byte(long(n)))
			d = w.set(d)
			w.holds(d)
			d.Group = "group"
			value := d.Value
			d.Value = nil
			d = w.retains(d)
			d.Value = value
			w.holds(d)
			if n > 1<<20 {
				w.removes(d)
			}
		}
	}
}
