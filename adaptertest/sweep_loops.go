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
	all    iter.Seq[string]
	held   func() []string // what it is to yield, by the reference
	sorted bool            // it yields in the order of the names
	lent   bool            // it may hide what it yields from the next one
}

// loopOver is a loop that gives things a name. It is ranged over more than once.
func loopOver[T any](w *world, name string, all iter.Seq2[T, error], held func() []T, nameOf func(x T) string) loop {
	return loop{name: name, all: func(yield func(string) bool) {
		for x, err := range all {
			w.must(err)
			if !yield(nameOf(x)) {
				return
			}
		}
	}, held: func() (names []string) {
		for _, x := range held() {
			names = append(names, nameOf(x))
		}
		return names
	}}
}

func (w *world) scopesLoop() loop {
	l := loopOver(w, "the scopes", w.tenants.Scopes(w.ctx, driver.Scope{}), w.ref.scopes, describeScope)
	l.sorted = true
	return l
}

func (w *world) historyLoop(q driver.HistoryQuery) loop {
	held := func() []driver.Record { return w.ref.history(home.Tenant, q) }
	return loopOver(w, "the history ("+describe(q)+")", w.tx.History(w.ctx, home.Tenant, q), held, func(r driver.Record) string {
		w.check(len(q.For) == 0 || slices.Contains(q.For, r.For), "a record as it is, for which the query asks", "one that is %s", r.State)
		w.check(r.Erased || r.Entry.Content != "", "a record as it is or was", "one of no content that is not erased")
		return r.Ref + "/" + r.Entry.ID
	})
}

func (w *world) documentsLoop(q driver.DocumentQuery) loop {
	q.Tenant = home.Tenant
	held := func() []driver.Document { return w.ref.find(q) }
	l := loopOver(w, "the documents ("+describe(q)+")", w.tx.Documents(w.ctx, q), held, func(d driver.Document) string { return d.Ref + "/" + d.Kind + "/" + d.Key })
	l.sorted = true
	return l
}

func (w *world) outboxLoop(tenant, run string) loop {
	held := func() []events.Record { return w.ref.undelivered(tenant, run) }
	l := loopOver(w, "what waits ("+describe([]string{tenant, run})+")", w.tx.Undelivered(w.ctx, tenant, run), held, func(e events.Record) string { return e.Tenant + "/" + e.RunID + "/" + e.ID })
	l.lent = run == ""
	return l
}

// loopCases stop each loop early, and change the store in its body.
func loopCases() []testCase {
	const says = "may stop early, and may change the store: what was there and is, comes once"
	return []testCase{
		{"loop-scopes", "the loop over scopes " + says, []Offer{Tenants}, func(w *world) {
			for i := range w.size(130, 300) {
				w.puts(at(home.Tenant, manyID("ref", i)), "x")
			}
			w.sweepLoops(w.scopesLoop())
		}},
		{"loops", "each loop " + says, transactor, func(w *world) {
			ref, subject := home.Ref, "everyone"
			loops := []loop{w.outboxLoop(home.Tenant, "run-1"), w.outboxLoop("", "")}
			for _, q := range []driver.HistoryQuery{{}, {Ref: ref}, {Subject: subject}, {Ref: ref, Subject: subject}, {Ref: ref, For: []string{"a00000", "b00000", "c00000", "d00000"}}} {
				loops = append(loops, w.historyLoop(q))
			}
			for _, q := range []driver.DocumentQuery{{EveryRef: true}, {Ref: ref, Kind: "file"}, {EveryRef: true, Group: "group"}, {EveryRef: true, Subject: subject},
				{Ref: ref, Bare: true}, {Ref: ref, Group: "group"}, {Ref: ref, Subject: subject}} {
				loops = append(loops, w.documentsLoop(q))
			}
			w.sweepLoops(loops...)
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
	p := w.newPlan(home, func(p *plan) { p.many = w.size(65, 150) })
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
				for range l.all {
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
	before := l.held()
	seen, ever, gone, last := map[string]bool{}, map[string]bool{}, map[string]bool{}, ""
	for _, name := range before {
		ever[name] = true
	}
	for name := range l.all {
		w.check(!seen[name] || gone[name] && !l.sorted, "each thing once", "%s again", short(name))
		w.check(!l.sorted || last <= name, "the order of the names", "%s behind %s", short(name), short(last))
		seen[name], last = true, name
		if len(seen)%5 == 0 && len(seen) <= 60 {
			for _, change := range []func(){
				func() { p.moved(1, everyTopic[:5]...) }, func() { p.moved(1, outgoing) }, func() { other.moved(1, everyTopic[:6]...) },
				func() { w.puts(at(home.Tenant, manyID("new", len(w.ref.tenant(home.Tenant).refs))), "x") },
			} {
				change()
				now := map[string]bool{}
				for _, name := range l.held() {
					now[name], ever[name] = true, true
				}
				for name := range ever { // an event that was delivered may be queued anew
					gone[name] = gone[name] || !now[name]
				}
			}
		}
	}
	for _, name := range before {
		w.check(seen[name] || gone[name], "everything that was there throughout", "all but %s", short(name))
	}
	for name := range sorted(seen) {
		w.check(ever[name], "what was there", "%s", short(name))
	}
}
