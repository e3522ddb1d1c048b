package adaptertest

import (
	"slices"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// enginePasses are those of the packages consolidate and distill.
var enginePasses = []pass{
	{"consolidation-pass", "a consolidation that fails at any call loses no entry, and the same again completes it with one event", []Offer{Transactor},
		prepareConsolidation, runConsolidation, lineagesAreWhole, consolidationIsDone},
	{"distillation-pass", "a distillation that fails at any call loses no source, and the same again completes it with one event", []Offer{Transactor},
		prepareDistillation, runDistillation, sourcesAreLive, distillationIsDone},
	{"compaction-pass", "a compaction that fails at any call loses no source, and the same again completes it with one event", []Offer{Transactor},
		prepareDistillation, runCompaction, lineagesAreWhole, compactionIsDone},
	{"firing-pass", "commitments that meet a failure at any call fire once, and the next ticks complete them", []Offer{Transactor, Scheduler},
		prepareFiring, runFiring, noneFiresTwice, allHaveFired},
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

func (h *host) relay() {
	_, err := h.bank.Maintain(h.w.ctx)
	h.w.must(err)
}

func (h *host) announcedOnce(kind events.Type) {
	n := h.announced("engine", kind)
	h.w.check(n == 1, "one event of the pass in the log", "%d", n)
	h.w.waiting(home.Tenant, "engine")
}

func prepareConsolidation(_ *world, h *host) {
	h.putCorpus()
	h.relay()
}

func runConsolidation(_ *world, h *host) error {
	_, err := h.tryConsolidate("engine", nil)
	return err
}

func consolidationIsDone(_ *world, h *host) {
	h.consolidatedCorpus()
	h.announcedOnce(events.TypeMemoryConsolidated)
}

func prepareDistillation(_ *world, h *host) {
	h.putSources()
	h.relay()
}

func runDistillation(_ *world, h *host) error {
	_, err := h.tryDistill("engine")
	return err
}

func sourcesAreLive(w *world, h *host) {
	texts := h.contents(home.Tenant, home.Ref)
	for _, want := range []string{"Tomas signs orders.", "The gate opens at 7.", "Lena prefers e-mail."} {
		w.check(slices.Contains(texts, want), "the source "+short(want), "%s", describeTexts(texts))
	}
}

func distillationIsDone(w *world, h *host) {
	sourcesAreLive(w, h)
	texts := h.contents(home.Tenant, home.Ref)
	w.check(len(texts) == 4, "three sources and one output", "%s", describeTexts(texts))
	h.announcedOnce(events.TypeMemoryCompacted)
}

// runCompaction lets another attempt of the same job, which knows of its end only
// that no source is left, relay what waits.
func runCompaction(w *world, h *host) error {
	if _, err := h.tryCompact("engine", distill.ExpireSources); err != nil {
		return err
	}
	_, err := h.bank.Maintain(w.ctx)
	return err
}

func compactionIsDone(w *world, h *host) {
	texts := h.contents(home.Tenant, home.Ref)
	w.check(len(texts) == 1, "one output", "%s", describeTexts(texts))
	h.announcedOnce(events.TypeMemoryCompacted)
}
