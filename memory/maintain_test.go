package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

func tenants(t *testing.T, h *host) (out []string) {
	t.Helper()
	for tenant, err := range h.Tenants(ctx) {
		require.NoError(t, err)
		out = append(out, tenant)
	}
	return out
}

func refs(t *testing.T, h *host, tenant string) (out []string) {
	t.Helper()
	for ref, err := range h.Refs(ctx, tenant) {
		require.NoError(t, err)
		out = append(out, ref)
	}
	return out
}

func TestTenantsAndRefsAreListed(t *testing.T) {
	h := newHost(t)
	for _, tenant := range []string{"b", "a", "a\x7e", "aa"} {
		for _, ref := range []string{"n", "m", "m/1"} {
			put(t, h.job(tenant), ref, "x")
		}
	}
	_, err := h.Engines().Swap(ctx, "documents only", driver.DocumentSwap{Document: driver.Document{Scope: memory.Scope{Ref: "r"}, Kind: "k", Key: "1"}})
	require.NoError(t, err)
	_, err = h.Engines().Swap(ctx, "b", driver.DocumentSwap{Document: driver.Document{Kind: "k", Key: "1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "aa", "a~", "b", "documents only"}, tenants(t, h))
	require.Equal(t, []string{"m", "m/1", "n"}, refs(t, h, "a"))
	require.Equal(t, []string{"r"}, refs(t, h, "documents only"))
	require.Empty(t, refs(t, h, "nobody"))
}

// What is dropped is gone with its history: a tenant that gets the name later begins anew, and
// no old token reads what is theirs.
func TestM7_DropTenantLeavesNothing(t *testing.T) {
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(context.Context, ...events.Record) error { return errors.New("off") })
	})
	job := h.job("acme")
	put(t, job, "m", "theirs", "s")
	_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{Kind: "k", Key: "1", Due: h.Now()}})
	require.NoError(t, err)
	other := put(t, h.job("globex"), "m", "another's")
	run := h.run("r", "acme")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, h.DropTenant(ctx, "acme"))
	require.NoError(t, h.DropTenant(ctx, "acme"), "it can be repeated")
	require.NoError(t, h.DropTenant(ctx, "nobody"))
	require.Equal(t, []string{"globex"}, tenants(t, h))
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
	due, err := h.Engines().Due(ctx, "k", 10)
	require.NoError(t, err)
	require.Empty(t, due)
	relayed, _ := h.Relay(ctx)
	require.Equal(t, 1, relayed.Waiting, "the other tenant's event")
	put(t, job, "m", "a new tenant of that name")
	for range 3 {
		_, err = run.Memory().List(ctx, "m", memory.ListOptions{})
		require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
		_, err = h.AsOf(ctx, "acme", token)
		require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
		put(t, job, "m", "more")
	}
	_, err = h.Reader("globex").Get(ctx, "m", other.ID)
	require.NoError(t, err)
	require.ErrorIs(t, h.DropTenant(ctx, ""), memory.ErrValidation)
}

// Rounds share the tenants out, and every tenant is purged within a few of them.
func TestMaintainIsFair(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.LedgerRetention = 24 * time.Hour })
	for i := range 250 {
		tenant := fmt.Sprintf("t%03d", i)
		e := put(t, h.job(tenant), "m", "x", "s")
		_, err := h.job(tenant).Delete(ctx, "m", e.ID)
		require.NoError(t, err)
	}
	_, err := h.Forget(ctx, "t007", "s")
	require.NoError(t, err)
	round := func() memory.Maintained {
		done, err := h.Maintain(ctx)
		require.NoError(t, err)
		return done
	}
	first := round()
	require.Equal(t, []int{250, 16}, []int{first.Delivered, first.Tenants})
	looked := first.Tenants
	for range 15 {
		looked += round().Tenants
	}
	require.Equal(t, 250, looked)
	h.clock.Advance(memory.DefaultHorizon + time.Hour)
	purged, forgotten := 0, 0
	for range 2 * 16 {
		done := round()
		purged += done.Purged
		forgotten += done.Trimmed
	}
	require.Equal(t, 250, purged)
	require.Equal(t, 1, forgotten)
	before := len(h.log.Events("t000", "pass"))
	require.Zero(t, round().Purged)
	require.Len(t, h.log.Events("t000", "pass"), before)
}

