package commitment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func (h *host) sweep() commitment.Swept {
	h.t.Helper()
	done, err := h.Sweep(ctx, "acme")
	require.NoError(h.t, err)
	return done
}

// held tells whether there is a commitment of that id.
func (h *host) held(c commitment.Commitment) bool {
	h.t.Helper()
	got, err := find(h.store, c.Tenant, c.ID)
	require.NoError(h.t, err)
	return got.Rev != 0
}

// What can never be armed again is removed when its entry is gone, and only then: an entry
// that may come back keeps its commitments. What waits for a predicate lapses without one.
func TestK1_SweepingKeepsWhatIsHeld(t *testing.T) {
	end := map[string]func(h *host, id, other string){
		"live": func(*host, string, string) {},
		"merged": func(h *host, id, other string) {
			_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: id, State: memory.Merged, For: other}}})
			require.NoError(h.t, err)
		},
		"superseded": func(h *host, id, other string) {
			_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: id, State: memory.Superseded, For: other}}})
			require.NoError(h.t, err)
		},
		"deleted": func(h *host, id, _ string) {
			_, err := h.job("acme").Delete(ctx, "ref", id)
			require.NoError(h.t, err)
		},
		"expired": func(h *host, _, _ string) { h.clock.Advance(2 * time.Hour) },
		"forgotten": func(h *host, _, _ string) {
			_, err := h.bank.Forget(ctx, "acme", "subject")
			require.NoError(h.t, err)
		},
		"purged": func(h *host, id, _ string) {
			_, err := h.job("acme").Delete(ctx, "ref", id)
			require.NoError(h.t, err)
			v, err := h.store.Version(ctx, "acme")
			require.NoError(h.t, err)
			n, err := h.store.Purge(ctx, "acme", v, h.clock.Now())
			require.NoError(h.t, err)
			require.NotZero(h.t, n)
		},
	}
	for name, end := range end {
		t.Run(name, func(t *testing.T) {
			stays := name == "live" || name == "merged" || name == "superseded"
			h := newHost(t)
			e, err := h.job("acme").Put(ctx, "ref", memory.Draft{Content: "x", Subjects: []string{"subject"}, ExpiresAt: epoch.Add(2 * time.Hour)})
			require.NoError(t, err)
			other := h.note("y")
			s := commitment.Source{Ref: "ref", MemoryID: e.ID}
			fired, canceled := h.arm(s, in(time.Hour)), h.arm(s, commitment.Arm{Every: time.Hour})
			waits, timed := h.arm(s, signed), h.arm(s, in(100*day))
			_, err = h.Cancel(ctx, "acme", canceled.ID)
			require.NoError(t, err)
			h.clock.Advance(time.Hour)
			require.Equal(t, 1, h.tick().Fired)
			require.Equal(t, h.clock.Now(), h.get(fired).EndedAt)
			require.Zero(t, h.sweep(), "the entry is live")

			end(h, e.ID, other.MemoryID)
			want := commitment.Swept{Lapsed: 1, Removed: 2}
			if stays {
				want = commitment.Swept{}
			}
			require.Equal(t, want, h.sweep())
			for _, c := range []commitment.Commitment{fired, canceled} {
				require.Equal(t, stays, h.held(c))
			}
			require.True(t, h.held(timed), "that comes due by itself")
			if stays {
				require.Equal(t, commitment.Armed, h.get(waits).State)
				require.Zero(t, h.sweep())
				return
			}
			require.Equal(t, commitment.ReasonGone, h.get(waits).Reason)
			require.Zero(t, h.observe(1, "yes", true))
			_, err = h.Arm(ctx, h.job("acme"), s, in(3*time.Hour))
			require.ErrorIs(t, err, memory.ErrNotFound, "what was swept away cannot come back")
			require.Equal(t, commitment.Swept{Removed: 1}, h.sweep(), "what lapsed has ended too")
			require.Zero(t, h.sweep())
		})
	}
}

