package adaptertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func consolidationLaw() law {
	tx := []Offer{Transactor}
	return law{name: "CONSOLIDATE", number: "C2, C5, C7", says: "a consolidation on this store does what it says, and only once", cases: []testCase{
		{"merges-and-supersedes", "a pass merges what says the same, supersedes older values, and leaves the rest alone", tx, consolidates},
		{"second-pass", "a pass over an unchanged corpus counts the same before and after, and writes no entry", tx, consolidatesOnce},
		{"racing-writes", "what is written by others at the same time is still there, or in a lineage", tx, raceConsolidation},
	}}
}

// noted is a text that a corpus has, with its slot if it is a value of one.
type noted struct{ text, slot string }

// corpus has a group for each thing that a pass does.
var corpus = []noted{
	{text: "Lena prefers e-mail."},
	{text: "Lena prefers  e-mail"},
	{text: "Orders must be signed by Tomas."},
	{"The plan is Starter.", "slot:plan"},
	{"The plan is Team.", "slot:plan"},
	{text: "Brightwater pays within 30 days."},
	{text: "Brightwater pays within 60 days."},
}

// putCorpus writes the corpus in the order in which it is listed.
func (h *host) putCorpus() []driver.Entry {
	h.w.did("a job puts %d facts: one said twice, and two values of one slot", len(corpus))
	job := h.job(home.Tenant, nil)
	var all []driver.Entry
	for _, n := range corpus {
		d := memory.Draft{Content: n.text}
		if n.slot != "" {
			d.Tags = []string{n.slot}
		}
		all = append(all, h.put(job, home.Ref, d))
	}
	return all
}

// tryConsolidate makes one pass, with a planner that needs no model.
func (h *host) tryConsolidate(id string, progress func(consolidate.Progress)) (consolidate.Result, error) {
	engine, err := consolidate.New(consolidate.Config{})
	h.w.must(err)
	job := h.named(id)
	result, err := engine.Run(h.w.ctx, job, home.Ref, consolidate.Options{Progress: progress})
	if err != nil {
		return result, err
	}
	return result, job.End(h.w.ctx)
}

// consolidate makes a pass, a millisecond after what was before.
func (h *host) consolidate(id string, progress func(consolidate.Progress)) consolidate.Result {
	h.w.now = h.w.now.Add(time.Millisecond)
	h.w.did("the consolidation %s runs", id)
	result, err := h.tryConsolidate(id, progress)
	h.w.must(err)
	return result
}

// consolidatedCorpus expects what a pass makes of the corpus.
func (h *host) consolidatedCorpus() {
	w := h.w
	texts := h.contents(home.Tenant, home.Ref)
	w.check(len(texts) == 5, "five live facts", "%s", describeTexts(texts))
	for _, want := range []string{corpus[2].text, corpus[4].text, corpus[5].text, corpus[6].text} {
		w.check(slices.Contains(texts, want), "the fact "+short(want), "%s", describeTexts(texts))
	}
	w.check(slices.Contains(texts, corpus[0].text) != slices.Contains(texts, corpus[1].text),
		"one of the two that say the same", "%s", describeTexts(texts))
	w.check(!slices.Contains(texts, corpus[3].text), "the older value of the slot superseded", "%s", describeTexts(texts))
}

// announced counts the events of a kind in the log, which drops known ids.
func (h *host) announced(run string, kind events.Type) int {
	n := 0
	for _, ev := range h.log.Events(home.Tenant, run) {
		if ev.Payload.EventType() == kind {
			n++
		}
	}
	return n
}

// fate follows an entry to what stands in its place.
func (h *host) fate(id string) memory.Fate {
	f, err := h.bank.Fates(h.w.ctx, home.Tenant, home.Ref, id)
	h.w.must(err)
	return f[id]
}

// nothingLost expects each entry to live, or to have a successor that does.
func (h *host) nothingLost(all []driver.Entry) {
	for _, e := range all {
		fates, err := h.bank.Fates(h.w.ctx, home.Tenant, home.Ref, e.ID)
		want := "the entry that says " + short(e.Content) + " live, or in a lineage that leads to a live entry"
		if err != nil {
			h.w.fail(want, describeError(err))
		}
		f := fates[e.ID]
		h.w.check(f.State != driver.Deleted && f.Head.ID != "", want, "it is %s", f.State)
	}
}

