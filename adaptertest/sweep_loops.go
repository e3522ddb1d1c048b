package adaptertest

import (
	"fmt"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// loop is a way in which a store yields things one by one. All of them start with a memory
// of the same many things.
type loop struct {
	name   string
	needs  []Offer
	walk   func(w *world) iter.Seq2[string, error]
	held   func(w *world) []string // the names of what it is to yield, by the reference
	fixed  bool                    // it yields what was there when it began
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
	}, func(w *world) []string { return names(w.ref.history(home.Tenant, q), recordText) }, false, false, false}
}

func documentsLoop(name string, q driver.DocumentQuery) loop {
	q.Tenant = home.Tenant
	return loop{"documents" + name, []Offer{Transactor}, func(w *world) iter.Seq2[string, error] {
		return walking(w.tx.Documents(w.ctx, q), documentText)
	}, func(w *world) []string { return names(w.ref.find(q), documentText) }, false, true, false}
}

func outboxLoop(name, tenant, run string) loop {
	return loop{"outbox" + name, []Offer{Transactor}, func(w *world) iter.Seq2[string, error] {
		return walking(w.tx.Undelivered(w.ctx, tenant, run), eventText)
	}, func(w *world) []string { return names(w.ref.undelivered(tenant, run), eventText) }, false, false, run == ""}
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
	}, func(w *world) []string { return names(w.ref.scopes(), describeScope) }, false, true, false},
	historyLoop("", driver.HistoryQuery{}), historyLoop("-ref", driver.HistoryQuery{Ref: home.Ref}), historyLoop("-subject", driver.HistoryQuery{Subject: "customer:1"}),
	historyLoop("-ref-subject", driver.HistoryQuery{Ref: home.Ref, Subject: "customer:1"}),
	historyLoop("-successor", driver.HistoryQuery{Ref: home.Ref, For: []string{"head", "other"}}),
	documentsLoop("", driver.DocumentQuery{EveryRef: true}), documentsLoop("-kind", driver.DocumentQuery{Ref: home.Ref, Kind: "file"}),
	documentsLoop("-group", driver.DocumentQuery{EveryRef: true, Group: "group"}), documentsLoop("-subject", driver.DocumentQuery{EveryRef: true, Subject: "customer:1"}),
	documentsLoop("-ref", driver.DocumentQuery{Ref: home.Ref, Bare: true}), documentsLoop("-ref-group", driver.DocumentQuery{Ref: home.Ref, Group: "group"}),
	documentsLoop("-ref-subject", driver.DocumentQuery{Ref: home.Ref, Subject: "customer:1"}),
	outboxLoop("", "", ""), outboxLoop("-run", home.Tenant, "run-0"),
}

// loopCases stop each loop early, and change the store in its body.
func loopCases() []testCase {
	var cases []testCase
	for _, l := range loops {
		cases = append(cases, testCase{"loop-" + l.name, "the loop may stop early, and may change the store: what was there and is, comes once", l.needs, func(w *world) { w.sweepLoop(l) }})
	}
	return cases
}

// looped is how many of each thing there are: more than a page that a store reads ahead, and at
// least twice changedInLoop.
func (w *world) looped() int { return w.size(130, 1100, 1100) }

// leftLoops is how often a loop is left early: more often than a pool has connections.
const leftLoops = 40

// changedInLoop is at how many of them the store is changed.
const changedInLoop = 60

// fillLoops makes entries, of which the half is merged, documents, events and scopes.
func (w *world) fillLoops() {
	w.puts(home, "head", "other")
	w.fillMany(w.looped(), "e", func(i int, e *driver.Entry) { e.Subjects = []string{"customer:1"} })
	w.fillMany(w.looped(), "m", func(i int, e *driver.Entry) { e.Subjects = []string{"customer:1"} })
	var m driver.Mutation
	for i := range w.looped() {
		m.Retire = append(m.Retire, retire(home, manyID("m", i), driver.Merged, []string{"head", "other"}[i%2]))
		d := file(home, manyID("f", i), "customer:1")
		d.Group = "group"
		m.Documents = append(m.Documents, acts(driver.Set, d).Documents...)
		m.Events = append(m.Events, w.event(fmt.Sprint("run-", i%16/15), manyID("ev", i)))
		m.Put = append(m.Put, w.placed(at(home.Tenant, manyID("ref", i)), "x")...)
	}
	w.quietly("merge a half, store documents, queue events, and fill refs, hundreds of each", func() { w.apply(m) })
}

// changeInLoop does something to what a loop has yielded, or to what is far ahead of it.
func (w *world) changeInLoop(i int) {
	pair := i / 2
	if i%2 == 1 {
		pair = w.looped()/2 - 1 - pair
	}
	gone, stays := manyID("", 2*pair), manyID("", 2*pair+1)
	w.delete(home, "e"+gone, true)
	w.puts(home, manyID("new", i))
	w.puts(at("another", manyID("new", i)), "x")
	if w.level == LevelAdapter {
		return
	}
	held := func(key string) driver.Document {
		return w.ref.tenant(home.Tenant).documents[documentName{home.Ref, "file", key}]
	}
	w.delete(at(home.Tenant, "ref"+gone), "x", true)
	m := acts(driver.Remove, held("f"+gone))
	m.Documents = append(m.Documents, acts(driver.Set, held("f"+stays), file(home, manyID("a", i), "customer:1")).Documents...)
	m.Restore = located(home, "m"+gone)
	m.Events = queue(w.event("run-1", manyID("new", i))).Events
	w.apply(m)
	w.delivered(w.event("run-0", "ev"+gone))
	if w.tenants != nil && i%10 == 0 {
		w.puts(at("dropped", "ref"), "x")
		w.drop("dropped", 100, 3)
	}
}

func (w *world) sweepLoop(l loop) {
	if w.level == LevelAdapter {
		w.putMany(home, w.looped(), nil)
	} else {
		w.fillLoops()
	}
	collect := func(body func(i int)) (names []string) {
		for name, err := range l.walk(w) {
			w.must(err)
			w.check(len(names) < 20*w.looped(), "an end", "%d", len(names))
			names = append(names, name)
			body(len(names) - 1)
		}
		return names
	}
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
	before := l.held(w)
	if !l.lent {
		w.sameTexts(collect(func(int) {}), before...)
	}
	var seen []string
	w.quietly("walk through "+l.name+", and change the store in the loop", func() {
		seen = collect(func(i int) {
			if i < changedInLoop {
				w.changeInLoop(i)
			}
			if i == changedInLoop && w.level == LevelVersioned && !l.fixed {
				w.purge(home.Tenant, w.version(home.Tenant))
			}
		})
	})
	after := l.held(w)
	if l.sorted {
		w.check(slices.IsSorted(seen) && slices.IsSorted(before), "the order of the names", "another")
	}
	times := map[string]int{}
	for _, name := range seen {
		times[name]++
		w.check(times[name] == 1, "each thing once", "%s again", short(name))
	}
	for _, name := range before {
		w.check(times[name] == 1 || !l.fixed && !slices.Contains(after, name), "everything that was there and is", "all but %s", short(name))
	}
	if l.fixed {
		w.check(len(seen) == len(before), "what was there when the loop began", "%d more", len(seen)-len(before))
	}
	w.unmirrored() // the same steps are audited elsewhere
}
