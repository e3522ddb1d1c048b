package commitment_test

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

var errDown = errors.New("queue is down")

// down makes the queue refuse everything, or work again.
func (q *queue) down(is bool) {
	q.fail = nil
	if is {
		q.fail = func(commitment.Firing) error { return errDown }
	}
}

// ticks advances the clock in steps, with a tick after each, and adds up what the ticks did.
func (h *host) ticks(total, step time.Duration) (all commitment.Ticked) {
	h.t.Helper()
	for range total / step {
		h.clock.Advance(step)
		done := h.tick()
		all.Fired += done.Fired
		all.Lapsed += done.Lapsed
		all.GivenUp += done.GivenUp
	}
	return all
}

// An hour, and a night, without a queue cost neither a reminder nor one that recurs.
func TestK3_AnOutageOfANightLosesNothing(t *testing.T) {
	for _, outage := range []time.Duration{time.Hour, 12 * time.Hour} {
		h := newHost(t)
		daily, once := h.arm(h.note("pills"), commitment.Arm{Every: day}), h.arm(h.note("call"), in(day))
		h.clock.Advance(day)
		h.queue.down(true)
		require.Zero(t, h.ticks(outage, time.Minute).Fired)
		h.queue.down(false)
		require.Equal(t, 6, h.ticks(4*day, 10*time.Minute).Fired, outage)
		require.Equal(t, 5, h.get(daily).Fired)
		require.Equal(t, commitment.Acknowledged, h.get(once).State)
	}
}

// outage lets a firing be given up, and the queue work again. It returns what the ticks did.
func (h *host) outage() (done commitment.Ticked) {
	h.t.Helper()
	h.queue.down(true)
	done = h.ticks(26*time.Hour, 10*time.Minute)
	h.queue.down(false)
	return done
}

// refusesRetry expects a Retry to be a conflict that changes nothing.
func (h *host) refusesRetry(c commitment.Commitment) {
	h.t.Helper()
	before := h.get(c)
	_, err := h.Retry(ctx, "acme", c.ID)
	require.ErrorIs(h.t, err, memory.ErrConflict)
	require.Equal(h.t, before, h.get(c))
}

// A firing is given up after a day of trying. What recurs fires for its next instant, or for the
// transitions that have waited.
func TestK3_GivingUpEndsTheFiringOnly(t *testing.T) {
	h := newHost(t)
	daily := h.arm(h.note("pills"), commitment.Arm{Every: day, At: epoch})
	noon := h.arm(h.note("lunch"), commitment.Arm{Spec: "noon"})
	watch, once := h.arm(h.note("signed"), signed), h.arm(h.note("call"), in(day))
	h.clock.Advance(day)
	require.Equal(t, 1, h.observe(1, "a", true))
	require.Equal(t, commitment.Ticked{GivenUp: 4}, h.outage())
	for _, c := range []commitment.Commitment{daily, noon, watch, once} {
		got := h.get(c)
		require.Zero(t, got.Fired)
		require.Equal(t, 33, got.GivenUp.Tries)
		require.Equal(t, c.Arm.Once, got.State == commitment.GivenUp, got.State)
	}
	require.Equal(t, epoch.Add(day), h.get(daily).GivenUp.Instant)
	require.Equal(t, int64(1), h.get(watch).GivenUp.Position)

	require.Equal(t, 1, h.observe(2, "b", true))
	require.Equal(t, 1+2*4, h.ticks(3*day, 10*time.Minute).Fired)
	for _, c := range []commitment.Commitment{daily, noon, watch} {
		require.Zero(t, h.get(c).GivenUp, "a later firing has succeeded")
		h.refusesRetry(c)
	}
	require.Equal(t, commitment.GivenUp, h.get(once).State, "it has no later one")
}