func consolidates(w *world) {
	h := w.host()
	all := h.putCorpus()
	r := h.consolidate("p1", nil)
	w.check(r.InputCount == 7 && r.OutputCount == 5 && r.Merged == 1 && r.Superseded == 1,
		"7 entries to 5, 1 merged, 1 superseded", "%d to %d, %d merged, %d superseded", r.InputCount, r.OutputCount, r.Merged, r.Superseded)
	h.consolidatedCorpus()
	h.nothingLost(all)
	f := h.fate(all[3].ID)
	w.check(f.State == driver.Superseded && f.Head.ID == all[4].ID, "the older value superseded by the newer", "%s by %s", f.State, short(f.Head.Content))
	one, other := h.fate(all[0].ID), h.fate(all[1].ID)
	w.check(one.Head.ID == other.Head.ID && (one.State == driver.Merged) != (other.State == driver.Merged),
		"one of the two that say the same merged into the other", "%s and %s", one.State, other.State)
	n := h.announced("p1", events.TypeMemoryConsolidated)
	w.check(n == 1, "one event of the pass", "%d", n)
}

// records are all that the history of the scope tells, in words.
func (w *world) records() []string {
	var all []string
	for _, rec := range w.history(home.Tenant, driver.HistoryQuery{Ref: home.Ref}) {
		all = append(all, describeRecord(&rec))
	}
	slices.Sort(all)
	return all
}

func consolidatesOnce(w *world) {
	h := w.host()
	h.putCorpus()
	h.consolidate("p1", nil)
	before := w.records()
	for _, id := range []string{"p2", "p3"} {
		r := h.consolidate(id, nil)
		w.check(r.Unchanged, "a corpus that is as the last pass left it", "one to be planned again")
		w.check(r.InputCount == 5 && r.OutputCount == 5, "5 entries before and after", "%d and %d", r.InputCount, r.OutputCount)
		w.check(slices.Equal(before, w.records()), "no entry written or changed", "%s", describeTexts(w.records()))
		n := h.announced(id, events.TypeMemoryConsolidated)
		w.check(n == 1, "one event of the pass", "%d", n)
	}
}

// viewHeldAcross opens a view in both ways that there are, lets something happen, and
// expects the view to show what it did.
func (h *host) viewHeldAcross(change func()) {
	w := h.w
	run := h.run(home.Tenant, "reader", "").Memory()
	v := w.version(home.Tenant)
	texts := w.contents(run, home.Ref)
	seen, err := w.tryListAt(home, v, driver.Query{At: w.now})
	w.must(err)
	change()
	w.did("a run that was open meanwhile lists")
	got := w.contents(run, home.Ref)
	w.check(slices.Equal(got, texts), describeTexts(texts), "%s", describeTexts(got))
	w.listsAt(home, v, ids(seen)...)
	for i := range seen {
		w.getsAt(home, v, seen[i])
	}
}

func raceConsolidation(w *world) {
	h := w.host()
	all := h.putCorpus()
	const writers, writes = 3, 12
	var mu sync.Mutex
	w.quietly("three jobs put 12 facts each, of which many say the same, while four consolidations run", func() {
		w.parallel(writers+1, func(i int) {
			if i == writers {
				for n := range 4 {
					_, err := h.tryConsolidate(fmt.Sprint("p", n), nil)
					w.must(err)
				}
				return
			}
			job := h.named(fmt.Sprint("writer-", i))
			for n := range writes {
				e, err := job.Put(w.ctx, home.Ref, memory.Draft{Content: fmt.Sprintf("Desk %d is taken.", (n+i)%5)})
				w.must(err)
				mu.Lock()
				all = append(all, e)
				mu.Unlock()
			}
		})
	})
	h.nothingLost(all)
	h.consolidate("last", nil)
	h.nothingLost(all)
	texts := h.contents(home.Tenant, home.Ref)
	w.check(len(texts) == 10, "five facts of the corpus and five of the writers", "%d: %s", len(texts), describeTexts(texts))
}
