package distill_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// watch is a sink that looks at the store whenever workspace.updated arrives.
type watch struct {
	*events.Log
	arrived func(version int64)
}

func (w watch) Emit(ctx context.Context, recs ...events.Record) error {
	for _, rec := range recs {
		if p, ok := rec.Payload.(events.WorkspaceUpdated); ok {
			w.arrived(p.Version)
		}
	}
	return w.Log.Emit(ctx, recs...)
}

// Any number of passes at once lose no line of the index: each moves the head by one, and
// its event never arrives before what it announces is there.
func TestD3_E3_TwelvePassesAtOnceLoseNoLine(t *testing.T) {
	const passes = 12
	h := newHost(t)
	sink := watch{h.log, func(version int64) {
		if h.version() < version || int64(len(h.archives())) < version {
			t.Error("workspace.updated has overtaken its pass")
		}
	}}
	var err error
	h.bank, err = memory.New(h.raw, memory.Config{Now: h.now, Sink: sink})
	require.NoError(t, err)
	var ready sync.WaitGroup
	ready.Add(passes)
	m := parrot()
	say := m.say
	m.say = func(call int64, req distill.Request) ([]distill.Item, error) {
		ready.Done()
		ready.Wait() // all have read before one commits
		return say(call, req)
	}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	results := make([]distill.Result, passes)
	var done sync.WaitGroup
	for i := range passes {
		j, to := h.jobOf(fmt.Sprint("pass-", i)), fmt.Sprint("mem://acme/", i)
		_, err := j.Put(ctx, to, memory.Draft{Content: fmt.Sprint("Note ", i)})
		require.NoError(t, err)
		done.Go(func() {
			res, err := r.Distill(ctx, j, to, distill.Options{})
			if err = errors.Join(err, j.End(ctx)); err != nil {
				t.Error(err)
			}
			results[i] = res
		})
	}
	done.Wait()
	x := h.index()
	require.Len(t, x.Refs, passes)
	for i, res := range results {
		lines := x.Refs[fmt.Sprint("mem://acme/", i)]
		require.Len(t, lines, 1)
		require.Equal(t, res.Archive, lines[0].ArchiveChecksum)
		require.Equal(t, res.Output.ID, lines[0].MemoryID)
	}
	require.EqualValues(t, passes, m.calls.Load(), "who loses the head asks no model again")
	updates := h.updates()
	slices.Sort(updates)
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, updates)
	require.EqualValues(t, passes, h.version())
	for _, p := range h.compacted() {
		require.True(t, *p.Distillation.IndexUpdated)
	}
}

// What ends between two passes leaves the index at once, and its head with the next pass
// or Reindex, which says so by an event.
func TestD3_TheHeadFollowsWhatEnds(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	r := h.runner()
	first := h.distill(r, distill.Options{TokenBudget: 300})
	second := h.distill(r, distill.Options{TokenBudget: 400})
	require.NotEqual(t, first.Archive, second.Archive)
	remove := func(id string) {
		ok, err := h.job().Delete(ctx, ref, id)
		require.NoError(t, err)
		require.True(t, ok)
	}
	remove(first.Output.ID)
	again := h.distill(r, distill.Options{TokenBudget: 400})
	require.Equal(t, second.Output.ID, again.Output.ID)
	require.Equal(t, []int64{1, 2}, h.updates(), "not the pass, which adds no line")
	require.False(t, *h.compacted()[2].Distillation.IndexUpdated)
	x := h.index()
	require.Len(t, x.Refs[ref], 1)
	require.Equal(t, second.Output.ID, x.Refs[ref][0].MemoryID)
	require.Equal(t, []int64{1, 2, 3}, h.updates(), "who reads the index moves the head")

	// As many as before may be others.
	remove(second.Output.ID)
	third := h.distill(r, distill.Options{TokenBudget: 500})
	require.Equal(t, []int64{1, 2, 3, 4}, h.updates())
	x = h.index()
	require.Len(t, x.Refs[ref], 1)
	require.Equal(t, third.Output.ID, x.Refs[ref][0].MemoryID)
	require.Equal(t, []int64{1, 2, 3, 4, 5}, h.updates())

	remove(third.Output.ID)
	for range 2 {
		require.Empty(t, h.index().Refs)
		require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, h.updates())
	}
}

