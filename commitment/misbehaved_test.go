package commitment_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

type arms map[string][]commitment.Arm

func (a arms) Infer(_ context.Context, r commitment.Request) (out commitment.Inference, err error) {
	for _, e := range r.Entries {
		for _, arm := range a[e.ID] {
			out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: arm})
		}
	}
	return out, nil
}

func (arms) Version() string { return "arms/1" }

func TestK6_WhatElseAnHeirsEntryAsksForIsArmed(t *testing.T) {
	found := arms{}
	h := newHost(t, func(c *commitment.Config) { c.Inferrer = found })
	monday, friday := commitment.Arm{At: epoch.Add(24 * time.Hour)}, commitment.Arm{At: epoch.Add(120 * time.Hour)}
	s := h.note("On Monday.")
	found[s.MemoryID] = []commitment.Arm{monday}
	in, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Len(t, in.Armed, 1)
	made, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: "On Monday and on Friday."}, Sources: []string{s.MemoryID}, Merges: []string{s.MemoryID},
	}}})
	require.NoError(t, err)
	found[made.Entries[0].ID] = []commitment.Arm{monday, friday}
	h.clock.Advance(25 * time.Hour)
	require.Equal(t, commitment.Ticked{Fired: 1, Lapsed: 1}, h.tick())
	in, err = h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Len(t, in.Armed, 1)
	require.Equal(t, 1, in.Known)
	h.clock.Advance(120 * time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Len(t, fired(h.log), 2)
}

func TestK3_AnEnqueuerThatPanicsHasFailed(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) {
		c.Tries = 2
		c.Enqueuer = enqueuer(func(_ context.Context, f commitment.Firing) (string, error) {
			if f.Arm.Every > 0 {
				panic("hunter2-hunter2")
			}
			return "run", nil
		})
	})
	bad := h.arm(h.note("x"), commitment.Arm{Every: time.Hour, Once: true})
	h.arm(h.note("y"), commitment.Arm{At: epoch.Add(time.Hour)})
	h.clock.Advance(time.Hour)
	done, err := h.Tick(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotContains(t, err.Error(), "hunter2-hunter2")
	require.Equal(t, commitment.Ticked{Fired: 1, Failed: 1}, done)
	h.clock.Advance(time.Hour)
	_, err = h.Tick(ctx)
	require.Error(t, err)
	require.Equal(t, commitment.Dead, h.get(bad).State)
}

func TestK3_AnEnqueuerThatOverlooksItsDeadlineHasFailed(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	h := newHost(t, func(c *commitment.Config) {
		c.Lease = 20 * time.Millisecond
		c.Enqueuer = enqueuer(func(context.Context, commitment.Firing) (string, error) { <-release; return "run", nil })
	})
	h.arm(h.note("x"), commitment.Arm{At: epoch.Add(time.Hour)})
	h.clock.Advance(time.Hour)
	require.Equal(t, commitment.Ticked{Failed: 1}, h.tick())
}
