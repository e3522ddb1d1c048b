package distill_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A process that dies at any call to a store, before or after the call took effect,
// leaves everything visible or nothing; the next pass completes what is missing.
func TestD3_CrashAtEveryStoreCall(t *testing.T) {
	for _, policy := range []distill.Policy{distill.KeepSources, distill.ExpireSources} {
		for _, after := range []bool{false, true} {
			for calls := 0; ; calls++ {
				if !crashAt(t, calls, after, policy) {
					require.Equal(t, 7, calls, "calls of the store")
					break
				}
			}
		}
	}
}

// crashAt reports whether the pass crashed.
func crashAt(t *testing.T, calls int, after bool, policy distill.Policy) bool {
	at := fmt.Sprintf("call %d, after %t, policy %d", calls, after, policy)
	f := &fuse{off: true}
	raw := inmem.New()
	h := newHostOn(t, raw, crashStore{raw, f})
	in := h.put(notes(6)...)
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P1D" })
	o := distill.Options{Sources: policy}
	j := h.job()
	f.off, f.left, f.after = false, calls, after
	_, err := r.Distill(ctx, j, ref, o)
	f.off = true
	crashed := f.left < 0
	if !crashed {
		require.NoError(t, err)
		return false
	}
	require.ErrorIs(t, err, errCrash, at)
	require.NotContains(t, err.Error(), errCrash.Error(), "M2")

	// Entry, archive, index, head and events are there, or none of them.
	h.reopen(raw)
	outputs, published := h.outputs(), h.compacted()
	require.LessOrEqual(t, len(outputs), 1, at)
	require.Len(t, published, len(outputs), at)
	require.Len(t, h.archives(), len(outputs), at)
	require.Len(t, h.updates(), len(outputs), at)
	require.EqualValues(t, len(outputs), h.version(), at)
	require.Len(t, h.load(h.bank.Reader(tenant)), len(outputs), at)
	if len(outputs) == 1 {
		require.Equal(t, outputs[0].ID, published[0].OutputID)
		require.True(t, *published[0].Distillation.IndexUpdated)
		_, err := r.Open(ctx, h.job(), ref, outputs[0].ID)
		require.NoError(t, err, at)
	} else {
		require.Len(t, h.live(), len(in), at)
	}

	// The host tries again.
	h.distill(r, o)
	require.Len(t, h.outputs(), 1, at)
	require.Len(t, h.archives(), 1, at)
	require.Equal(t, []int64{1}, h.updates(), at)
	h.advance(48 * time.Hour)
	require.Empty(t, h.load(h.bank.Reader(tenant)), at)
	return true
}

func TestD3_ReadersReachAnArchiveOnlyThroughItsEntry(t *testing.T) {
	h := newHost(t)
	in := h.put(notes(3)...)
	r := h.runner()
	res := h.distill(r, distill.Options{})
	for _, id := range []string{in[0].ID, "mem_none", ""} {
		_, err := r.Open(ctx, h.job(), ref, id)
		require.ErrorIs(t, err, memory.ErrNotFound)
	}
	ok, err := h.job().Delete(ctx, ref, res.Output.ID)
	require.True(t, ok)
	require.NoError(t, err)
	_, err = r.Open(ctx, h.job(), ref, res.Output.ID)
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Empty(t, h.load(h.bank.Reader(tenant)))
	require.Empty(t, h.index().Refs)
	require.Len(t, h.archives(), 1, "it is kept as long as its entry is")
}

func TestD4_EarlierOutputsAreSourcesOnRecursionOnly(t *testing.T) {
	h := newHost(t)
	h.put(notes(4)...)
	r := h.runner()
	first := h.distill(r, distill.Options{Sources: distill.ExpireSources})
	require.Len(t, h.live(), 1)
	require.Zero(t, h.distill(r, distill.Options{}).Sources, "nothing but an output is left")
	h.put("A newer note of 17 March.")
	require.Equal(t, 1, h.distill(r, distill.Options{}).Sources)

	top := h.distill(r, distill.Options{Recursive: true, Sources: distill.ExpireSources})
	require.Equal(t, 3, top.Sources, "two outputs and a note")
	a, err := r.Open(ctx, h.job(), ref, top.Output.ID)
	require.NoError(t, err)
	require.Contains(t, a.Parents, first.Archive)
	require.Len(t, a.Parents, 2)
	require.Equal(t, 1, strings.Count(a.Text(), "17 March"), "said once")
	for _, out := range []string{first.Output.ID, top.Output.ID} {
		_, err := h.bank.Reader(tenant).Get(ctx, ref, out)
		require.NoError(t, err, "outputs are readable until they expire (RFC 0012 §B)")
	}
	// The same again is the same again.
	again := h.distill(r, distill.Options{Recursive: true})
	more := h.distill(r, distill.Options{Recursive: true})
	require.Equal(t, again.Archive, more.Archive)
}

