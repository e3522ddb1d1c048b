package memory_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

func TestM7_TokensOfOthersAreUnavailable(t *testing.T) {
	store := inmem.New()
	h, other := newHostOn(t, store), newHost(t)
	put(t, h.job("acme"), "m", "x")
	token, err := h.run("r", "acme").Token(ctx)
	require.NoError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(string(token))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(token), "eyJ"), "no flag begins like it: %s", token)
	damage := func(i int) memory.Token {
		raw := bytes.Clone(raw)
		raw[i] ^= 1
		return memory.Token(base64.RawURLEncoding.EncodeToString(raw))
	}
	for i := range raw {
		_, err := h.AsOf(ctx, "acme", damage(i))
		require.ErrorIs(t, err, memory.ErrSnapshotUnavailable, "byte %d", i)
	}

	// A token that was made by hand without a version, which would name live memory.
	version, err := store.Version(ctx, "acme")
	require.NoError(t, err)
	const sumBytes = 8
	forged := bytes.Replace(raw[:len(raw)-sumBytes], []byte(version), nil, 1)
	sum := sha256.Sum256(forged)
	forged = append(forged, sum[:sumBytes]...)

	for name, c := range map[string]struct {
		bank   *host
		tenant string
		token  memory.Token
	}{
		"another tenant": {h, "globex", token},
		"another store":  {other, "acme", token},
		"damaged":        {h, "acme", damage(len(raw) / 2)},
		"cut":            {h, "acme", token[:len(token)-3]},
		"no token":       {h, "acme", "no token"},
		"short":          {h, "acme", "AA"},
		"foreign text":   {h, "acme", "\x00\xff"},
		"no version":     {h, "acme", memory.Token(base64.RawURLEncoding.EncodeToString(forged))},
	} {
		_, err := c.bank.AsOf(ctx, c.tenant, c.token)
		require.ErrorIs(t, err, memory.ErrSnapshotUnavailable, name)
		require.Equal(t, memory.CodeSnapshotUnavailable, memory.CodeOf(err))
		_, err = c.bank.Start(ctx, memory.RunConfig{ID: "r", Tenant: c.tenant, Redactor: newVault(), Resume: c.token})
		require.ErrorIs(t, err, memory.ErrSnapshotUnavailable, name)
		require.ErrorIs(t, c.bank.run("p", c.tenant).Join(ctx, c.token), memory.ErrSnapshotUnavailable, name)
	}
	_, err = h.AsOf(ctx, "acme", "")
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	reason, err := h.CheckToken(ctx, "acme", memory.Token(base64.RawURLEncoding.EncodeToString(forged)))
	require.NoError(t, err)
	require.Equal(t, "malformed", reason, "no store is asked for it")
}

func TestM7_ASuspendedRunWaitsAsLongAsTheHorizon(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.Horizon = 24 * time.Hour })
	job := h.job("acme")
	old := put(t, job, "m", "old")
	purge := func() int {
		n, err := h.Purge(ctx, "acme")
		require.NoError(t, err)
		return n
	}
	require.Zero(t, purge())
	suspended := h.run("r", "acme")
	put(t, suspended, "m", "own")
	token, err := suspended.Token(ctx)
	require.NoError(t, err)
	_, err = job.Delete(ctx, "m", old.ID)
	require.NoError(t, err)

	for range 8 {
		h.clock.Advance(3*time.Hour - time.Millisecond)
		require.Zero(t, purge())
		asOf, err := h.AsOf(ctx, "acme", token)
		require.NoError(t, err)
		require.Equal(t, []string{"own", "old"}, contents(t, asOf, "m"))
		resumed, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: token})
		require.NoError(t, err)
		require.Equal(t, []string{"own", "old"}, contents(t, resumed.Memory(), "m"))
	}
	h.clock.Advance(4 * time.Hour)
	require.Equal(t, 1, purge())
	_, err = h.AsOf(ctx, "acme", token)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	_, err = h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: token})
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	_, err = suspended.Memory().List(ctx, "m", memory.ListOptions{})
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable, "a view behind the horizon never shows live memory")
	require.Equal(t, []string{"own"}, contents(t, h.Reader("acme"), "m"))
}

