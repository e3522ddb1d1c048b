package distill_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
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

// A run that was under way sees its sources, also if a pass has retired them meanwhile.
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
	require.Empty(t, h.load(run.Memory()), "its view shows no entry that names an archive")
	require.Len(t, h.load(h.bank.Reader(tenant)), 1)
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
	require.Empty(t, h.archives())
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
	require.Equal(t, sourceDigest(t, in[0]), a.Sources[0].Digest)
}