// Transitions that waited behind the one that was given up are delivered.
func TestK3_GivingUpATransitionLeavesTheOthers(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("signed"), signed)
	for i := range int64(3) {
		require.Equal(t, 1, h.observe(i, string(rune('a'+i)), true))
	}
	require.Equal(t, commitment.Ticked{GivenUp: 1}, h.outage())
	require.Equal(t, 2, h.ticks(2*time.Hour, time.Minute).Fired)
	require.Equal(t, 2, h.get(c).Fired)
}

// What was given up is seen by all who ask, and fired once by Retry, under the key it had.
func TestK3_RetryFiresOnceWhatWasGivenUp(t *testing.T) {
	for name, arm := range map[string]commitment.Arm{"one instant": in(day), "predicate": {Predicate: "signed", Once: true}, "interval": {Every: 30 * day, At: epoch.Add(day)}} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			s := h.note("x")
			c := h.arm(s, arm)
			h.refusesRetry(c)
			h.clock.Advance(day)
			if arm.Predicate != "" {
				require.Equal(t, 1, h.observe(1, "a", true))
			}
			require.Zero(t, h.outage().Fired)
			gaveUp := h.get(c)
			if c.Arm.Once {
				require.Equal(t, commitment.GivenUp, gaveUp.State)
				require.Equal(t, gaveUp, h.arm(s, commitment.Arm{At: arm.At, Predicate: arm.Predicate, Once: true}), "Arm shows it")
			}
			key, tries := h.queue.calls[0].Key, len(h.queue.calls)

			h.restart(func(c *commitment.Config) { c.Missed = commitment.Skip }) // it is not missed: a person has asked for it
			retried, err := h.Retry(ctx, "acme", c.ID)
			require.NoError(t, err)
			require.Equal(t, retried, h.get(c))
			require.Equal(t, commitment.Claimed, retried.State)
			h.refusesRetry(c)
			require.Equal(t, 1, h.tick().Fired)
			require.Equal(t, key, h.queue.calls[tries].Key)
			require.Equal(t, 1, h.queue.calls[tries].Try)
			require.Greater(t, h.queue.calls[tries].Fence, h.queue.calls[tries-1].Fence)
			require.Equal(t, 1, h.get(c).Fired)
			h.refusesRetry(c)
			require.Len(t, fired(h.log), 1)
			require.Empty(t, h.store.(*audit).twice)
		})
	}
	_, err := newHost(t).Retry(ctx, "acme", "cmt_unknown")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

// While a later firing is under way there is nothing to retry: if it succeeds the matter is settled.
func TestK3_RetryIsRefusedWhileALaterFiringIsUnderWay(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("pills"), commitment.Arm{Every: day})
	h.clock.Advance(day)
	require.Equal(t, 1, h.outage().GivenUp)
	require.Equal(t, commitment.Claimed, h.get(c).State)
	require.NotZero(t, h.get(c).GivenUp)
	h.refusesRetry(c)
	require.Equal(t, 1, h.ticks(2*time.Hour, 10*time.Minute).Fired)
	require.Zero(t, h.get(c).GivenUp)
	h.refusesRetry(c)
}

// A run that was started although its answers were lost is found by Retry.
func TestK3_RetryFindsTheRunThatHadStarted(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), in(day))
	h.clock.Advance(day)
	h.queue.lose = func(commitment.Firing) error { return errDown }
	require.Equal(t, 1, h.ticks(26*time.Hour, 10*time.Minute).GivenUp)
	h.queue.lose = nil
	_, err := h.Retry(ctx, "acme", c.ID)
	require.NoError(t, err)
	require.Equal(t, 1, h.tick().Fired)
	require.Len(t, h.queue.runs, 1)
}

// Of several that retry at once, in processes of their own, one takes the firing up.
func TestK3_RetriesAtOnceFireOnce(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), in(day))
	h.clock.Advance(day)
	h.outage()
	var took atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		other := *h
		other.restart()
		wg.Go(func() {
			if _, err := other.Retry(ctx, "acme", c.ID); err == nil {
				took.Add(1)
			}
			_, _ = other.Tick(ctx)
		})
	}
	wg.Wait()
	h.ticks(time.Hour, time.Minute)
	require.Equal(t, int32(1), took.Load())
	require.Len(t, h.queue.runs, 1)
	require.Len(t, fired(h.log), 1)
}