func TestD4_R5_EveryLevelIsRedactedAgain(t *testing.T) {
	h := newHost(t)
	leaky := func(call int64) string {
		return fmt.Sprintf("Call %d said [BYOK:key-%d] and <REDACTED:thing> and sk-ant-%s.", call, call, "api03-q8ZrT2vWk5XcN7mB1yHs4JdF")
	}
	h.put(leaky(1) + "\n" + leaky(2))
	m := &model{name: "leaky/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		return []distill.Item{{Text: leaky(call)}}, nil
	}}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	first := h.distill(r, distill.Options{})
	second := h.distill(r, distill.Options{Recursive: true})
	require.NotEqual(t, first.Output.Content, second.Output.Content)
	for _, res := range []distill.Result{first, second} {
		require.False(t, res.Fallback)
		for _, text := range []string{res.Output.Content, string(h.bytesOf(res.Archive))} {
			require.NotContains(t, text, "[BYOK:")
			require.NotContains(t, text, "<REDACTED:")
			require.NotContains(t, text, "sk-ant-")
			require.Contains(t, text, "[REDACTED:shape.leak]")
		}
	}
}

// No registered secret and no leak form is in an archive, an index, an event or an
// error, in any form that it takes.
func TestR5_NothingASecretTouchesLeaves(t *testing.T) {
	values := map[string]string{
		"plain": "correct-horse-17", "quote": `quo"te\back-slash`, "lines": "two\nlines-secret", "escape": `a\nb-literal-9`, "digits": "90210448",
	}
	texts := []string{"a\nb-literal-9 is split", "[BYOK:old]", "<REDACTED:older> form", "x quo\"te\\back-slash y"}
	for _, v := range values {
		texts = append(texts, "Before "+v+" after.", v)
	}
	h := newHost(t)
	h.put(texts...) // when the secret was not known
	h.put(notes(5)...)
	h.secrets = values
	spoken := &model{name: "spoken/1", say: func(_ int64, req distill.Request) ([]distill.Item, error) {
		var items []distill.Item
		for _, text := range texts {
			items = append(items, distill.Item{Text: text})
		}
		return items, nil
	}}
	for _, s := range []distill.Summarizer{nil, spoken} {
		r := h.runner(func(c *distill.Config) { c.Summarizer = s })
		res := h.distill(r, distill.Options{})
		require.False(t, res.Fallback)
		_, err := r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: 3})
		require.Error(t, err)
		evs, jerr := json.Marshal(h.compacted())
		require.NoError(t, jerr)
		for _, out := range []string{res.Output.Content, string(h.bytesOf(res.Archive)), h.index().Encode(), string(evs), err.Error()} {
			for id, v := range values {
				require.NotContains(t, out, v, id)
			}
			require.NotContains(t, out, "[BYOK:")
			require.NotContains(t, out, "<REDACTED:")
		}
	}
}

// An archive lives as long as its entry, and is purged with it.
func TestD5_AnArchiveGoesWithItsEntry(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P30D" })
	res := h.distill(r, distill.Options{})
	open := func() error {
		_, err := r.Open(ctx, h.job(), ref, res.Output.ID)
		return err
	}
	h.advance(30*24*time.Hour - time.Millisecond)
	require.NoError(t, open())
	require.Len(t, h.index().Refs[ref], 1)
	h.advance(time.Millisecond)
	require.ErrorIs(t, open(), memory.ErrNotFound)
	require.Empty(t, h.index().Refs)
	for range 2 {
		_, err := h.bank.Purge(ctx, tenant)
		require.NoError(t, err)
		h.advance(memory.DefaultHorizon + time.Hour)
	}
	_, err := h.bank.Purge(ctx, tenant)
	require.NoError(t, err)
	require.Empty(t, h.archives())
}

func TestD5_ShorterWithItsSources(t *testing.T) {
	h := newHost(t)
	end := h.now().Add(48 * time.Hour)
	_, err := h.job().Put(ctx, ref, memory.Draft{Content: "Soon gone.", ExpiresAt: end})
	require.NoError(t, err)
	h.put("Here to stay.")
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P30D" })
	res := h.distill(r, distill.Options{WithSources: true})
	require.Equal(t, end, res.Output.ExpiresAt)
	c, err := r.Compact(ctx, h.job(), ref, distill.Options{WithSources: true})
	require.NoError(t, err)
	require.Equal(t, end, c.Output.ExpiresAt)
}

// vault redacts one value.
type vault struct{ value string }

func (v vault) Redact(s string) (string, error) {
	return strings.ReplaceAll(s, v.value, "[REDACTED:door]"), nil
}
func (v vault) RedactDerived(s string) (string, error) { return v.Redact(s) }

// meanwhile is the default summarizer, which at first does something else when it is asked for its version:
// after a pass has read memory, and before it looks for its archive.
type meanwhile struct {
	distill.Extractive
	do func()
}

func (m *meanwhile) Version() string {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.Extractive.Version()
}

// A pass that reads memory before another publishes the same archive reports that one, and leaves its entry
// the archive.
func TestD2_APassThatReadBeforeAnotherPublishedReportsItsArchive(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	m := &meanwhile{}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	var first distill.Result
	m.do = func() { first = h.distill(r, distill.Options{}) }
	second := h.distill(r, distill.Options{})
	require.Len(t, h.outputs(), 1)
	require.True(t, second.Existing)
	require.Equal(t, first.Output.ID, second.Output.ID)
	a, err := r.Open(ctx, h.job(), ref, first.Output.ID)
	require.NoError(t, err)
	require.Equal(t, first.Output.Content, a.Text())
}