// What a pass asks of the store, and what it is given, does not depend on how many refs and
// archives the tenant has. Only who renders the index reads them all, once.
func TestD3_APassCostsTheSameWhateverElseThereIs(t *testing.T) {
	type cost struct{ calls, entries, documents int64 }
	measure := func(refs int) (pass, index cost) {
		m := &meter{Store: inmem.New()}
		h := newHostOn(t, m.Store, m)
		r := h.runner()
		j := h.job()
		distilled := func(i int) {
			to := fmt.Sprint("mem://acme/", i)
			_, err := j.Put(ctx, to, memory.Draft{Content: fmt.Sprint("Note ", i%10)})
			require.NoError(t, err)
			*m = meter{Store: m.Store}
			_, err = r.Distill(ctx, j, to, distill.Options{})
			require.NoError(t, err)
		}
		for i := range refs {
			distilled(i)
		}
		pass = cost{m.calls, m.entries, m.documents}
		*m = meter{Store: m.Store}
		x, version, err := r.Index(ctx, j)
		require.NoError(t, err)
		require.EqualValues(t, refs, version)
		require.Len(t, x.Refs, refs)
		require.EqualValues(t, refs, h.version(), "what the passes added up is what is there")
		return pass, cost{m.calls, m.entries, m.documents}
	}
	few, fewRead := measure(3)
	many, manyRead := measure(300)
	require.Equal(t, few, many)
	require.EqualValues(t, 300, manyRead.entries)
	require.EqualValues(t, 302, manyRead.documents, "the archives, and the head before and after")
	require.LessOrEqual(t, manyRead.calls, 100*fewRead.calls)
}

func TestD3_NoIndexHasNoVersion(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	require.Empty(t, h.index().Refs)
	require.Zero(t, h.version())
	require.Empty(t, h.updates())
}

// The stored bytes of a question are used again, and belong to the entry that names them
// now.
func TestD2_AHitIsAttachedToItsNewEntry(t *testing.T) {
	h := newHost(t)
	h.put(notes(4)...)
	m := parrot()
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	first := h.distill(r, distill.Options{})
	ok, err := h.job().Delete(ctx, ref, first.Output.ID)
	require.NoError(t, err)
	require.True(t, ok)
	second := h.distill(r, distill.Options{})
	require.True(t, second.Existing)
	require.EqualValues(t, 1, m.calls.Load())
	require.Equal(t, first.Archive, second.Archive)
	require.NotEqual(t, first.Output.ID, second.Output.ID)
	require.Equal(t, first.Output.Content, second.Output.Content)
	kept := h.documents("distill/archive")
	require.Len(t, kept, 1)
	require.Equal(t, []string{second.Output.ID}, kept[0].Of)
	_, err = r.Open(ctx, h.job(), ref, second.Output.ID)
	require.NoError(t, err)

	// The end of the first entry is not that of the archive any more; that of the
	// second is.
	for i, id := range []string{first.Output.ID, second.Output.ID} {
		_, err = h.job().Rewrite(ctx, ref, memory.Rewrite{Erase: []string{id}})
		require.NoError(t, err)
		require.Len(t, h.archives(), 1-i)
	}
}

// A head that a newer version of the package has written is left as it is.
func TestD3_ANewerHeadIsLeftAlone(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	for _, value := range []string{`{"format":2,"version":7}`, `{"version":7}`, "", "x"} {
		d, err := h.job().Document(ctx, "", "distill/index", distill.IndexPath)
		require.NoError(t, err)
		d.Value = []byte(value)
		_, err = h.bank.Engines().Swap(ctx, tenant, driver.DocumentSwap{Document: d})
		require.NoError(t, err)
		_, err = h.runner().Distill(ctx, h.job(), ref, distill.Options{})
		require.ErrorIs(t, err, distill.ErrNewerFormat)
		_, _, err = h.runner().Index(ctx, h.job())
		require.ErrorIs(t, err, distill.ErrNewerFormat)
		require.Empty(t, h.outputs())
		require.Empty(t, h.archives())
		require.Equal(t, value, string(h.documents("distill/index")[0].Value))
	}
}