func TestM7_ManyPurgesWithinAHorizonNeverShortenIt(t *testing.T) {
	h := newHost(t)
	put(t, h.job("acme"), "m", "x")
	_, err := h.Purge(ctx, "acme")
	require.NoError(t, err)
	token, err := h.run("r", "acme").Token(ctx)
	require.NoError(t, err)
	step := memory.DefaultHorizon / 500
	for at := step; at < memory.DefaultHorizon; at += step {
		h.clock.Advance(step)
		put(t, h.job("acme"), "m", "y")
		_, err := h.Purge(ctx, "acme")
		require.NoError(t, err)
		_, err = h.AsOf(ctx, "acme", token)
		require.NoError(t, err, "after %v", at)
	}
	noted := purgeNotes(t, h)
	require.Less(t, len(noted.Value), 8<<10, "what purging notes is bounded")
	h.clock.Advance(memory.DefaultHorizon / 2)
	_, err = h.Purge(ctx, "acme")
	require.NoError(t, err)
	_, err = h.AsOf(ctx, "acme", token)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
}

// purgeNotes is the document in which a bank notes versions for its purges.
func purgeNotes(t *testing.T, h *host) driver.Document {
	for d, err := range h.Engines().Documents(ctx, "acme", driver.DocumentQuery{Kind: "memory/purge"}) {
		require.NoError(t, err)
		return d
	}
	require.Fail(t, "no notes")
	return driver.Document{}
}