// An entry may come back though what it was merged into is gone: its intentions are neither armed a
// second time then nor lost.
func TestK1_SweepingKeepsWhatCanBeRestored(t *testing.T) {
	h := newHost(t)
	s := h.note("x")
	head, err := h.job("acme").Put(ctx, "ref", memory.Draft{Content: "y", ExpiresAt: epoch.Add(3 * time.Hour)})
	require.NoError(t, err)
	once, waits := h.arm(s, in(time.Hour)), h.arm(s, signed)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	rewrite := func(rw memory.Rewrite) {
		_, err := h.job("acme").Rewrite(ctx, "ref", rw)
		require.NoError(t, err)
	}
	rewrite(memory.Rewrite{Retire: []memory.Retire{{ID: s.MemoryID, State: memory.Merged, For: head.ID}}})
	h.clock.Advance(3 * time.Hour)
	require.Zero(t, h.sweep())
	rewrite(memory.Rewrite{Restore: []string{s.MemoryID}})
	require.Equal(t, commitment.Acknowledged, h.arm(s, in(time.Hour)).State, "it is still known: "+once.ID)
	require.Equal(t, 1, h.observe(1, "yes", true))
	require.Equal(t, 1, h.tick().Fired)

	rewrite(memory.Rewrite{Retire: []memory.Retire{{ID: s.MemoryID, State: memory.Deleted}}})
	require.Equal(t, commitment.Swept{Lapsed: 1, Removed: 1}, h.sweep(), "what was deleted does not come back: "+waits.ID)
}

// What recurs goes on when the merge or the supersession by which it lapsed was undone: no instant and
// no transition is claimed twice, and while its heir fires for it, it does not.
func TestK6_WhatRecursOutlivesAMergeThatIsUndone(t *testing.T) {
	for _, way := range []driver.State{memory.Merged, memory.Superseded} {
		h := newHost(t)
		s, head := h.note("x"), h.note("y")
		rewrite := func(rw memory.Rewrite) {
			_, err := h.job("acme").Rewrite(ctx, "ref", rw)
			require.NoError(t, err)
		}
		hourly, waits, once := h.arm(s, commitment.Arm{Every: time.Hour}), h.arm(s, signed), h.arm(s, in(time.Hour))
		canceled := h.arm(s, commitment.Arm{Every: 20 * time.Minute})
		rewrite(memory.Rewrite{Retire: []memory.Retire{{ID: s.MemoryID, State: way, For: head.MemoryID}}})
		h.clock.Advance(time.Hour)
		require.Equal(t, 1, h.observe(1, "yes", true))
		heirs := 0
		if way == memory.Merged {
			heirs = 4
		}
		require.Equal(t, commitment.Ticked{Fired: heirs, Lapsed: 4}, h.tick())
		_, err := h.Cancel(ctx, "acme", canceled.ID)
		require.NoError(t, err)
		require.Zero(t, h.sweep(), "the entry is not back")

		rewrite(memory.Rewrite{Restore: []string{s.MemoryID}})
		if way == memory.Merged {
			require.Zero(t, h.sweep(), "the heirs fire")
			rewrite(memory.Rewrite{Retire: []memory.Retire{{ID: head.MemoryID, State: memory.Deleted}}})
			h.clock.Advance(time.Hour)
			require.Equal(t, commitment.Ticked{Lapsed: 2}, h.tick())
		}
		revived := 0
		for range 3 { // the heir that waits lapses in one of them, and what it stood for goes on after that
			revived += h.sweep().Revived
		}
		require.Equal(t, 2, revived, way)
		require.Equal(t, commitment.Lapsed, h.get(once).State)
		require.Equal(t, commitment.Lapsed, h.get(canceled).State)
		require.Zero(t, h.sweep())
		require.Zero(t, h.tick(), "what passed meanwhile is passed over")
		require.Zero(t, h.observe(1, "yes", true))
		h.clock.Advance(time.Hour)
		require.Equal(t, 1, h.observe(2, "no", true))
		require.Equal(t, 2, h.tick().Fired)
		require.Equal(t, 1, h.get(hourly).Fired)
		require.Equal(t, 1, h.get(waits).Fired)
		require.Empty(t, h.store.(*audit).twice)
		require.Equal(t, len(h.queue.runs), len(fired(h.log)))
	}
}

// Without an entry it is the retention that counts, from when it ended.
func TestSweepingWithoutAnEntry(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) { c.Retention = 2 * day })
	s := commitment.Source{Ref: "ref"}
	once, waits := h.arm(s, in(day)), h.arm(s, signed)
	h.clock.Advance(day)
	require.Equal(t, 1, h.tick().Fired)
	h.clock.Advance(2 * day)
	require.Zero(t, h.sweep())
	h.clock.Advance(time.Millisecond)
	require.Equal(t, commitment.Swept{Removed: 1}, h.sweep())
	require.False(t, h.held(once))
	require.True(t, h.held(waits))
}

// The store is asked a few times, not once for each commitment.
func TestSweepingAsksInBatches(t *testing.T) {
	h := newHost(t)
	s := &lookups{store: h.store.(*audit).store}
	for i := range 1000 {
		h.arm(h.note(fmt.Sprint(i)), signed)
	}
	h.store = s
	h.restart()
	require.Zero(t, h.sweep())
	require.Equal(t, 4, s.calls)
}
