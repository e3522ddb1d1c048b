package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// A clock that was once in 2099 keeps its bank there: that is what a host sees. A bank that is
// made anew over the same store has the right time, and what was written meanwhile can be deleted.
func TestM4_AClockThatLeapsIsLeftByANewBank(t *testing.T) {
	h := newHost(t)
	right := h.clock.Now()
	_, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "before", TTL: 24 * time.Hour})
	require.NoError(t, err)
	put(t, h.job("acme"), "m", "bob's", "bob")
	_, err = h.Forget(ctx, "acme", "bob")
	require.NoError(t, err)
	h.clock.ms.Store(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	leapt := h.Now()
	_, err = h.Maintain(ctx)
	require.NoError(t, err)
	h.clock.ms.Store(right.UnixMilli())

	require.Equal(t, leapt, h.Now(), "it never runs backwards")
	require.Empty(t, contents(t, h.Reader("acme"), "m"), "what expires before 2099 has expired")
	meanwhile := put(t, h.job("acme"), "m", "meanwhile")
	require.Equal(t, leapt, meanwhile.CreatedAt)
	_, err = h.job("acme").Put(ctx, "m", memory.Draft{Content: "x", ExpiresAt: right.Add(time.Hour)})
	require.EqualError(t, err, "memory: invalid input: Draft.ExpiresAt, or the end of Draft.TTL, is not in the future of the bank's clock")

	anew := newHostOn(t, h.store, func(c *memory.Config) { c.Now = h.clock.Now })
	require.Equal(t, right, anew.Now())
	for range anew.Erasures(ctx, "acme") {
		t.Error("the round of maintenance in 2099 did not empty the ledger")
	}
	require.Equal(t, []string{"meanwhile", "before"}, contents(t, anew.Reader("acme"), "m"), "newest first")
	after, err := anew.job("acme").Put(ctx, "m", memory.Draft{Content: "meanwhile", TTL: time.Hour})
	require.NoError(t, err)
	require.Equal(t, right, after.CreatedAt)
	deleted, err := anew.job("acme").Delete(ctx, "m", meanwhile.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	require.ElementsMatch(t, []string{"meanwhile", "before"}, contents(t, anew.Reader("acme"), "m"))
}

// A round of maintenance in 2099 leaves a note of that instant. It does not keep the rounds of
// the right time from purging until then.
func TestM7_ANoteOfAClockThatLeaptHoldsUpNoPurge(t *testing.T) {
	for name, round := range map[string]func(h *host) (int, error){
		"purge":    func(h *host) (int, error) { return h.Purge(ctx, "acme") },
		"maintain": func(h *host) (int, error) { done, err := h.Maintain(ctx); return done.Purged, err },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			right := h.clock.Now()
			put(t, h.job("acme"), "m", "x")
			h.clock.ms.Store(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
			_, err := round(h)
			require.NoError(t, err)

			h.clock.ms.Store(right.UnixMilli())
			anew := newHostOn(t, h.store, func(c *memory.Config) { c.Now = h.clock.Now })
			gone := put(t, anew.job("acme"), "m", "y")
			_, err = anew.job("acme").Delete(ctx, "m", gone.ID)
			require.NoError(t, err)
			purged := 0
			for range 20 {
				n, err := round(anew)
				require.NoError(t, err)
				purged += n
				h.clock.Advance(memory.DefaultHorizon / 4)
			}
			require.Equal(t, 1, purged)
		})
	}
}
