package commitment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

func TestK5_EdgesOnly(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), signed)
	steps := []struct {
		position int64
		state    string
		holds    bool
		fires    int
		why      string
	}{
		{10, "no", false, 0, "it does not hold"},
		{11, "yes", true, 1, "the edge"},
		{12, "yes", true, 0, "no change"},
		{12, "no", false, 0, "repeated position"},
		{9, "other", true, 0, "stale"},
		{13, "no", false, 0, "it does not hold any more"},
		{14, "yes", true, 1, "it flaps"},
		{15, "yes again", true, 1, "another state that holds"},
		{14, "no", false, 0, "stale"},
		{15, "yes again", true, 0, "repeated"},
		{16, "yes again", true, 0, "no change"},
	}
	want := 0
	for _, s := range steps {
		require.Equal(t, s.fires, h.observe(s.position, s.state, s.holds), s.why)
		want += s.fires
		require.Equal(t, s.fires, h.tick().Fired, s.why)
	}
	require.Len(t, h.queue.runs, want)
	require.Equal(t, want, h.get(c).Fired)
	require.Zero(t, h.get(c).Due)
}

func TestK5_TheFirstIsAChangeFromNothing(t *testing.T) {
	h := newHost(t)
	h.arm(h.note("x"), signed)
	require.Equal(t, 1, h.observe(-5, "", true), "also the empty state, at any position")
	require.Equal(t, 0, h.observe(-5, "", true))
	require.Equal(t, 0, h.observe(-4, "", true))
}

func TestK5_OnlyItsOwnPredicateAndTenant(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), signed)
	for _, who := range [][2]string{{"globex", "signed"}, {"acme", "Signed"}, {"acme", "signed2"}} {
		n, err := h.Observe(ctx, commitment.Observation{Tenant: who[0], Predicate: who[1], Position: 1, State: nil, Holds: true})
		require.NoError(t, err)
		require.Empty(t, n)
	}
	_, err := h.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "not a name", Position: 1, State: nil, Holds: true})
	require.ErrorIs(t, err, memory.ErrValidation)
	require.Equal(t, c, h.get(c))
}

func TestK5_OnceFiresOnce(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), commitment.Arm{Predicate: "signed", Once: true})
	require.Equal(t, 1, h.observe(1, "a", true))
	require.Equal(t, 0, h.observe(2, "b", true))
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, 0, h.observe(3, "c", true))
	require.Equal(t, commitment.Acknowledged, h.get(c).State)
	require.Len(t, h.queue.runs, 1)
}

// Transitions that come while an earlier one cannot be delivered are all delivered in
// the end, and their number is bounded.
func TestK5_TransitionsWait(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) { c.GiveUpAfter = 40 * day })
	h.arm(h.note("x"), signed)
	down := true
	h.queue.fail = func(commitment.Firing) error {
		if down {
			return errors.New("down")
		}
		return nil
	}
	for i := range int64(1 + commitment.MaxWaiting) {
		require.Equal(t, 1, h.observe(i, fmt.Sprint(i), true))
	}
	h.tick()
	next := int64(1 + commitment.MaxWaiting)
	n, err := h.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: next, State: []byte("more"), Holds: true})
	require.ErrorIs(t, err, memory.ErrBacklog)
	require.Empty(t, n)
	down = false
	h.clock.Advance(day)
	require.Equal(t, 1+commitment.MaxWaiting, h.tick().Fired)
	require.Equal(t, 1, h.observe(next, "more", true), "and may be observed again")
	require.Equal(t, 1, h.tick().Fired)
	for i, f := range h.queue.calls[1:] {
		require.Equal(t, int64(i), f.Position, "in their order")
	}
	require.Empty(t, h.store.(*audit).twice)
}

// Against a model: any mix of fresh, stale and repeated observations of a flapping
// predicate, with failing deliveries between.
func TestK5_AgainstAModel(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		h := newHost(t, func(c *commitment.Config) { c.GiveUpAfter = 100 * 365 * day })
		h.arm(h.note("x"), signed)
		h.queue.fail = func(commitment.Firing) error {
			if r.IntN(3) == 0 {
				return errors.New("down")
			}
			return nil
		}
		seen, state, position := false, "", int64(0)
		want := map[int64]bool{}
		for range 150 {
			p, s, holds := position+int64(r.IntN(6))-2, fmt.Sprint(r.IntN(3)), r.IntN(2) == 0
			fires := 0
			if !seen || p > position {
				if holds && (!seen || s != state) {
					fires = 1
					want[p] = true
				}
				seen, state, position = true, s, p
			}
			require.Equal(t, fires, h.observe(p, s, holds), "seed %d", seed)
			if r.IntN(2) == 0 {
				h.tick()
				h.clock.Advance(commitment.MaxBackoff)
			}
		}
		for range 40 {
			h.clock.Advance(commitment.MaxBackoff)
			h.tick()
		}
		got := map[int64]bool{}
		for _, f := range h.queue.calls {
			got[f.Position] = true
		}
		require.Equal(t, want, got, "seed %d", seed)
		require.Len(t, fired(h.log), len(want))
		require.Empty(t, h.store.(*audit).twice)
	}
}

// What the host does between an observation's parts is not seen: they are one swap.
func TestK5_OneSwap(t *testing.T) {
	h := newHost(t)
	h.arm(h.note("x"), signed)
	a := h.store.(*audit)
	a.applied = 0
	h.observe(1, "yes", true)
	require.Equal(t, 1, a.applied)
	h.observe(1, "no", false)
	require.Equal(t, 1, a.applied)
}

func TestObserveStopsWithItsContext(t *testing.T) {
	h := newHost(t)
	h.arm(h.note("x"), signed)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := h.Observe(done, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: 1, State: nil, Holds: true})
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.Tick(done)
	require.ErrorIs(t, err, context.Canceled)
}