// No tag that anybody writes makes an entry one that an archive is reached by or kept for.
func TestD3_NobodyPinsAnArchive(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P1D" })
	res := h.distill(r, distill.Options{})
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: tenant, Redactor: vault{"none-such"}})
	require.NoError(t, err)
	for _, tags := range [][]string{{"compacted-from:run-1"}, {"archive:" + res.Archive}} {
		_, err := run.Put(ctx, ref, memory.Draft{Content: "mine", Tags: tags})
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.job().Put(ctx, ref, memory.Draft{Content: "mine", Tags: tags})
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	require.NoError(t, run.End(ctx))

	// One that is in the store from before has no effect either.
	forged := memory.Entry{
		ID: "mem_forged", Content: "mine", CreatedAt: h.now(), RunID: "run-1",
		Tags: []string{"compacted-from:run-1", "archive:" + res.Archive},
	}
	require.NoError(t, h.raw.Put(ctx, scope, forged))
	_, err = r.Open(ctx, h.job(), ref, forged.ID)
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Len(t, h.index().Refs[ref], 1)
	require.Len(t, h.load(h.bank.Reader(tenant)), 1)
	for range 3 {
		h.advance(memory.DefaultHorizon + 48*3600e9)
		_, err = h.bank.Purge(ctx, tenant)
		require.NoError(t, err)
	}
	require.Empty(t, h.archives())
	require.Empty(t, h.index().Refs)
}