// TestM7_PurgeAfterARestore restores what a purge noted into a store that does not know
// the versions.
func TestM7_PurgeAfterARestore(t *testing.T) {
	lost := newHost(t)
	_, err := lost.Purge(ctx, "acme")
	require.NoError(t, err)
	noted := purgeNotes(t, lost)
	noted.Rev = 0
	h := newHost(t)
	_, err = h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: noted})
	require.NoError(t, err)
	e := put(t, h.job("acme"), "m", "x")
	_, err = h.job("acme").Delete(ctx, "m", e.ID)
	require.NoError(t, err)
	for want := range 2 { // the second time by what the first has noted
		h.clock.Advance(memory.DefaultHorizon)
		n, err := h.Purge(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}

// TestM7_WhatIsErasedWhileItIsReadIsNotMissed forgets between the read of a token's
// memory and its answer.
func TestM7_WhatIsErasedWhileItIsReadIsNotMissed(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	e := put(t, h.job("acme"), "m", "x", "s")
	token, err := h.run("r", "acme").Token(ctx)
	require.NoError(t, err)
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	store.fail = func(call string) error {
		if call == "List" {
			store.mu.Unlock() // the spy holds its lock here
			defer store.mu.Lock()
			store.fail = nil
			_, err := h.Forget(ctx, "acme", "s")
			return err
		}
		return nil
	}
	_, err = asOf.Get(ctx, "m", e.ID)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
}

// TestM6_DeletingHidesOnlyOwnWrites: what a fork or a child inherited is part of what
// it started with.
func TestM6_DeletingHidesOnlyOwnWrites(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	e := put(t, run, "m", "x")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	fork, err := h.Start(ctx, memory.RunConfig{ID: "f", Tenant: "acme", Redactor: newVault(), Resume: token})
	require.NoError(t, err)
	child, err := run.Child("c")
	require.NoError(t, err)
	for name, r := range map[string]*memory.Run{"fork": fork, "child": child} {
		deleted, err := r.Delete(ctx, "m", e.ID)
		require.NoError(t, err)
		require.True(t, deleted, name)
		require.Equal(t, []string{"x"}, contents(t, r.Memory(), "m"), name)
	}
	require.NoError(t, child.End(ctx))
	require.Equal(t, []string{"x"}, contents(t, run.Memory(), "m"))
	deleted, err := run.Delete(ctx, "m", e.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	require.Empty(t, contents(t, run.Memory(), "m"))
}

func TestM6_OwnWritesPassTheTagFilter(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	for i := range 6 {
		_, err := run.Put(ctx, "m", memory.Draft{Content: fmt.Sprint(i), Tags: []string{fmt.Sprint("t", i%2)}})
		require.NoError(t, err)
	}
	got, err := run.Memory().List(ctx, "m", memory.ListOptions{Tag: "t1", Limit: 2})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "5", got[0].Content)
	require.Equal(t, "3", got[1].Content)
}

// TestM6_ConcurrentWritersViewsForgetsAndPurges is for the race detector; it also
// counts: nothing acknowledged is lost, and no view moves.
func TestM6_ConcurrentWritersViewsForgetsAndPurges(t *testing.T) {
	h := newHost(t)
	const writers, each = 4, 150
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			run := h.run(fmt.Sprint("w", w), "acme")
			for i := range each {
				subject := "keep"
				if i%3 == 0 {
					subject = "drop"
				}
				put(t, run, "m", fmt.Sprint(w, "/", i), subject)
			}
			if err := run.End(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for v := range 3 {
		wg.Go(func() {
			for i := range 40 {
				run := h.run(fmt.Sprint("v", v, "/", i), "acme")
				first, err := run.Memory().List(ctx, "m", memory.ListOptions{Limit: 1000})
				if err != nil {
					t.Error(err)
					return
				}
				second, err := run.Memory().List(ctx, "m", memory.ListOptions{Limit: 1000})
				if err != nil {
					t.Error(err)
					return
				}
				have := map[string]bool{}
				for _, e := range first {
					have[e.ID] = true
				}
				for _, e := range second {
					if !have[e.ID] {
						t.Error("a view has grown")
						return
					}
					delete(have, e.ID)
				}
				for _, e := range first {
					if have[e.ID] && e.Subjects[0] != "drop" {
						t.Error("a view has lost what was not forgotten")
						return
					}
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if _, err := h.Forget(ctx, "acme", "drop"); err != nil {
				t.Error(err)
			}
			if _, err := h.Purge(ctx, "acme"); err != nil {
				t.Error(err)
			}
			if _, err := h.Relay(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	_, err := h.Forget(ctx, "acme", "drop")
	require.NoError(t, err)
	require.Len(t, contents(t, h.Reader("acme"), "m"), writers*each*2/3)
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	for w := range writers {
		require.Len(t, h.log.Events("acme", fmt.Sprint("w", w)), each)
	}
}

// TestM6_ALoopOverAScanMayUseItsHandle: no lock is held while the caller's code runs.
func TestM6_ALoopOverAScanMayUseItsHandle(t *testing.T) {
	h := newHost(t)
	run, job := h.run("r", "acme"), h.job("acme")
	const n = 1300 // more than two pages
	for range n {
		put(t, run, "m", "x")
	}
	for name, scan := range map[string]iter.Seq2[memory.Entry, error]{"run": run.Scan(ctx, "m"), "job": job.Scan(ctx, "m")} {
		count := 0
		for e, err := range scan {
			require.NoError(t, err)
			if count++; count%100 == 0 {
				put(t, run, "m", "while reading")
				_, err := job.Delete(ctx, "m", e.ID)
				require.NoError(t, err)
			}
		}
		require.GreaterOrEqual(t, count, n-n/100, name)
	}
	for rec, err := range job.History(ctx, "m") {
		require.NoError(t, err)
		_, err := job.Get(ctx, "m", rec.Entry.ID)
		require.True(t, err == nil || rec.State != memory.Live)
	}
	for _, err := range run.Scan(ctx, "../m") {
		require.NoError(t, err, "a malformed ref holds nothing")
		t.Fatal("an entry")
	}
	require.NoError(t, run.End(ctx))
	for _, err := range run.Scan(ctx, "m") {
		require.ErrorIs(t, err, memory.ErrEnded)
	}
}

// The first handle of a run that is suspended is ended without a terminal event: its registry
// is closed and its events are delivered. The one that resumes sees what it wrote.
func TestM6_ASuspendedRunLeavesNothingOpen(t *testing.T) {
	h := newHost(t)
	first := newVault()
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: first})
	require.NoError(t, err)
	put(t, run, "m", "before")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.Abort(ctx))
	require.True(t, first.closed)
	require.Len(t, h.log.Events("acme", "r"), 1, "the write, and no terminal event")

	resumed, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: token})
	require.NoError(t, err)
	put(t, resumed, "m", "after")
	require.Equal(t, []string{"after", "before"}, contents(t, resumed.Memory(), "m"))
	require.NoError(t, resumed.End(ctx))
	require.Len(t, h.log.Events("acme", "r"), 2)
}
