package commitment_test

import (
	"fmt"
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
	arms := []commitment.Arm{
		in(5 * time.Hour), {Every: 2 * time.Hour}, {Every: 3 * time.Hour, Once: true},
		{At: epoch.Add(-time.Hour), Every: 7 * time.Hour},
	}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
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

// K1, K2: memory that moves right after its notes were replaced, before anything has read the new ones, fires
// what it would have fired where it was: nothing that had ended, and what was under way under its key.
func TestK1_ExportTakesAlongWhatReplacedNotesGoOnWith(t *testing.T) {
	for _, tag := range []string{inADay, "every:24h", "when:signed"} {
		for _, state := range []string{"armed", "canceled", "fired", "under way", "given up"} {
			for _, merge := range []bool{false, true} {
				t.Run(fmt.Sprint(tag, " ", state, ", merged ", merge), func(t *testing.T) {
					keys := func(move bool) []string {
						h := newHost(t)
						s, c := h.kept(tag)
						if state == "canceled" {
							_, err := h.Cancel(ctx, "acme", c.ID)
							require.NoError(t, err)
						}
						if state != "armed" {
							h.clock.Advance(day)
							h.observe(1, "yes", true)
							h.queue.down(state != "fired")
							h.tick()
						}
						if state == "given up" {
							h.ticks(26*time.Hour, 10*time.Minute)
						}
						h.queue.down(false)
						if merge {
							_, err := h.job("acme").Rewrite(ctx, s.Ref, memory.Rewrite{
								Retire: []memory.Retire{{ID: s.MemoryID, State: memory.Merged, For: h.note("Call Lena.", tag).MemoryID}},
							})
							require.NoError(t, err)
						} else {
							h.edit(h.edit(s, "Call Lema."), "Call Lena.")
						}
						if move {
							h = h.moved()
						}
						_, err := h.Infer(ctx, h.job("acme"), "ref")
						require.NoError(t, err)
						begun := len(h.queue.calls)
						for c, err := range h.Commitments(ctx, "acme") {
							require.NoError(t, err)
							if c.GivenUp.Tries > 0 && c.State != commitment.Claimed {
								_, err := h.Retry(ctx, "acme", c.ID)
								require.NoError(t, err)
							}
						}
						h.observe(2, "yes", true)
						h.observe(3, "no", false)
						h.observe(4, "yes", true)
						h.ticks(30*time.Hour, 10*time.Minute)
						var of []string
						for _, f := range h.queue.calls[begun:] {
							of = append(of, fmt.Sprint(f.Instant, f.Position))
						}
						return append(of, fmt.Sprint(len(h.queue.runs), " runs"))
					}
					require.Equal(t, keys(false), keys(true))
				})
			}
		}
	}
}

// moved is a host over another store, with the live notes of this one and the state of its commitments.
func (h *host) moved() *host {
	h.t.Helper()
	other := newHost(h.t)
	other.clock, other.queue = h.clock, h.queue
	other.restart()
	at := map[string]commitment.Source{}
	for e, err := range h.job("acme").Scan(ctx, "ref") {
		require.NoError(h.t, err)
		at[e.ID] = other.note(e.Content, e.Tags...)
	}
	for c, err := range h.Export(ctx, h.job("acme")) {
		require.NoError(h.t, err)
		if on, lives := at[c.MemoryID]; lives {
			other.restore(c, on)
		}
	}
	return other
}

// A note that a person took the tag out of takes no reminder to another store, and what was read
// there since is not asked for twice.
func TestK1_ExportLeavesOutWhatANoteAsksForNoMore(t *testing.T) {
	h := newHost(t)
	s, c := h.kept(inADay)
	s = h.edit(s, "Lena called.", "done")
	other := h.moved()
	other.clock.Advance(2 * day)
	require.Zero(t, other.tick())
	h.edit(s, "Call Lena after all.", inADay)
	h.clock.Advance(-2 * day)
	h.infer(1)
	ids := map[string]int{}
	for c, err := range h.Export(ctx, h.job("acme")) {
		require.NoError(t, err)
		ids[c.ID]++
	}
	require.Len(t, ids, 2)
	require.Equal(t, 1, ids[c.ID])
	for _, err := range h.Export(ctx, nil) {
		require.ErrorIs(t, err, memory.ErrValidation)
	}
}
