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
					require.Greater(t, calls, 10)
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
	h := newHostOn(t, crashStore{inmem.New(), f})
	archives, workspace := h.archives, h.workspace
	in := h.put(notes(6)...)
	h.archives, h.workspace = crashArchives{archives, f}, crashWorkspace{workspace, f}
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P1D" })
	o := distill.Options{Sources: policy}
	j := h.job()
	f.off, f.left, f.after = false, calls, after
	res, err := r.Distill(ctx, j, ref, o)
	f.off = true
	crashed := f.left < 0
	if !crashed {
		require.NoError(t, err)
		require.NoError(t, res.IndexErr)
		return false
	}
	if err != nil {
		require.NotContains(t, err.Error(), "Customer")
	}

	// What is visible is whole.
	h.archives, h.workspace = archives, workspace
	h.reopen()
	r = h.runner(func(c *distill.Config) { c.ArchiveRetention = "P1D" })
	outputs, evs := h.outputs(), h.compacted()
	require.Len(t, evs, len(outputs), at)
	lines, err := r.LoadIndex(ctx, h.bank.Reader(tenant), tenant, ref)
	require.NoError(t, err)
	require.LessOrEqual(t, len(lines), len(outputs), at)
	if len(outputs) == 1 {
		require.Equal(t, outputs[0].ID, evs[0].OutputID)
		_, err := r.Open(ctx, h.job(), ref, outputs[0].ID)
		require.NoError(t, err, at)
	} else {
		require.Empty(t, outputs, at)
		require.Len(t, h.live(), len(in), at)
	}

	// The host tries again.
	h.distill(r, o)
	if policy == distill.KeepSources || len(outputs) == 0 {
		require.Len(t, h.outputs(), 1, at)
	}
	lines, err = r.LoadIndex(ctx, h.bank.Reader(tenant), tenant, ref)
	require.NoError(t, err)
	require.Len(t, lines, 1, at)
	require.Equal(t, 1, h.kept(), at)
	h.advance(48 * time.Hour)
	n, err := r.GC(ctx, h.job(), ref)
	require.NoError(t, err)
	require.Equal(t, 1, n, at)
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
	lines, err := r.LoadIndex(ctx, h.bank.Reader(tenant), tenant, ref)
	require.NoError(t, err)
	require.Empty(t, lines, "the index file still has the line")
	require.NoError(t, r.Reindex(ctx, h.job(), ref))
	f, err := h.workspace.ReadFile(ctx, tenant, distill.IndexPath)
	require.NoError(t, err)
	require.NotContains(t, f.Content, res.Output.ID)
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
	h.put("Level one.")
	m := &model{name: "leaky/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		return []distill.Item{{Text: fmt.Sprintf("Call %d said [BYOK:key-%d] and <REDACTED:thing> and sk-ant-%s.", call, call, strings.Repeat("a1", 20))}}, nil
	}}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	first := h.distill(r, distill.Options{Sources: distill.ExpireSources})
	second := h.distill(r, distill.Options{Recursive: true})
	for _, res := range []distill.Result{first, second} {
		for _, text := range []string{res.Output.Content, string(h.bytesOf(res.Archive))} {
			require.NotContains(t, text, "[BYOK:")
			require.NotContains(t, text, "<REDACTED:")
			require.NotContains(t, text, "sk-ant-")
			require.Contains(t, text, "[REDACTED:leak]")
		}
	}
}

// No registered secret and no leak form is in an archive, an index, an event or an
// error, whatever form it takes where.
func TestR5_NothingASecretTouchesLeaves(t *testing.T) {
	values := map[string]string{
		"plain": "correct-horse-17", "quote": `quo"te\back-slash`, "lines": "two\nlines-secret", "escape": `a\nb-literal-9`, "digits": "90210448",
	}
	texts := []string{"a\nb-literal-9 is split", "[BYOK:old]", "<REDACTED:older> form", "x quo\"te\\back-slash y"}
	for _, v := range values {
		texts = append(texts, "Before "+v+" after.", v)
	}
	h := newHost(t)
	h.put(texts...) // when nobody knew
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
		r := h.runner(func(c *distill.Config) { c.Summarizer = s; c.IndexMarkdown = true })
		res := h.distill(r, distill.Options{})
		require.False(t, res.Fallback)
		_, err := r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: 3})
		require.Error(t, err)
		f, ferr := h.workspace.ReadFile(ctx, tenant, distill.IndexPath)
		require.NoError(t, ferr)
		evs, jerr := json.Marshal(h.compacted())
		require.NoError(t, jerr)
		for _, out := range []string{res.Output.Content, string(h.bytesOf(res.Archive)), f.Content, string(evs), err.Error()} {
			for id, v := range values {
				require.NotContains(t, out, v, id)
			}
			require.NotContains(t, out, "[BYOK:")
			require.NotContains(t, out, "<REDACTED:")
		}
	}
}

