package adaptertest

import (
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// loop is a way in which a store yields things one by one, by the names of the things.
type loop struct {
	name   string
	walk   func(w *world) iter.Seq[string]
	held   func(w *world) []string // what it is to yield, by the reference
	sorted bool                    // it yields in the order of the names
	lent   bool                    // it may hide what it yields from the next one
}

// loopOver is a loop that gives things a name.
func loopOver[T any](name string, walk func(w *world) iter.Seq2[T, error], held func(w *world) []T, nameOf func(w *world, x T) string) loop {
	return loop{name: name, walk: func(w *world) iter.Seq[string] {
		return func(yield func(string) bool) {
			for x, err := range walk(w) {
				w.must(err)
				if !yield(nameOf(w, x)) {
					return
				}
			}
		}
	}, held: func(w *world) (all []string) {
		for _, x := range held(w) {
			all = append(all, nameOf(w, x))
		}
		return all
	}}
}

func scopesLoop() loop {
	l := loopOver("the scopes", func(w *world) iter.Seq2[driver.Scope, error] { return w.tenants.Scopes(w.ctx, driver.Scope{}) },
		func(w *world) []driver.Scope { return w.ref.scopes() }, func(_ *world, s driver.Scope) string { return describeScope(s) })
	l.sorted = true
	return l
}

func historyLoop(q driver.HistoryQuery) loop {
	return loopOver("the history ("+describe(q)+")", func(w *world) iter.Seq2[driver.Record, error] { return w.tx.History(w.ctx, home.Tenant, q) },
		func(w *world) []driver.Record { return w.ref.history(home.Tenant, q) }, func(w *world, r driver.Record) string {
			w.check(len(q.For) == 0 || slices.Contains(q.For, r.For), "a record as it is, for which the query asks", "one that is %s", r.State)
			w.check(r.Erased || r.Entry.Content != "", "a record as it is or was", "one of no content that is not erased")
			return r.Ref + "/" + r.Entry.ID
		})
}

func documentsLoop(q driver.DocumentQuery) loop {
	q.Tenant = home.Tenant
	l := loopOver("the documents ("+describe(q)+")", func(w *world) iter.Seq2[driver.Document, error] { return w.tx.Documents(w.ctx, q) },
		func(w *world) []driver.Document { return w.ref.find(q) }, func(_ *world, d driver.Document) string { return nameIn(&d) })
	l.sorted = true
	return l
}

func outboxLoop(tenant, run string) loop {
	l := loopOver("what waits ("+describe([]string{tenant, run})+")", func(w *world) iter.Seq2[events.Record, error] { return w.tx.Undelivered(w.ctx, tenant, run) },
		func(w *world) []events.Record { return w.ref.undelivered(tenant, run) }, func(_ *world, e events.Record) string { return e.Tenant + "/" + e.RunID + "/" + e.ID })
	l.lent = run == ""
	return l
}

// loopCases stop each loop early, and change the store in its body.
func loopCases() []testCase {
	const says = "may stop early, and may change the store: what was there and is, comes once"
	return []testCase{
		{"loop-scopes", "the loop over scopes " + says, []Offer{Tenants}, func(w *world) {
			for i := range w.size(130, 300, 1100) {
				w.puts(at(home.Tenant, manyID("ref", i)), "x")
			}
			w.sweepLoops(scopesLoop())
		}},
		{"loops", "each loop " + says, transactor, func(w *world) {
			ref, subject := home.Ref, "everyone"
			w.sweepLoops(outboxLoop(home.Tenant, "run-1"), outboxLoop("", ""),
				historyLoop(driver.HistoryQuery{}), historyLoop(driver.HistoryQuery{Ref: ref}), historyLoop(driver.HistoryQuery{Subject: subject}),
				historyLoop(driver.HistoryQuery{Ref: ref, Subject: subject}), historyLoop(driver.HistoryQuery{Ref: ref, For: []string{"a00000", "b00000", "c00000", "d00000"}}),
				documentsLoop(driver.DocumentQuery{EveryRef: true}), documentsLoop(driver.DocumentQuery{Ref: ref, Kind: "file"}),
				documentsLoop(driver.DocumentQuery{EveryRef: true, Group: "group"}), documentsLoop(driver.DocumentQuery{EveryRef: true, Subject: subject}),
				documentsLoop(driver.DocumentQuery{Ref: ref, Bare: true}), documentsLoop(driver.DocumentQuery{Ref: ref, Group: "group"}),
				documentsLoop(driver.DocumentQuery{Ref: ref, Subject: subject}))
		}},
	}
}

// moved makes random moves in a plan, of some topics.
func (p *plan) moved(n int, topics ...topic) {
	p.dice = rand.New(rand.NewPCG(p.rng.Uint64(), 0))
	all := p.movesOf(topics)
	for range min(n, n*len(all)) {
		p.step(all)
	}
}

// sweepLoops leaves loops early, more often in all than a pool has connections, and changes the store in
// their bodies. There is more than a page that a store reads ahead of everything.
func (w *world) sweepLoops(loops ...loop) {
	p := w.newPlan(home, func(p *plan) { p.many = w.size(65, 150, 550) })
	other := w.newPlan(at("another", "ref"), nil)
	w.quietly("store entries and documents, and queue events, many of each", func() {
		for _, name := range members {
			p.fill(name)
			other.fill(name)
		}
		p.moved(12, documents)
		p.moved(6, entries)
		if w.tx != nil {
			w.apply(queue(slices.Concat(p.events(p.run, "one"), p.events(p.run, "two"), p.events(p.run, "three"))...))
		}
	})
	p.many = 10 // a body changes some of them
	for _, l := range loops {
		w.quietly("leave early "+l.name, func() {
			for n := 0; n < 3 && !l.lent; n++ {
				at := 0
				for range l.walk(w) {
					if at++; at > n {
						break
					}
				}
			}
		})
		w.puts(home, "after "+l.name) // nothing is locked, and no pool is empty
		w.quietly("change the store in a loop over "+l.name, func() { w.sweepLoop(l, p, other) })
	}
	w.unmirrored() // the same moves are audited elsewhere
}

// sweepLoop makes moves in the body of a loop.
func (w *world) sweepLoop(l loop, p, other *plan) {
	before := l.held(w)
	seen, ever, gone := map[string]bool{}, map[string]bool{}, map[string]bool{}
	last := ""
	for name := range l.walk(w) {
		w.check(!seen[name], "each thing once", "%s again", short(name))
		w.check(!l.sorted || last <= name, "the order of the names", "%s behind %s", short(name), short(last))
		seen[name], last = true, name
		if len(seen)%5 == 0 && len(seen) <= 60 {
			p.moved(1, everyTopic[:5]...)
			p.moved(1, outgoing)
			other.moved(1, everyTopic[:6]...)
			w.puts(at(home.Tenant, manyID("new", len(w.ref.tenant(home.Tenant).refs))), "x")
			now := map[string]bool{}
			for _, name := range l.held(w) {
				now[name], ever[name] = true, true
			}
			for _, name := range before {
				gone[name] = gone[name] || !now[name]
			}
		}
	}
	for _, name := range before {
		w.check(seen[name] || gone[name], "everything that was there throughout", "all but %s", short(name))
		ever[name] = true
	}
	for name := range sorted(seen) {
		w.check(ever[name], "what was there", "%s", short(name))
	}
}