// A tenant that nothing is written to is noted four times in a horizon, and one that is
// written to more often; what has expired goes soon after the horizon all the same.
func TestMaintainLeavesIdleTenantsAlone(t *testing.T) {
	h := newHost(t)
	const step = memory.DefaultHorizon / 64
	for _, tenant := range []string{"idle", "busy"} {
		_, err := h.job(tenant).Put(ctx, "m", memory.Draft{Content: "x", TTL: 10 * step})
		require.NoError(t, err)
	}
	seen := map[string]map[string]bool{"idle": {}, "busy": {}} // versions after rounds, by tenant
	gone := map[string]int{}                                   // the step in which nothing is left
	for i := range 192 {
		if i%2 == 0 {
			put(t, h.job("busy"), "other", "y")
		}
		_, err := h.Maintain(ctx)
		require.NoError(t, err)
		for tenant, versions := range seen {
			_, name, err := h.Engines().View(ctx, tenant, "m")
			require.NoError(t, err)
			versions[name] = true
			left := 0
			for range h.job(tenant).History(ctx, "m") {
				left++
			}
			if left == 0 && gone[tenant] == 0 {
				gone[tenant] = i
			}
		}
		h.clock.Advance(step)
	}
	require.Len(t, seen["idle"], 3*4, "in three horizons")
	require.Len(t, seen["busy"], 96, "one for each write")
	require.InDelta(t, 64+10, gone["busy"], 2)
	require.InDelta(t, 64+10+8, gone["idle"], 8)
}

func TestKeepGoesOnWhateverFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var refuse atomic.Bool
		refuse.Store(true)
		got := new(events.Log)
		h := newHost(t, func(c *memory.Config) {
			c.Now = nil
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c.Sink = sinkFunc(func(ctx context.Context, recs ...events.Record) error {
				if refuse.Load() {
					return errors.New("canary-of-the-sink")
				}
				return got.Emit(ctx, recs...)
			})
		})
		put(t, h.run("r", "acme"), "m", "canary-of-the-entry")
		ctx, cancel := context.WithCancel(ctx)
		var ticks atomic.Int32
		ended := make(chan error, 1)
		register(t, h.Bank, "ticker", func(context.Context) error { ticks.Add(1); return errors.New("canary-of-the-tick") }, nil)
		go func() { ended <- h.Keep(ctx, time.Second) }()
		time.Sleep(2500 * time.Millisecond)
		require.EqualValues(t, 3, ticks.Load())
		require.Empty(t, got.Events("acme", "r"))
		refuse.Store(false)
		time.Sleep(time.Second)
		require.Len(t, got.Events("acme", "r"), 1)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Contains(t, log.String(), "code=internal_error")
		require.Contains(t, log.String(), "the sink failed")
		require.NotContains(t, log.String(), "canary")
	})
}

// walks counts how often a store begins to list scopes.
type walks struct {
	*inmem.Store
	begun int
}

func (w *walks) Scopes(ctx context.Context, after memory.Scope) iter.Seq2[memory.Scope, error] {
	w.begun++
	return w.Store.Scopes(ctx, after)
}

// A round looks at each tenant once. It reads on over the refs of a tenant if they are few, and
// begins behind them if they are many.
func TestMaintainStepsOverRefs(t *testing.T) {
	for refs, begun := range map[int]int{1: 1, 40: 1, 100: 4} {
		store := &walks{Store: inmem.New()}
		b, err := memory.New(store, memory.Config{})
		require.NoError(t, err)
		for _, tenant := range []string{"a", "b", "c"} {
			for i := range refs {
				require.NoError(t, store.Put(ctx, memory.Scope{Tenant: tenant, Ref: fmt.Sprintf("ref-%03d", i)}, memory.Entry{ID: "e", Content: "x", CreatedAt: time.UnixMilli(1).UTC()}))
			}
		}
		for range 2 {
			store.begun = 0
			done, err := b.Maintain(ctx)
			require.NoError(t, err)
			require.Equal(t, 3, done.Tenants)
			require.Equal(t, begun, store.begun, "%d refs", refs)
		}
	}
}
