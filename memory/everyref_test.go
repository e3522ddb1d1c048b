package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A job walks over the documents of all refs that are its tenant's now, and of no other.
func TestM1_EveryRefIsEveryRefOfTheTenant(t *testing.T) {
	owners := map[string]string{"a": "acme", "b": "acme", "c": "acme", "z": "globex"}
	h := newHost(t, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if owner := owners[ref]; owner != "" {
				return owner, nil
			}
			return "", memory.ErrNotFound
		}
	})
	acme, globex := h.job("acme"), h.job("globex")
	write := func(j *memory.Job, ref, key string) {
		_, err := j.Rewrite(ctx, ref, memory.Rewrite{Documents: one(driver.Document{Scope: memory.Scope{Ref: ref}, Kind: "k", Key: key})})
		require.NoError(t, err)
	}
	for _, ref := range []string{"c", "a", "b", ""} {
		write(acme, ref, "1")
		write(acme, ref, "2")
	}
	write(globex, "z", "1")
	walk := func(ref string) string {
		var names []string
		for d, err := range acme.Documents(ctx, ref, driver.DocumentQuery{EveryRef: true, Kind: "k"}) {
			require.NoError(t, err)
			names = append(names, d.Ref+d.Key)
		}
		return strings.Join(names, " ")
	}
	require.Equal(t, "1 2 a1 a2 b1 b2 c1 c2", walk(""))
	require.Equal(t, "b1 b2", walk("b"), "a ref is a ref")
	owners["b"] = "globex"
	require.Equal(t, "1 2 a1 a2 c1 c2", walk(""))
	require.Empty(t, walk("b"))
}

// Without a ref a rewrite changes documents of the tenant's own, and nothing else.
func TestM1_ARewriteWithoutARefTouchesNoEntry(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	e := put(t, job, "m", "x")
	own := one(driver.Document{Kind: "k", Key: "own"})
	for _, rw := range []memory.Rewrite{
		{}, {Documents: own, Expect: []string{e.ID}}, {Documents: own, Erase: []string{e.ID}}, {Documents: own, Restore: []string{e.ID}},
		{Documents: own, Derive: []memory.Derived{{Draft: memory.Draft{Content: "y"}}}},
		{Documents: own, Retire: []memory.Retire{{ID: e.ID, State: memory.Deleted}}},
		{Documents: one(driver.Document{Scope: memory.Scope{Ref: "m"}, Kind: "k", Key: "own"})},
	} {
		_, err := job.Rewrite(ctx, "", rw)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	require.Zero(t, document(t, job, "", "k", "own").Rev)
	_, err := job.Rewrite(ctx, "", memory.Rewrite{Documents: own})
	require.NoError(t, err)
	require.NotZero(t, document(t, job, "", "k", "own").Rev)
	keys := newVault()
	marked, err := h.Background(memory.JobConfig{ID: "pass-s3cr3t-value", Tenant: "acme", Redactor: keys})
	require.NoError(t, err)
	keys.values["k"] = "s3cr3t-value" // registered too late
	_, err = marked.Rewrite(ctx, "", memory.Rewrite{Documents: one(driver.Document{Kind: "k", Key: "b"})})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
}

// Many entries are read at once as one by one: live ones, of the job's own tenant.
func TestM4_LiveEntriesInBatches(t *testing.T) {
	h := newHost(t, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) { return strings.TrimSuffix(ref, "/m"), nil }
	})
	job := h.job("acme")
	var ids []string
	for range 5 {
		ids = append(ids, put(t, job, "acme/m", "x").ID)
	}
	short, err := job.Put(ctx, "acme/m", memory.Draft{Content: "x", ExpiresAt: h.Now().Add(time.Minute)})
	require.NoError(t, err)
	_, err = job.Delete(ctx, "acme/m", ids[1])
	require.NoError(t, err)
	_, err = job.Rewrite(ctx, "acme/m", memory.Rewrite{Erase: ids[2:3], Retire: []memory.Retire{{ID: ids[3], State: memory.Merged, For: ids[4]}}})
	require.NoError(t, err)
	live := func(j *memory.Job, ref string) (got []string) {
		entries, err := j.Live(ctx, ref, []string{short.ID, ids[4], "mem_none", "", "\x00", ids[3], ids[2], ids[1], ids[0]})
		require.NoError(t, err)
		for _, e := range entries {
			got = append(got, e.ID)
		}
		return got
	}
	require.Equal(t, []string{short.ID, ids[4], ids[0]}, live(job, "acme/m"))
	h.clock.Advance(time.Minute)
	require.Equal(t, []string{ids[4], ids[0]}, live(job, "acme/m"))
	for _, ref := range []string{"globex/m", "..", ""} {
		require.Empty(t, live(job, ref))
	}
	require.Empty(t, live(h.job("globex"), "acme/m"))
}
