package distill_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// What a consolidation merged counts as corroboration, in the archive too.
func TestDistill_MergedEntriesAreCorroboration(t *testing.T) {
	h := newHost(t)
	old := h.put("Lena likes tea.", "Lena likes tea, says Jo.", "Lena likes tea, says Al.")
	h.put("The bus was late.")
	j := h.job()
	_, err := j.Rewrite(ctx, ref, memory.Rewrite{Retire: []memory.Retire{{ID: old[2].ID, State: memory.Merged, For: old[1].ID}}})
	require.NoError(t, err)
	_, err = j.Rewrite(ctx, ref, memory.Rewrite{Retire: []memory.Retire{{ID: old[1].ID, State: memory.Merged, For: old[0].ID}}})
	require.NoError(t, err)
	r := h.runner()
	res := h.distill(r, distill.Options{})
	require.Equal(t, "Lena likes tea.\nThe bus was late.", res.Output.Content)
	a, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.NoError(t, err)
	for _, s := range a.Sources {
		if s.ID == old[0].ID {
			require.Equal(t, 3, s.Weight)
		} else {
			require.Equal(t, 1, s.Weight)
		}
	}
}

func TestDistill_SelectionByTagOrFunction(t *testing.T) {
	h := newHost(t)
	h.put("Transactional: cart 7 was emptied.", "Long-term: Lena likes tea.")
	r := h.runner()
	res := h.distill(r, distill.Options{Select: func(e memory.Entry) bool { return strings.HasPrefix(e.Content, "Trans") }})
	require.Equal(t, "Transactional: cart 7 was emptied.", res.Output.Content)
	require.Zero(t, h.distill(r, distill.Options{Tag: "none"}).Sources)
	require.Equal(t, 2, h.distill(r, distill.Options{Tag: "note"}).Sources)
}

// A run that was under way sees its sources whatever a pass did meanwhile.
func TestDistill_LeavesOpenViewsAlone(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: tenant, Redactor: vault{"none-such"}})
	require.NoError(t, err)
	r := h.runner()
	h.distill(r, distill.Options{Sources: distill.RemoveSources})
	seen, err := run.Memory().List(ctx, ref, memory.ListOptions{})
	require.NoError(t, err)
	require.Len(t, seen, 3)
	lines, err := r.LoadIndex(ctx, run.Memory(), tenant, ref)
	require.NoError(t, err)
	require.Empty(t, lines, "no entry of its view backs the line")
}

func TestGC_TakesTheOrphansOfWhatWasForgotten(t *testing.T) {
	f := &fuse{off: true}
	h := newHostOn(t, crashStore{inmem.New(), f})
	_, err := h.job().Put(ctx, ref, memory.Draft{Content: "About Lena.", Subjects: []string{"lena"}})
	require.NoError(t, err)
	m := parrot()
	say := m.say
	m.say = func(call int64, req distill.Request) ([]distill.Item, error) {
		f.off, f.left = false, 0 // the store is gone before the pass can commit
		return say(call, req)
	}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	_, err = r.Distill(ctx, h.job(), ref, distill.Options{})
	require.ErrorIs(t, err, errCrash)
	f.off = true
	require.Equal(t, 1, h.kept())
	n, err := r.GC(ctx, h.job(), ref)
	require.NoError(t, err)
	require.Zero(t, n, "it could still be published")
	_, err = h.bank.Forget(ctx, tenant, "lena")
	require.NoError(t, err)
	n, err = r.GC(ctx, h.job(), ref)
	require.NoError(t, err)
	require.Equal(t, 1, n, "without waiting for the grace")
}

func TestR5_NamesAreRefusedWhenTheyHoldASecret(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	h.secrets["k"] = "model-of-secrets"
	m := parrot()
	m.name = "model-of-secrets/1"
	_, err := h.runner(func(c *distill.Config) { c.Summarizer = m }).Distill(ctx, h.job(), ref, distill.Options{})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	require.NotContains(t, err.Error(), "model-of")
	require.Zero(t, h.kept())
	require.Zero(t, m.calls.Load())
}

// What a digest is made of, and what a model is shown, is redacted too.
func TestR5_SourcesAreRedactedBeforeAnythingElse(t *testing.T) {
	h := newHost(t)
	in := h.put("The code is zebra-crossing-41.")
	h.secrets["door"] = "zebra-crossing-41"
	m := parrot()
	say := m.say
	m.say = func(call int64, req distill.Request) ([]distill.Item, error) {
		require.Equal(t, "The code is [REDACTED:door].", req.Sources[0].Text)
		return say(call, req)
	}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	res := h.distill(r, distill.Options{})
	a, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.NoError(t, err)
	in[0].Content = "The code is [REDACTED:door]."
	require.Equal(t, distill.SourceDigest(in[0]), a.Sources[0].Digest)
}

func TestD3_LoadIndexSkipsWhatNoEntryBacks(t *testing.T) {
	h := newHost(t)
	in := h.put(notes(2)...)
	r := h.runner()
	res := h.distill(r, distill.Options{})
	good := distill.IndexLine{ArchiveChecksum: res.Archive, MemoryID: res.Output.ID}
	x := distill.Index{Version: distill.IndexVersion, Refs: map[string][]distill.IndexLine{ref: {
		{ArchiveChecksum: res.Archive, MemoryID: in[0].ID},            // no output
		{ArchiveChecksum: distill.Digest{1}, MemoryID: res.Output.ID}, // another archive
		{ArchiveChecksum: res.Archive, MemoryID: "mem_none"},
		good,
	}}}
	f, err := h.workspace.ReadFile(ctx, tenant, distill.IndexPath)
	require.NoError(t, err)
	_, err = h.workspace.WriteFile(ctx, distill.Write{Tenant: tenant, RunID: "x", Path: distill.IndexPath, Content: x.Encode(), IfMatch: f.ETag, At: h.now()})
	require.NoError(t, err)
	lines, err := r.LoadIndex(ctx, h.bank.Reader(tenant), tenant, ref)
	require.NoError(t, err)
	require.Equal(t, []distill.IndexLine{good}, lines)
}