func TestD5_RetentionThenIndexThenArchive(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P30D" })
	res := h.distill(r, distill.Options{})
	collect := func() int {
		n, err := r.GC(ctx, h.job(), ref)
		require.NoError(t, err)
		return n
	}
	h.advance(30*24*time.Hour - time.Millisecond)
	require.Zero(t, collect())
	h.advance(time.Millisecond)

	// Where the index cannot be rewritten, what it names stays.
	f, err := h.workspace.ReadFile(ctx, tenant, distill.IndexPath)
	require.NoError(t, err)
	spoilt, err := h.workspace.WriteFile(ctx, distill.Write{Tenant: tenant, RunID: "x", Path: distill.IndexPath, Content: "not an index", IfMatch: f.ETag, At: h.now()})
	require.NoError(t, err)
	_, err = r.GC(ctx, h.job(), ref)
	require.ErrorIs(t, err, distill.ErrIndex)
	require.NoError(t, distill.Verify(h.bytesOf(res.Archive), res.Archive))
	_, err = h.workspace.WriteFile(ctx, distill.Write{Tenant: tenant, RunID: "x", Path: distill.IndexPath, Content: f.Content, IfMatch: spoilt.ETag, At: h.now()})
	require.NoError(t, err)

	require.Equal(t, 1, collect())
	require.Zero(t, h.kept())
	f, err = h.workspace.ReadFile(ctx, tenant, distill.IndexPath)
	require.NoError(t, err)
	require.NotContains(t, f.Content, res.Archive.String())

	// An orphan of a crash stays for the grace, and then goes.
	_, err = h.archives.Keep(ctx, scope, distill.Digest{1}, []byte("{}"), h.now())
	require.NoError(t, err)
	require.Zero(t, collect())
	h.advance(distill.DefaultGrace + time.Millisecond)
	require.Equal(t, 1, collect())
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

// Forgetting reaches archives and index lines, published or not, and nothing else.
func TestD5_M10_ForgettingReachesArchives(t *testing.T) {
	h := newHost(t)
	j := h.job()
	for i, text := range notes(4) {
		var subjects []string
		if i == 0 {
			subjects = []string{"lena"}
		}
		_, err := j.Put(ctx, ref, memory.Draft{Content: text, Tags: []string{fmt.Sprint("half-", i%2)}, Subjects: subjects})
		require.NoError(t, err)
	}
	r := h.runner()
	hers := h.distill(r, distill.Options{Tag: "half-0", Sources: distill.ExpireSources})
	theirs := h.distill(r, distill.Options{Tag: "half-1"})
	require.Equal(t, 2, hers.Sources)
	require.Contains(t, hers.Output.Tags, "half-0")
	top := h.distill(r, distill.Options{Recursive: true, Tag: "half-0"})
	require.Equal(t, 1, top.Sources)
	done, err := h.bank.Forget(ctx, tenant, "lena")
	require.NoError(t, err)
	n, err := r.Erase(ctx, h.job(), done)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for _, gone := range []distill.Digest{hers.Archive, top.Archive} {
		_, err = h.archives.Load(ctx, scope, gone)
		require.ErrorIs(t, err, memory.ErrNotFound)
	}
	f, err := h.workspace.ReadFile(ctx, tenant, distill.IndexPath)
	require.NoError(t, err)
	require.NotContains(t, f.Content, hers.Archive.String())
	require.Contains(t, f.Content, theirs.Archive.String())
	require.Len(t, h.live(), 4, "the other note of her half is back, beside two notes and an output")

	// What a crashed pass left is found too, by a collection without waiting.
	_, err = r.Erase(ctx, h.job(), memory.Forgotten{Erased: []memory.Located{{Scope: memory.Scope{Tenant: "globex", Ref: ref}, ID: "x"}}})
	require.ErrorIs(t, err, memory.ErrValidation)
}

func TestD5_ScrubReachesArchives(t *testing.T) {
	h := newHost(t)
	h.put("The hall is booked.", "The code is zebra-crossing-41.")
	r := h.runner()
	res := h.distill(r, distill.Options{})
	h.secrets["door"] = "zebra-crossing-41"
	_, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	done, err := h.bank.Scrub(ctx, tenant, vault{"zebra-crossing-41"})
	require.NoError(t, err)
	n, err := r.Erase(ctx, h.job(), done)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, h.kept())
	again := h.distill(r, distill.Options{})
	require.NotContains(t, string(h.bytesOf(again.Archive)), "zebra")
}

// vault redacts one value.
type vault struct{ value string }

func (v vault) Redact(s string) (string, error) {
	return strings.ReplaceAll(s, v.value, "[REDACTED:door]"), nil
}
func (v vault) RedactDerived(s string) (string, error) { return v.Redact(s) }