// At any call of the store that a process dies at, a Retry that is done again fires once.
func TestK3_RetryCrashesAtEveryCallOfTheStore(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at, calls := 1, 99; at <= calls; at++ {
			c := &crasher{}
			h := newHostOn(t, crashing{newAudit(inmem.New()), c})
			armed := h.arm(h.note("x"), in(day))
			h.clock.Advance(day)
			h.outage()
			c.set(at, after)
			for range 10 {
				_, err := h.Retry(ctx, "acme", armed.ID)
				if c.dead {
					c.dead = false
					h.restart()
				} else if err != nil {
					require.ErrorIs(t, err, memory.ErrConflict)
				}
				_, _ = h.Tick(ctx)
				c.dead = false
				h.clock.Advance(2 * time.Minute)
			}
			calls = c.calls
			_, err := h.bank.Maintain(ctx)
			require.NoError(t, err)
			require.Len(t, h.queue.runs, 1)
			require.Len(t, fired(h.log), 1)
			require.Equal(t, commitment.Acknowledged, h.get(armed).State)
		}
	}
}

// A process that hangs in a delivery until that was given up and taken up again ends nothing.
func TestK3_ALateProcessDoesNotGiveUpARetry(t *testing.T) {
	twice := func(c *commitment.Config) { c.GiveUpAfter = time.Second }
	h := newHost(t, twice)
	c := h.arm(h.note("x"), in(day))
	h.clock.Advance(day)
	other := *h
	other.restart(twice)
	h.queue.fail = func(f commitment.Firing) error {
		if f.Try == 2 {
			h.clock.Advance(2 * time.Hour) // the lease has ended
			require.Equal(t, 1, other.tick().GivenUp)
			_, err := other.Retry(ctx, "acme", c.ID)
			require.NoError(t, err)
		}
		return errDown
	}
	h.tick()
	h.clock.Advance(time.Hour)
	_, _ = h.Tick(ctx)
	require.Equal(t, commitment.Claimed, h.get(c).State)
	require.Less(t, h.get(c).Claim.Tries, 2)
}

// Time in which no process was there is no time of trying: a host that comes back after a week, to
// a queue that takes some hours longer, fires.
func TestK3_DowntimeIsNoTry(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), in(day))
	h.clock.Advance(day)
	h.queue.down(true)
	h.ticks(6*time.Hour, 10*time.Minute)
	h.clock.Advance(7 * day)
	h.ticks(6*time.Hour, 10*time.Minute)
	require.Equal(t, commitment.Claimed, h.get(c).State)
	h.queue.down(false)
	require.Equal(t, 1, h.ticks(time.Hour, 10*time.Minute).Fired)
}

// A delivery at which the process dies is waited for like one that failed, and given up like it.
func TestK3_ADeliveryThatKillsTheProcess(t *testing.T) {
	c := &crasher{}
	h := newHostOn(t, crashing{newAudit(inmem.New()), c})
	armed := h.arm(h.note("x"), in(day))
	h.clock.Advance(day)
	began := h.clock.Now()
	for h.queue.fail = func(commitment.Firing) error { c.dead = true; return errDown }; !h.get(armed).State.Final(); {
		_, _ = h.Tick(ctx)
		c.dead = false
		h.clock.Advance(time.Minute)
	}
	require.Equal(t, commitment.GivenUp, h.get(armed).State)
	require.Greater(t, h.clock.Now().Sub(began), day)
	require.Len(t, h.queue.calls, 33)
}