// An entry of a foreign, an unknown or a malformed ref is absent like any other.
func TestM1_OpenTellsNothingOfOtherRefs(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	r := h.runner()
	res := h.distill(r, distill.Options{})
	var err error
	h.bank, err = memory.New(h.raw, memory.Config{Now: h.now, Resolver: func(_ context.Context, ref string) (string, error) {
		if owner, _, known := strings.Cut(strings.TrimPrefix(ref, "mem://"), "/"); known {
			return owner, nil
		}
		return "", memory.ErrNotFound
	}})
	require.NoError(t, err)
	_, err = r.Open(ctx, h.job(), ref, res.Output.ID)
	require.NoError(t, err)
	_, absent := r.Open(ctx, h.job(), ref, "mem_none")
	require.ErrorIs(t, absent, memory.ErrNotFound)
	foreign, err := h.bank.Background(memory.JobConfig{ID: "p", Tenant: "globex", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	for _, to := range []string{ref, "nobody", "..", "", "a\x00b", strings.Repeat("a", 300)} {
		_, err := r.Open(ctx, foreign, to, res.Output.ID)
		require.Equal(t, absent.Error(), err.Error(), to)
		require.ErrorIs(t, err, memory.ErrNotFound)
		lines, err := r.LoadIndex(ctx, foreign, h.bank.Reader("globex"), to)
		require.NoError(t, err)
		require.Empty(t, lines)
		_, err = r.Distill(ctx, foreign, to, distill.Options{})
		require.NoError(t, err, "there is nothing to distill")
	}
	x, _, err := r.Index(ctx, foreign)
	require.NoError(t, err)
	require.Empty(t, x.Refs)
}

// A registered secret gets past the redactor by no identifier.
func TestM3_IdentifiersHoldNoSecret(t *testing.T) {
	const secret = "zebra-crossing-41"
	h := newHost(t)
	h.put(notes(2)...)
	j := h.job()
	_, err := j.Put(ctx, "mem://"+secret, memory.Draft{Content: "A note."})
	require.NoError(t, err, "when nobody knew")
	r := h.runner()
	res := h.distill(r, distill.Options{})
	_, err = j.Delete(ctx, ref, res.Output.ID)
	require.NoError(t, err)
	h.secrets["door"] = secret
	before := h.documents("")
	for _, pass := range []func(context.Context, *memory.Job, string, distill.Options) (distill.Result, error){r.Distill, r.Compact} {
		_, err = pass(ctx, h.jobOf("pass"), "mem://"+secret, distill.Options{})
		require.ErrorIs(t, err, memory.ErrSecretLeakage)
		require.NotContains(t, err.Error(), secret)
	}
	require.Equal(t, before, h.documents(""))
	require.Empty(t, h.outputs())
	_, _, err = r.Index(ctx, h.jobOf("pass"))
	require.NoError(t, err)
}

// A text that looks like a secret only beside what else the archive's one line holds does
// not keep a pass from ending.
func TestR5_WhatIsASecretOnOneLineOnly(t *testing.T) {
	h := newHost(t)
	const to = "mem://acme/host=eu"
	const text = "It says password=Hunter-22-hunter there."
	_, err := h.job().Put(ctx, to, memory.Draft{Content: text})
	require.NoError(t, err)
	alone, err := h.job().Redact(ctx, text)
	require.NoError(t, err)
	require.Equal(t, text, alone)
	r := h.runner(func(c *distill.Config) {
		c.Summarizer = &model{name: "m/1", say: func(int64, distill.Request) ([]distill.Item, error) { return []distill.Item{{Text: text}}, nil }}
	})
	res, err := r.Distill(ctx, h.job(), to, distill.Options{})
	require.NoError(t, err)
	require.NotContains(t, string(h.bytesOf(res.Archive)), "Hunter-22")
	require.Equal(t, "It says password=[REDACTED:shape.dsnpass] there.", res.Output.Content)
	a, err := r.Open(ctx, h.job(), to, res.Output.ID)
	require.NoError(t, err)
	require.Equal(t, res.Output.Content, a.Text())
	require.Equal(t, res.TokensUsed, a.Tokens.Input+a.Tokens.Output)
	again, err := r.Distill(ctx, h.job(), to, distill.Options{})
	require.NoError(t, err)
	require.True(t, again.Existing)
}

// If that takes more tokens than there are, nothing is written (D1).
func TestD1_RedactionKeepsTheBudget(t *testing.T) {
	h := newHost(t)
	const to = "mem://acme/host=eu"
	const text = "password=Hunter-22"
	_, err := h.job().Put(ctx, to, memory.Draft{Content: text})
	require.NoError(t, err)
	r := h.runner(func(c *distill.Config) {
		c.Summarizer = &model{name: "m/1", say: func(int64, distill.Request) ([]distill.Item, error) { return []distill.Item{{Text: text}}, nil }}
	})
	exact := 2 * distill.Estimator{}.Count(text)
	_, err = r.Distill(ctx, h.job(), to, distill.Options{TokenBudget: exact})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	require.Empty(t, h.documents(""))
	res, err := r.Distill(ctx, h.job(), to, distill.Options{TokenBudget: exact + 100})
	require.NoError(t, err)
	require.NotContains(t, res.Output.Content, "Hunter")
}

// A secret is found in what an archive says, also where its bytes have another form of it.
func TestR5_AnArchiveIsReadForSecretsInItsTextToo(t *testing.T) {
	const late = `zebra"crossing`
	h := newHost(t)
	h.put("The code is " + late + ".")
	r := h.runner()
	res := h.distill(r, distill.Options{})
	require.NotContains(t, string(h.bytesOf(res.Archive)), late, "JSON escapes it")
	j, err := h.bank.Background(memory.JobConfig{ID: "p", Tenant: tenant, Redactor: vault{late}})
	require.NoError(t, err)
	_, err = r.Open(ctx, j, ref, res.Output.ID)
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
}

// A registry finds no shape of a secret in what a pass adds itself.
func TestR5_AnArchiveHasNoShapeOfASecret(t *testing.T) {
	h := newHost(t)
	h.put(notes(50)...)
	j, err := h.bank.Background(memory.JobConfig{ID: "p", Tenant: tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	done, err := h.runner().Distill(ctx, j, ref, distill.Options{})
	require.NoError(t, err)
	require.Contains(t, done.Output.Tags, memory.ArchivePrefix+done.Archive)
	_, err = h.runner().Open(ctx, j, ref, done.Output.ID)
	require.NoError(t, err)
	lines, err := h.runner().LoadIndex(ctx, j, h.bank.Reader(tenant), ref)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Equal(t, done.Archive, lines[0].ArchiveChecksum)
}

// A store without transactions cannot be distilled.
func TestDistill_NeedsATransactor(t *testing.T) {
	raw := inmem.New()
	h := newHost(t)
	var err error
	h.bank, err = memory.New(plain{raw}, memory.Config{Now: h.now})
	require.NoError(t, err)
	h.put("x")
	_, err = h.runner().Distill(ctx, h.job(), ref, distill.Options{})
	require.ErrorIs(t, err, memory.ErrNotProvided)
	_, _, err = h.runner().Index(ctx, h.job())
	require.ErrorIs(t, err, memory.ErrNotProvided)
}

// plain shows four operations of a store.
type plain struct{ driver.Adapter }

func (plain) As(any) bool { return false }
