package adaptertest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func consolidationLaw() law {
	return law{name: "CONSOLIDATE", number: "C2, C5, C7", says: "a consolidation on this store does what it says, and only once", cases: []testCase{
		pass{"pass", "a consolidation that fails at any call loses no entry, the same again completes it with one event, and another changes nothing", []Offer{Transactor},
			prepareConsolidation, runConsolidation, lineagesAreWhole, consolidationIsDone}.testCase(),
		{"racing-writes", "what is written by others at the same time is still there, or in a lineage", []Offer{Transactor}, raceConsolidation},
	}}
}

func prepareConsolidation(_ *world, h *host) {
	h.putCorpus()
	h.relay()
}

func runConsolidation(_ *world, h *host) error {
	_, err := h.tryConsolidate("engine")
	return err
}

func consolidationIsDone(w *world, h *host) {
	h.consolidatedCorpus()
	h.announcedOnce(events.TypeMemoryConsolidated)
	before := w.records()
	w.did("another consolidation runs")
	r, err := h.tryConsolidate("second")
	w.must(err)
	w.check(r.Unchanged && r.InputCount == 5 && r.OutputCount == 5, "a corpus of 5 that is as the last pass left it", "%d and %d, unchanged: %t", r.InputCount, r.OutputCount, r.Unchanged)
	w.check(slices.Equal(before, w.records()), "no entry written or changed", "%s", describeTexts(w.records()))
}

// records are all that the history of the scope tells, in words.
func (w *world) records() []string {
	var all []string
	for _, rec := range w.history(home.Tenant, driver.HistoryQuery{Ref: home.Ref}) {
		all = append(all, describeRecord(&rec))
	}
	return all
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
func (h *host) tryConsolidate(id string) (consolidate.Result, error) {
	engine, err := consolidate.New(consolidate.Config{})
	h.w.must(err)
	job := h.named(id)
	result, err := engine.Run(h.w.ctx, job, home.Ref, consolidate.Options{})
	if err != nil {
		return result, err
	}
	return result, job.End(h.w.ctx)
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

// lineagesAreWhole expects that all that was ever written lives, or leads to what
// does.
func lineagesAreWhole(w *world, h *host) {
	var all []driver.Entry
	for _, rec := range w.history(home.Tenant, driver.HistoryQuery{Ref: home.Ref}) {
		all = append(all, rec.Entry)
	}
	w.check(len(all) >= 3, "the records of what was put", "%d records", len(all))
	h.nothingLost(all)
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
					_, err := h.tryConsolidate(fmt.Sprint("p", n))
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
	w.did("the last consolidation runs")
	_, err := h.tryConsolidate("last")
	w.must(err)
	h.nothingLost(all)
	texts := h.contents(home.Tenant, home.Ref)
	w.check(len(texts) == 10, "five facts of the corpus and five of the writers", "%d: %s", len(texts), describeTexts(texts))
}