// A firing that was given up is settled by a person or by what becomes of its entry, and does not go
// before.
func TestK6_WhatBecomesOfWhatWasGivenUp(t *testing.T) {
	given := func(t *testing.T, a commitment.Arm) (*host, commitment.Source, commitment.Commitment) {
		h := newHost(t)
		s := h.note("x")
		c := h.arm(s, a)
		h.clock.Advance(day)
		require.Equal(t, 1, h.outage().GivenUp)
		return h, s, c
	}
	t.Run("canceled", func(t *testing.T) {
		for _, a := range []commitment.Arm{in(day), {Every: 30 * day, At: epoch.Add(day)}} {
			h, _, c := given(t, a)
			got, err := h.Cancel(ctx, "acme", c.ID)
			require.NoError(t, err)
			require.Equal(t, commitment.ReasonCanceled, got.Reason)
			require.Zero(t, got.GivenUp)
			h.refusesRetry(c)
		}
	})
	t.Run("its entry was deleted", func(t *testing.T) {
		h, s, c := given(t, in(day))
		_, err := h.job("acme").Delete(ctx, "ref", s.MemoryID)
		require.NoError(t, err)
		_, err = h.Retry(ctx, "acme", c.ID)
		require.NoError(t, err)
		require.Equal(t, commitment.Ticked{Lapsed: 1}, h.tick())
		require.Equal(t, commitment.ReasonGone, h.get(c).Reason)
		require.Zero(t, h.get(c).GivenUp)
	})
	t.Run("its entry was merged", func(t *testing.T) {
		h, s, c := given(t, in(day))
		head := h.note("x too")
		_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: s.MemoryID, State: memory.Merged, For: head.MemoryID}}})
		require.NoError(t, err)
		_, err = h.Retry(ctx, "acme", c.ID)
		require.NoError(t, err)
		require.Equal(t, commitment.Ticked{Fired: 1, Lapsed: 1}, h.tick())
		require.Equal(t, commitment.ReasonMerged, h.get(c).Reason)
	})
	t.Run("it has an entry", func(t *testing.T) {
		h, _, c := given(t, in(day))
		h.clock.Advance(365 * day)
		_, err := h.Sweep(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, commitment.GivenUp, h.get(c).State)
	})
	t.Run("it has none", func(t *testing.T) {
		h := newHost(t)
		c := h.arm(commitment.Source{Ref: "ref"}, in(day))
		h.clock.Advance(day)
		h.outage()
		h.clock.Advance(365 * day)
		_, err := h.Sweep(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, commitment.GivenUp, h.get(c).State, "a person has not seen it yet")
		_, err = h.Cancel(ctx, "acme", c.ID)
		require.NoError(t, err)
		h.clock.Advance(31 * day)
		done, err := h.Sweep(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, 1, done.Removed)
	})
}

// A last instant that was given up can be taken up again, although nothing comes behind it.
func TestK3_TheLastInstantOfASchedule(t *testing.T) {
	h := newHost(t, withSchedule(func(t time.Time) time.Time {
		if t.After(epoch) {
			return time.Time{}
		}
		return epoch.Add(day)
	}))
	c := h.arm(h.note("x"), commitment.Arm{Spec: "s"})
	h.clock.Advance(day)
	require.Equal(t, commitment.Ticked{GivenUp: 1}, h.outage())
	require.Equal(t, commitment.ReasonSchedule, h.get(c).Reason)
	_, err := h.Retry(ctx, "acme", c.ID)
	require.NoError(t, err)
	require.Equal(t, 1, h.tick().Fired)
	require.Zero(t, h.get(c).GivenUp)
	h.refusesRetry(c)
}

// The log has a line at Warn with how many firings a tick gave up.
func TestK3_GivingUpIsLogged(t *testing.T) {
	h := newHost(t)
	var log bytes.Buffer
	h.restartWith(memory.Config{Sink: h.log, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	for range 3 {
		h.arm(h.note("x"), in(day))
	}
	h.clock.Advance(day)
	h.outage()
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")))
	require.Contains(t, log.String(), `level=WARN msg="memory tick" given_up=3 took=`)
}
