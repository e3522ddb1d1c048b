package commitment_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// restore makes a commitment on an entry of this host what it was on another one.
func (h *host) restore(was commitment.Commitment, on commitment.Source) commitment.Commitment {
	h.t.Helper()
	was.Ref, was.MemoryID = on.Ref, on.MemoryID
	c, err := h.Engine.Restore(ctx, h.job("acme"), was)
	require.NoError(h.t, err)
	return c
}

// K2: at any moment of a move, also between the tries of a firing, the firings before and after are
// those of a host that never moved. The entry has another id in the new store, and is read again there.
func TestK2_RestoringAtAnyMomentFiresWhatNoMoveWouldHave(t *testing.T) {
	arms := []commitment.Arm{in(5 * time.Hour), {Every: 2 * time.Hour}, {Every: 3 * time.Hour, Once: true}, {At: epoch.Add(-time.Hour), Every: 7 * time.Hour}}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 59))
		arm, moved := arms[r.IntN(len(arms))], time.Duration(r.IntN(13))*time.Hour+time.Duration(r.IntN(3))*time.Minute
		instants := func(move bool) (fired []time.Time) {
			h, answers := newHost(t), rand.New(rand.NewPCG(seed, 60))
			h.queue.lose = func(commitment.Firing) error {
				if answers.IntN(2) == 0 {
					return errDown // the run has started, and the host does not hear of it
				}
				return nil
			}
			c := h.arm(h.note("x"), arm)
			for at := time.Duration(0); at <= 12*time.Hour; at += time.Minute {
				if move && at == moved {
					other := newHost(t)
					other.clock, other.queue = h.clock, h.queue
					other.restart()
					on := other.note("x")
					restored := other.restore(h.get(c), on)
					require.Equal(t, restored, other.restore(h.get(c), on), "again")
					again, err := other.Engine.Arm(ctx, other.job("acme"), on, arm)
					require.NoError(t, err)
					require.Equal(t, restored, again, "the entry is read again")
					h, c = other, restored
				}
				h.clock.Advance(time.Minute)
				h.tick()
			}
			for _, call := range h.queue.calls {
				if call.Try == 1 {
					fired = append(fired, call.Instant)
				}
			}
			fired = slices.Compact(fired)
			require.Len(t, h.queue.runs, len(fired), "a run for each")
			return fired
		}
		require.Equal(t, instants(false), instants(true), "seed %d: %+v moved after %s", seed, arm, moved)
	}
}

// What was read in the new store before its state came is as far as it was, and what has gone further there
// stays.
func TestK2_RestoreTakesWhatHasComeFurther(t *testing.T) {
	h := newHost(t)
	daily := h.arm(h.note("x"), commitment.Arm{Every: day})
	once := h.arm(h.note("y"), in(day))
	h.ticks(3*day, time.Hour)
	other := newHost(t)
	other.clock = h.clock
	other.restart()
	on := other.note("x")
	other.arm(on, daily.Arm)
	require.Equal(t, h.get(daily).Fired, other.restore(h.get(daily), on).Fired)
	other.ticks(2*day, time.Hour)
	ahead := other.get(commitment.Commitment{Tenant: "acme", ID: commitment.ID("acme", on.Ref, on.MemoryID, daily.Arm)})
	require.Equal(t, ahead, other.restore(h.get(daily), on), "an older state changes nothing")
	require.Equal(t, commitment.Acknowledged, other.restore(h.get(once), other.note("y")).State)
}

// Restore refuses what is no commitment, and names no entry of another tenant.
func TestK1_RestoreRefuses(t *testing.T) {
	h := newHost(t)
	on := h.note("x")
	was := h.arm(on, commitment.Arm{Every: day})
	for name, c := range map[string]struct {
		change func(*commitment.Commitment)
		want   error
	}{
		"no arm":   {func(c *commitment.Commitment) { c.Arm = commitment.Arm{} }, memory.ErrValidation},
		"no state": {func(c *commitment.Commitment) { c.State = "asleep" }, memory.ErrValidation},
		"no entry": {func(c *commitment.Commitment) { c.MemoryID = "mem_unknown" }, memory.ErrNotFound},
		"no ref":   {func(c *commitment.Commitment) { c.Ref, c.MemoryID = "\x00", "" }, memory.ErrValidation},
	} {
		given := was
		c.change(&given)
		_, err := h.Engine.Restore(ctx, h.job("acme"), given)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := h.Engine.Restore(ctx, nil, was)
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = h.Engine.Restore(ctx, h.job("globex"), was)
	require.ErrorIs(t, err, memory.ErrNotFound, "CTI-1: it is no entry of that tenant")
}
