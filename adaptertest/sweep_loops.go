package adaptertest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// loop is a way in which a store yields things one by one.
type loop struct {
	name   string
	needs  []Offer
	walk   func(w *world) iter.Seq2[string, error]
	held   func(w *world) []string // the names of what it is to yield, by the reference
	sorted bool                    // it yields in the order of the names
	lent   bool                    // it may hide what it yields from the next one
}

// walking gives what is yielded a name.
func walking[T any](all iter.Seq2[T, error], name func(x T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for x, err := range all {
			if !yield(name(x), err) {
				return
			}
		}
	}
}

func historyLoop(name string, q driver.HistoryQuery) loop {
	return loop{"history" + name, []Offer{Transactor}, func(w *world) iter.Seq2[string, error] {
		return walking(w.tx.History(w.ctx, home.Tenant, q), func(r driver.Record) string {
			w.check(len(q.For) == 0 || slices.Contains(q.For, r.For), "a record as it is, for which the query asks", "one that is %s", r.State)
			w.check(r.Erased || r.Entry.Content != "", "a record as it is or was", "one of no content that is not erased")
			return recordText(r)
		})
	}, func(w *world) []string { return names(w.ref.history(home.Tenant, q), recordText) }, false, false}
}

func documentsLoop(name string, q driver.DocumentQuery) loop {
	q.Tenant = home.Tenant
	return loop{"documents" + name, []Offer{Transactor}, func(w *world) iter.Seq2[string, error] {
		return walking(w.tx.Documents(w.ctx, q), documentText)
	}, func(w *world) []string { return names(w.ref.find(q), documentText) }, true, false}
}

func outboxLoop(name, tenant, run string) loop {
	return loop{"outbox" + name, []Offer{Transactor}, func(w *world) iter.Seq2[string, error] {
		return walking(w.tx.Undelivered(w.ctx, tenant, run), eventText)
	}, func(w *world) []string { return names(w.ref.undelivered(tenant, run), eventText) }, false, run == ""}
}

func eventText(e events.Record) string      { return e.Tenant + "/" + e.RunID + "/" + e.ID }
func recordText(r driver.Record) string     { return r.Ref + "/" + r.Entry.ID }
func documentText(d driver.Document) string { return nameIn(&d) }

// names are what things are called.
func names[T any](things []T, name func(x T) string) (all []string) {
	for _, x := range things {
		all = append(all, name(x))
	}
	return all
}

var loops = []loop{
	{"scopes", []Offer{Tenants}, func(w *world) iter.Seq2[string, error] {
		return walking(w.tenants.Scopes(w.ctx, driver.Scope{}), describeScope)
	}, func(w *world) []string { return names(w.ref.scopes(), describeScope) }, true, false},
	historyLoop("", driver.HistoryQuery{}), historyLoop("-ref", driver.HistoryQuery{Ref: home.Ref}), historyLoop("-subject", driver.HistoryQuery{Subject: "everyone"}),
	historyLoop("-ref-subject", driver.HistoryQuery{Ref: home.Ref, Subject: "everyone"}),
	historyLoop("-successor", driver.HistoryQuery{Ref: home.Ref, For: []string{"a00000", "b00000", "c00000", "d00000"}}),
	documentsLoop("", driver.DocumentQuery{EveryRef: true}), documentsLoop("-kind", driver.DocumentQuery{Ref: home.Ref, Kind: "file"}),
	documentsLoop("-group", driver.DocumentQuery{EveryRef: true, Group: "group"}), documentsLoop("-subject", driver.DocumentQuery{EveryRef: true, Subject: "everyone"}),
	documentsLoop("-ref", driver.DocumentQuery{Ref: home.Ref, Bare: true}), documentsLoop("-ref-group", driver.DocumentQuery{Ref: home.Ref, Group: "group"}),
	documentsLoop("-ref-subject", driver.DocumentQuery{Ref: home.Ref, Subject: "everyone"}),
	outboxLoop("", "", ""), outboxLoop("-run", home.Tenant, "run-1"),
}

// loopCases stop each loop early, and change the store in its body.
func loopCases() []testCase {
	var cases []testCase
	for _, l := range loops {
		cases = append(cases, testCase{"loop-" + l.name, "the loop may stop early, and may change the store: what was there and is, comes once", l.needs, func(w *world) { w.sweepLoop(l) }})
	}
	return cases
}

// leftLoops is how often a loop is left early: more often than a pool has connections.
const leftLoops = 40

// moved makes random moves in a plan, of some topics.
func (p *plan) moved(n int, topics ...topic) {
	p.dice = rand.New(rand.NewPCG(p.rng.Uint64(), 0))
	all := p.movesOf(topics)
	for range min(n, n*len(all)) {
		p.step(all)
	}
}

// sweepLoop has more than a page that a store reads ahead of everything.
func (w *world) sweepLoop(l loop) {
	p := w.newPlan(home, func(p *plan) { p.many = w.size(65, 550, 550) })
	other := w.newPlan(at("another", "ref"), nil)
	w.quietly("fill refs, store documents and queue events, hundreds of each", func() {
		for _, name := range members {
			p.fill(name)
			other.fill(name)
		}
		for i := range 2 * p.many {
			w.puts(at(home.Tenant, manyID("ref", i)), "x")
		}
		p.moved(20, documents)
		p.moved(6, entries)
		if w.tx != nil {
			w.apply(queue(slices.Concat(p.events(p.run, "one"), p.events(p.run, "two"), p.events(p.run, "three"))...))
		}
	})
	if !l.lent {
		w.leavesNothing(leftLoops, fmt.Sprintf("leave %s early, %d times", l.name, leftLoops), func(n int) {
			at := 0
			for _, err := range l.walk(w) {
				w.must(err)
				if at++; at > n%3 {
					break
				}
			}
		})
	}
	w.puts(home, "after") // nothing is locked, and no pool is empty
	before, ever := l.held(w), map[string]bool{}
	throughout := slices.Clone(before)
	var seen []string
	w.quietly("walk through "+l.name+", and change the store in the loop", func() {
		for name, err := range l.walk(w) {
			w.must(err)
			w.check(len(seen) < 100*p.many, "an end", "%d", len(seen))
			if seen = append(seen, name); len(seen)%3 != 0 || len(seen) > 60 {
				continue
			}
			p.moved(1, everyTopic[:5]...)
			p.moved(1, outgoing)
			other.moved(1, everyTopic[:6]...)
			w.puts(at(home.Tenant, manyID("new", len(seen))), "x")
			now := l.held(w)
			throughout = slices.DeleteFunc(throughout, func(name string) bool { return !slices.Contains(now, name) })
			for _, name := range now {
				ever[name] = true
			}
		}
	})
	if l.sorted {
		w.check(slices.IsSorted(seen) && slices.IsSorted(before), "the order of the names", "another")
	}
	times := map[string]int{}
	for _, name := range seen {
		times[name]++
		w.check(times[name] == 1, "each thing once", "%s again", short(name))
		w.check(ever[name] || slices.Contains(before, name), "what was there", "%s", short(name))
	}
	for _, name := range throughout {
		w.check(times[name] == 1, "everything that was there throughout", "all but %s", short(name))
	}
	w.unmirrored() // the same moves are audited elsewhere
}
