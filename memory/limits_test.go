package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

func TestM9_TagsAndSubjectsAreBoundedTogether(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	labels := func(n, size int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("%0*d", size, i)
		}
		return out
	}
	for name, c := range map[string]struct {
		tags, subjects []string
		ok             bool
	}{
		"256 in number":   {labels(128, 4), labels(128, 5), true},
		"257 in number":   {labels(129, 4), labels(128, 5), false},
		"16 KiB of text":  {labels(32, 256), labels(32, 256), true},
		"one byte more":   {labels(32, 256), append(labels(32, 256), "x"), false},
		"10,000 tags":     {labels(10_000, 5), nil, false},
		"10,000 subjects": {nil, labels(10_000, 5), false},
	} {
		_, err := job.Put(ctx, "m", memory.Draft{Content: "x", Tags: c.tags, Subjects: c.subjects})
		if c.ok {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, memory.ErrValidation, name)
		}
	}
	// What a derived entry takes over is not counted.
	var sources []string
	for i := range 300 {
		sources = append(sources, put(t, job, "n", "x", fmt.Sprint("s", i)).ID)
	}
	made, err := job.Rewrite(ctx, "n", memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "all"}, Sources: sources}}})
	require.NoError(t, err)
	require.Len(t, made.Entries[0].Subjects, 300)
}

// The tags by which an archive is pinned are the bank's own.
func TestD3_NobodyElseWritesProvenance(t *testing.T) {
	h := newHost(t)
	run, job := h.run("r", "acme"), h.job("acme")
	e := put(t, run, "m", "source")
	for _, tag := range []string{"archive:sha256:00", "compacted-from:r", "compacted-from:"} {
		d := memory.Draft{Content: "x", Tags: []string{"fine", tag}}
		_, err := run.Put(ctx, "m", d)
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = job.Put(ctx, "m", d)
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Draft: d, Sources: []string{e.ID}}}})
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	pass, err := h.Background(memory.JobConfig{ID: "pass one", Tenant: "acme", Redactor: newVault()})
	require.NoError(t, err)
	made, err := pass.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: "sum", Tags: []string{"t"}}, Sources: []string{e.ID}, Compacted: true, Archive: "sha256:00"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"compacted-from:pass_one", "archive:sha256:00", "t"}, made.Entries[0].Tags)
	require.True(t, made.Entries[0].Compacted())
	_, err = pass.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Sources: []string{e.ID}, Archive: "sha256:00"}}})
	require.ErrorIs(t, err, memory.ErrValidation)
	leaky, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: newVault("k", "sha256:0")})
	require.NoError(t, err)
	_, err = leaky.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Sources: []string{e.ID}, Compacted: true, Archive: "sha256:00"}}})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
}

// Scrub loses no entry because its markers are longer than the secrets were.
func TestM10_ScrubKeepsWhatGrowsBeyondTheLimit(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.MaxEntryBytes = 1000 })
	run := h.run("r", "acme")
	long := strings.Repeat("x", 1000-len(secret)) + secret
	tag := strings.Repeat("y", 256-len(secret)) + secret
	_, err := run.Put(ctx, "m", memory.Draft{Content: long, Tags: []string{tag}})
	require.NoError(t, err)
	done, err := h.Scrub(ctx, "acme", newVault("a-long-name-for-the-secret", secret))
	require.NoError(t, err)
	require.Len(t, done.Erased, 1)
	require.Len(t, done.Rewritten, 1)
	require.Empty(t, done.Lost)
	got := contents(t, h.Reader("acme"), "m")
	require.Equal(t, []string{strings.ReplaceAll(long, secret, "[REDACTED:a-long-name-for-the-secret]")}, got)
}

// An entry of which no clean copy can be made is erased all the same, and named.
func TestM10_ScrubNamesWhatItLoses(t *testing.T) {
	h := newHost(t)
	e := put(t, h.run("r", "acme"), "m", "x", secret)
	done, err := h.Scrub(ctx, "acme", newVault("k", secret))
	require.NoError(t, err)
	at := []driver.Located{{Scope: memory.Scope{Tenant: "acme", Ref: "m"}, ID: e.ID}}
	require.Equal(t, at, done.Erased)
	require.Equal(t, at, done.Lost)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

func TestM10_ScrubWorksWithARegistryThatRejects(t *testing.T) {
	h := newHost(t)
	put(t, h.run("r", "acme"), "m", "the key is "+secret)
	registry := redact.New(redact.Config{Policy: redact.Reject})
	require.NoError(t, registry.Register("late", []byte(secret)))
	done, err := h.Scrub(ctx, "acme", registry)
	require.NoError(t, err)
	require.Len(t, done.Rewritten, 1)
	require.Equal(t, []string{"the key is [REDACTED:late]"}, contents(t, h.Reader("acme"), "m"))
	put(t, h.run("r", "acme"), "m", "another "+secret)
	require.NoError(t, registry.Close())
	_, err = h.Scrub(ctx, "acme", registry)
	require.ErrorIs(t, err, memory.ErrSecretLeakage, "a registry that cannot look erases nothing")
	require.Len(t, contents(t, h.Reader("acme"), "m"), 2)
}
