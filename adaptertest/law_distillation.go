package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func distillationLaw() law {
	tx := []Offer{Transactor}
	return law{name: "DISTILL", number: "D1, D2, D3, D5", says: "a compaction or distillation on this store does what it says, and the same sources give the same archive", cases: []testCase{
		{"compact-keeps", "a compaction that keeps its sources leaves them live", tx, compactKeeps},
		{"compact-expires", "a compaction that expires its sources retires them in favour of its entry", tx, compactExpires},
		{"compact-removes", "a compaction that removes its sources deletes them", tx, compactRemoves},
		{"same-address", "a second distillation of the same sources has the same address, and one after a change another", tx, distillsTwice},
		{"archive", "an archive is reached through its live entry and from its own ref only, and goes with the entry", tx, archiveGoesWithItsEntry},
		{"held-view", "a view that is held across a compaction or a distillation does not move", []Offer{Transactor, Versioned}, holdAcrossDistillation},
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

func (h *host) compact(id string, policy distill.Policy) distill.Result {
	h.w.now = h.w.now.Add(time.Millisecond)
	h.w.did("the compaction %s runs", id)
	result, err := h.tryCompact(id, policy)
	h.w.must(err)
	h.w.check(result.Sources == 3 && result.Output.ID != "", "an entry made of 3 sources", "%q made of %d", result.Output.ID, result.Sources)
	n := h.announced(id, events.TypeMemoryCompacted)
	h.w.check(n == 1, "one event of the pass", "%d", n)
	return result
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

// states expects of each source the same state, and of those that were retired the
// successor.
func (w *world) states(sources []driver.Entry, state driver.State, by string) {
	for _, e := range sources {
		w.looksUp(home, e, state, by)
	}
}

func compactKeeps(w *world) {
	h := w.host()
	sources := h.putSources()
	out := h.compact("c1", distill.KeepSources).Output
	h.leaves(append(sources, out)...)
	w.states(sources, driver.Live, "")
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

func compactExpires(w *world) {
	h := w.host()
	sources := h.putSources()
	out := h.compact("c1", distill.ExpireSources).Output
	h.leaves(out)
	w.states(sources, driver.Merged, out.ID)
}

func compactRemoves(w *world) {
	h := w.host()
	sources := h.putSources()
	out := h.compact("c1", distill.RemoveSources).Output
	h.leaves(out)
	w.states(sources, driver.Deleted, "")
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

func holdAcrossDistillation(w *world) {
	h := w.host()
	h.putSources()
	h.viewHeldAcross(func() { h.distill("d1") })
	h.viewHeldAcross(func() { h.compact("c1", distill.ExpireSources) })
}
