package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// ownLists are the documents that tokens name.
func ownLists(t *testing.T, h *host) (found []driver.Document) {
	for d, err := range h.Engines().Documents(ctx, "acme", driver.DocumentQuery{Kind: memory.RemoveWhenDue}) {
		require.NoError(t, err)
		found = append(found, d)
	}
	return found
}

func TestM7_ATokenIsShortHoweverMuchTheRunWrote(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.Horizon = 24 * time.Hour })
	run := h.run("r", "acme")
	for i := range 1000 {
		put(t, run, fmt.Sprint("ref", i%7), fmt.Sprint("secret words ", i))
	}
	token, err := run.Token(ctx)
	require.NoError(t, err)
	require.LessOrEqual(t, len(token), 1024)
	same, err := run.Token(ctx)
	require.NoError(t, err)
	require.Equal(t, token, same)
	lists := ownLists(t, h)
	require.Len(t, lists, 1, "one document for one list")
	require.NotContains(t, string(lists[0].Value), "secret words")

	resumed, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: token})
	require.NoError(t, err)
	past, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	for ref := range 7 {
		want := contents(t, run.Memory(), fmt.Sprint("ref", ref))
		require.Equal(t, want, contents(t, resumed.Memory(), fmt.Sprint("ref", ref)))
		require.Equal(t, want, contents(t, past, fmt.Sprint("ref", ref)))
	}
	require.NoError(t, run.End(ctx))

	_, err = h.Scrub(ctx, "acme", newVault("late", "secret words"))
	require.NoError(t, err)
	require.Len(t, ownLists(t, h), 1, "it holds no word that a redactor finds")
	_, err = past.List(ctx, "ref0", memory.ListOptions{})
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable, "what the run saw was erased")

	// It waits for a horizon after the newest token that names it, and no longer.
	h.clock.Advance(23 * time.Hour)
	_, err = resumed.Token(ctx)
	require.NoError(t, err)
	h.clock.Advance(23 * time.Hour)
	_, err = h.Maintain(ctx)
	require.NoError(t, err)
	reason, err := h.CheckToken(ctx, "acme", token)
	require.NoError(t, err)
	require.Empty(t, reason)
	h.clock.Advance(2 * time.Hour)
	_, err = h.Maintain(ctx)
	require.NoError(t, err)
	require.Empty(t, ownLists(t, h))
	_, err = h.AsOf(ctx, "acme", token)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	reason, err = h.CheckToken(ctx, "acme", token)
	require.NoError(t, err)
	require.Equal(t, "horizon", reason)
}

// A read-only bank keeps no list: its token has it.
func TestM7_AReadOnlyBankHasItsListInTheToken(t *testing.T) {
	store := inmem.New()
	h := newHostOn(t, store)
	run := h.run("r", "acme")
	for i := range 100 {
		put(t, run, "m", fmt.Sprint(i))
	}
	token, err := run.Token(ctx)
	require.NoError(t, err)
	reading := newHostOn(t, store, func(c *memory.Config) { c.ReadOnly, c.WriteEvents, c.Sink = true, false, nil })
	resumed, err := reading.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: token})
	require.NoError(t, err)
	long, err := resumed.Token(ctx)
	require.NoError(t, err)
	require.Greater(t, len(long), 1024)
	past, err := reading.AsOf(ctx, "acme", long)
	require.NoError(t, err)
	require.Len(t, contents(t, past, "m"), 100)
}

// A token of a process whose clock is behind does not take from what a later one was promised.
func TestM7_AListWaitsForTheNewestTokenThatNamesIt(t *testing.T) {
	store := inmem.New()
	horizon := func(c *memory.Config) { c.Horizon = 24 * time.Hour }
	ahead, behind := newHostOn(t, store, horizon), newHostOn(t, store, horizon)
	run := behind.run("r", "acme")
	for i := range 100 {
		put(t, run, "m", fmt.Sprint(i))
	}
	first, err := run.Token(ctx)
	require.NoError(t, err)
	ahead.clock.Advance(time.Hour)
	resumed, err := ahead.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: first})
	require.NoError(t, err)
	_, err = resumed.Token(ctx)
	require.NoError(t, err)
	due := ownLists(t, ahead)[0].Due
	_, err = run.Token(ctx)
	require.NoError(t, err)
	require.Equal(t, due, ownLists(t, ahead)[0].Due)
}
