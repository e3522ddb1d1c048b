package adaptertest

import (
	"slices"
	"time"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func distillationLaw() law {
	tx := []Offer{Transactor}
	return law{name: "DISTILL", number: "D1, D2, D3, D5", says: "a compaction or distillation on this store does what it says, and the same sources give the same archive", cases: []testCase{
		pass{"pass", "a distillation that fails at any call loses no source, and the same again completes it with one event", tx,
			prepareDistillation, runDistillation, sourcesAreLive, distillationIsDone}.testCase(),
		pass{"compaction-pass", "a compaction that fails at any call loses no source, and the same again completes it with one event", tx,
			prepareDistillation, runCompaction, lineagesAreWhole, compactionIsDone}.testCase(),
		{"same-address", "a second distillation of the same sources has the same address, and one after a change another", tx, distillsTwice},
		{"archive", "an archive is reached through its live entry and from its own ref only, and goes with the entry", tx, archiveGoesWithItsEntry},
	}}
}

func (h *host) runner() *distill.Runner {
	r, err := distill.New(distill.Config{})
	h.w.must(err)
	return r
}

// putSources writes what is to be condensed.
func (h *host) putSources() []driver.Entry {
	h.w.did("a job puts three notes with two tags each, the first of customer 1")
	job := h.job(home.Tenant, nil)
	var all []driver.Entry
	subjects := []string{"customer:1"}
	for _, text := range []string{"Tomas signs orders.", "The gate opens at 7.", "Lena prefers e-mail."} {
		all = append(all, h.put(job, home.Ref, memory.Draft{Content: text, Tags: []string{"note", "desk"}, Subjects: subjects}))
		subjects = nil
	}
	return all
}

func (h *host) tryCompact(id string, policy distill.Policy) (distill.Result, error) {
	job := h.named(id)
	result, err := h.runner().Compact(h.w.ctx, job, home.Ref, distill.Options{Sources: policy})
	if err != nil {
		return result, err
	}
	return result, job.End(h.w.ctx)
}

func (h *host) tryDistill(id string) (distill.Result, error) {
	job := h.named(id)
	result, err := h.runner().Distill(h.w.ctx, job, home.Ref, distill.Options{})
	if err != nil {
		return result, err
	}
	return result, job.End(h.w.ctx)
}

func (h *host) distill(id string) distill.Result {
	h.w.now = h.w.now.Add(time.Millisecond)
	h.w.did("the distillation %s runs", id)
	result, err := h.tryDistill(id)
	h.w.must(err)
	n := h.announced(id, events.TypeMemoryCompacted)
	h.w.check(n == 1, "one event of the pass", "%d", n)
	return result
}

// leaves expects that just these entries live.
func (h *host) leaves(want ...driver.Entry) {
	var texts []string
	for _, e := range want {
		texts = append(texts, e.Content)
	}
	h.w.did("list what lives")
	h.w.sameTexts(h.contents(home.Tenant, home.Ref), texts...)
}

func distillsTwice(w *world) {
	h := w.host()
	sources := h.putSources()
	first := h.distill("d1")
	w.check(!first.Existing && first.Sources == 3, "a new archive of 3 sources", "%d sources, existing %t", first.Sources, first.Existing)
	again := h.distill("d2")
	w.check(again.Archive == first.Archive, "the address "+first.Archive, "%s", again.Archive)
	w.check(again.Existing && again.Output.ID == first.Output.ID, "the archive and the entry of the first pass", "others")
	w.did("another host of the same memory distills")
	other := w.host().distill("d3")
	w.check(other.Archive == first.Archive && other.Output.ID == first.Output.ID, "the archive and the entry of the first pass", "others")
	h.leaves(append(sources, first.Output)...)
	h.note(h.job(home.Tenant, nil), home.Ref, "The gate closes at 22.")
	changed := h.distill("d4")
	w.check(changed.Archive != first.Archive && changed.Sources == 4, "another address, of 4 sources", "%s of %d", changed.Archive, changed.Sources)
}

func archiveGoesWithItsEntry(w *world) {
	h := w.host()
	h.putSources()
	out := h.distill("d1")
	ours, theirs := h.job(home.Tenant, nil), h.job("globex", nil)
	open := func(job *memory.Job, ref string) (*distill.Archive, error) {
		w.did("open the archive from %s", short(ref))
		return h.runner().Open(w.ctx, job, ref, out.Output.ID)
	}
	archive, err := open(ours, home.Ref)
	w.must(err)
	w.check(distill.DigestOf(archive.Encode()) == out.Archive, "the archive of the address "+out.Archive, "another one")
	_, err = open(ours, "sales")
	w.mustBe(err, driver.ErrNotFound)
	_, err = open(theirs, home.Ref)
	w.mustBe(err, driver.ErrNotFound)
	h.forget()
	_, err = open(ours, home.Ref)
	w.mustBe(err, driver.ErrNotFound)
	for _, d := range w.documents(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}) {
		w.check(d.Class == driver.Machinery, "no document made of what was forgotten", "%s", describeDocument(&d))
	}
	index, _, err := h.runner().Index(w.ctx, ours)
	w.must(err)
	w.check(len(index.Refs) == 0, "an index of nothing", "%d refs", len(index.Refs))
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
