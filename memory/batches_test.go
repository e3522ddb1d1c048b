package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// calls returns how often the store was called by f.
func calls(s *spy, f func()) int {
	before := s.count()
	f()
	return s.count() - before
}

// A page of a run with a thousand own writes costs a few calls, and its token some bytes
// for each.
// A list looks up no more own writes than it may return.
func TestM6_AListLooksUpItsLimit(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	run := h.run("r", "acme")
	for i := range 500 {
		put(t, run, "m", fmt.Sprint("note ", i))
	}
	for _, limit := range []int{1, 100} {
		store.looked.Store(0)
		found, err := run.Memory().List(ctx, "m", memory.ListOptions{Limit: limit})
		require.NoError(t, err)
		require.Len(t, found, limit)
		require.Equal(t, "note 499", found[0].Content)
		require.LessOrEqual(t, store.looked.Load(), int64(limit))
	}
}

func TestM6_OwnWritesAreReadInBatches(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	for i := range 600 {
		put(t, h.job("acme"), "m", fmt.Sprint("before ", i))
	}
	run := h.run("r", "acme")
	empty, err := run.Token(ctx)
	require.NoError(t, err)
	require.LessOrEqual(t, len(empty), 200)
	for i := range 1000 {
		put(t, run, "m", fmt.Sprint("own ", i))
	}
	token, err := run.Token(ctx)
	require.NoError(t, err)
	require.LessOrEqual(t, len(token), 200+1000*40)

	require.LessOrEqual(t, calls(store, func() { require.Len(t, contents(t, run.Memory(), "m"), 1000) }), 3)
	var asOf memory.Reader
	require.LessOrEqual(t, calls(store, func() {
		asOf, err = h.AsOf(ctx, "acme", token)
		require.NoError(t, err)
	}), 3)
	require.LessOrEqual(t, calls(store, func() { require.Len(t, contents(t, asOf, "m"), 1000) }), 4)
	all := 0
	require.LessOrEqual(t, calls(store, func() {
		for _, err := range run.Scan(ctx, "m") {
			require.NoError(t, err)
			all++
		}
	}), 16)
	require.Equal(t, 1600, all)
}

func TestM7_TokensAreShortWhateverTheNames(t *testing.T) {
	h := newHost(t)
	long := func(n int) string { return string(slices.Repeat([]byte("x"), n)) }
	r, err := h.Start(ctx, memory.RunConfig{ID: long(128), Tenant: long(256), Redactor: newVault()})
	require.NoError(t, err)
	put(t, h.job(long(256)), "m", "x")
	token, err := r.Token(ctx)
	require.NoError(t, err)
	require.LessOrEqual(t, len(token), 200)
}

// Sources of a rewrite, and the entries of a forgetting, are read in batches too.
func TestRewritesAndForgettingReadInBatches(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	job := h.job("acme")
	var ids []string
	for i := range 500 {
		ids = append(ids, put(t, job, "m", fmt.Sprint(i), "s").ID)
	}
	require.LessOrEqual(t, calls(store, func() {
		_, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "all"}, Sources: ids, Merges: ids}}})
		require.NoError(t, err)
	}), 2)
	require.LessOrEqual(t, calls(store, func() {
		outcomes, err := h.Lineage(ctx, "acme", "m", ids...)
		require.NoError(t, err)
		require.Len(t, outcomes, 500)
	}), 2)
	require.LessOrEqual(t, calls(store, func() {
		_, err := h.Forget(ctx, "acme", "s")
		require.NoError(t, err)
	}), 6)
}

// A relay looks at every event once, however many runs are stuck.
func TestE3_ARelayWithManyStuckRunsIsLinear(t *testing.T) {
	given := 0
	sink := sinkFunc(func(_ context.Context, recs ...events.Record) error {
		given += len(recs)
		return fmt.Errorf("refused")
	})
	h := newHost(t, func(c *memory.Config) { c.Sink = sink })
	const runs = 1000
	for i := range runs {
		put(t, h.run(fmt.Sprint("r", i), "acme"), "m", "x")
	}
	relayed, err := h.Relay(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Len(t, relayed.Stuck["acme"], runs)
	require.LessOrEqual(t, given, 2*runs, "once in a batch and once by itself")
}
