package commitment_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
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
		c.GiveUpAfter = time.Second // two tries
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
	require.Equal(t, commitment.Ticked{Fired: 1, Failed: 1}, counts(t, done))
	h.clock.Advance(time.Hour)
	_, err = h.Tick(ctx)
	require.Error(t, err)
	require.Equal(t, commitment.GivenUp, h.get(bad).State)
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
	done, err := h.Tick(ctx)
	require.EqualError(t, err, "commitment: the enqueuer did not answer in time")
	require.Equal(t, commitment.Ticked{Failed: 1}, done)
}

// moody is a schedule that panics once it has been let loose.
type moody struct{ loose *bool }

func (m moody) Next(t time.Time) time.Time {
	if *m.loose {
		panic("hunter2-hunter2")
	}
	return t.Truncate(time.Hour).Add(time.Hour)
}

// A schedule or a source of redactors that panics takes neither the tick nor anyone else
// along, and says nothing but its name.
func TestK3_WhatElseAHostPlugsInMayPanic(t *testing.T) {
	loose := false
	h := newHost(t, func(c *commitment.Config) {
		c.Schedule = func(string) (commitment.Schedule, error) { return moody{&loose}, nil }
		open := c.Redactor
		c.Redactor = func(ctx context.Context, tenant string) (memory.Redactor, error) {
			if loose {
				panic("hunter2-hunter2")
			}
			return open(ctx, tenant)
		}
	})
	moods := h.arm(h.note("x"), commitment.Arm{Spec: "hourly"})
	h.clock.Advance(time.Hour)
	loose = true
	done, err := h.Tick(ctx)
	require.EqualError(t, err, "commitment: the source of redactors panicked")
	require.NotContains(t, err.Error(), "hunter2-hunter2")
	require.Equal(t, commitment.Ticked{Failed: 1}, done)
	loose = false
	h.clock.Advance(time.Hour)
	require.Equal(t, 2, h.tick().Fired, "the one that failed, and the next")
	require.Equal(t, commitment.Armed, h.get(moods).State)
	loose = true
	_, err = h.Arm(ctx, h.job("acme"), h.note("y"), commitment.Arm{Spec: "hourly"})
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotContains(t, err.Error(), "hunter2-hunter2")
}

// A schedule that panics for a while ends nothing: the run is recorded, and what recurs goes on
// afterwards, as it does where a missed instant is passed over.
func TestK4_AScheduleThatPanicsForAWhile(t *testing.T) {
	for _, missed := range []commitment.Missed{commitment.FireOnce, commitment.Skip} {
		loose := false
		h := newHost(t, func(c *commitment.Config) {
			c.Missed = missed
			c.Schedule = func(string) (commitment.Schedule, error) { return moody{&loose}, nil }
		})
		c := h.arm(h.note("x"), commitment.Arm{Spec: "hourly"})
		h.clock.Advance(90 * time.Minute)
		loose = true
		for range 20 {
			done, err := h.Tick(ctx)
			require.ErrorIs(t, err, memory.ErrInternal)
			require.Zero(t, done.Fired+done.Lapsed+done.GivenUp)
			require.False(t, h.get(c).State.Final())
			h.clock.Advance(time.Hour)
		}
		loose = false
		fires := 2 // the one under way and the one that is due by now
		if missed == commitment.Skip {
			fires = 0 // that is missed
		}
		require.Equal(t, fires, h.tick().Fired)
		require.Equal(t, commitment.Armed, h.get(c).State)
		h.clock.Advance(30 * time.Minute)
		require.Equal(t, 1, h.tick().Fired)
		require.LessOrEqual(t, len(h.queue.runs), 3)
	}
}

// A host that has lost its reader of schedules ends nothing: what recurs goes on when it is back.
func TestK4_AHostWithoutItsSchedules(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), commitment.Arm{Spec: "10:00"})
	h.restart(func(c *commitment.Config) { c.Schedule = nil })
	for range 20 {
		h.clock.Advance(25 * time.Hour)
		_, err := h.Tick(ctx)
		require.ErrorIs(t, err, memory.ErrNotProvided)
		require.False(t, h.get(c).State.Final())
	}
	h.restart()
	h.clock.Advance(2 * time.Hour) // behind the wait between two tries
	require.Equal(t, 2, h.tick().Fired, "the one under way, and one for all that was missed")
	require.Equal(t, commitment.Armed, h.get(c).State)
	require.Len(t, h.queue.runs, 2)
}

// The registry of predicates may hang or panic: what asks for it fails in time and leaves nothing
// half done, and goes on when it is well again.
func TestAPredicateRegistryThatMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mood atomic.Value
		mood.Store("")
		free := make(chan struct{})
		found := arms{}
		h := newHost(t, func(c *commitment.Config) {
			c.Inferrer = found
			c.Predicate = func(_, name string) bool {
				switch mood.Load() {
				case "hangs":
					<-free
				case "panics":
					panic("hunter2-hunter2")
				}
				return name == signed.Predicate
			}
		})
		s := h.note("When it is signed.", "intent")
		found[s.MemoryID] = []commitment.Arm{signed}
		for _, bad := range []string{"hangs", "panics"} {
			mood.Store(bad)
			start := time.Now()
			_, err := h.Arm(ctx, h.job("acme"), s, signed)
			require.ErrorIs(t, err, memory.ErrInternal, bad)
			require.ErrorContains(t, err, "the registry of predicates")
			require.NotContains(t, err.Error(), "hunter2-hunter2")
			done, err := h.Infer(ctx, h.job("acme"), "ref")
			require.ErrorIs(t, err, memory.ErrInternal, bad)
			require.Zero(t, done)
			require.LessOrEqual(t, time.Since(start), 2*memory.PluginTimeout) // of the bubble
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		mood.Store("hangs")
		_, err := h.Arm(short, h.job("acme"), s, signed)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(free)
		mood.Store("")
		done, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		require.Len(t, done.Armed, 1)
		require.Equal(t, 1, h.observe(1, "yes", true))
	})
}

// A firing whose run has started, and whose event memory will never take, is given up in the
// end, and says why.
func TestK3_WhatCannotBeCompletedIsGivenUp(t *testing.T) {
	h := newHost(t)
	owner, started := "acme", 0
	h.restartWith(memory.Config{Sink: h.log, Resolver: func(context.Context, string) (string, error) { return owner, nil }}, func(c *commitment.Config) {
		c.GiveUpAfter = time.Second // two tries
		c.Enqueuer = enqueuer(func(context.Context, commitment.Firing) (string, error) {
			started++
			owner = "globex" // the ref changes hands while the run starts
			return "run", nil
		})
	})
	id := h.arm(h.note("x"), commitment.Arm{At: epoch.Add(time.Hour)})
	for range 20 {
		h.clock.Advance(time.Hour)
		_, _ = h.Tick(ctx)
	}
	require.Equal(t, 1, started)
	got := h.get(id)
	require.Equal(t, commitment.GivenUp, got.State)
	require.Equal(t, commitment.ReasonRefused, got.Reason)
	require.Equal(t, "run", got.RunID)
	done, err := h.Tick(ctx)
	require.NoError(t, err)
	require.Zero(t, done)
}

// Giving up an event that memory refuses ends that firing too, and no more. When memory takes it,
// Retry finds the run, and the event goes out.
func TestK3_AnEventThatIsRefusedEndsItsFiringOnly(t *testing.T) {
	for arm, want := range map[commitment.Arm]commitment.State{in(day): commitment.GivenUp, {Every: 30 * day, At: epoch.Add(day)}: commitment.Armed} {
		h := newHost(t)
		owner := "acme"
		h.restartWith(memory.Config{Sink: h.log, Resolver: func(context.Context, string) (string, error) { return owner, nil }}, func(c *commitment.Config) {
			c.GiveUpAfter = time.Second // two tries
			c.Enqueuer = enqueuer(func(ctx context.Context, f commitment.Firing) (string, error) {
				owner = "globex" // the ref changes hands while the run starts
				return h.queue.Enqueue(ctx, f)
			})
		})
		c := h.arm(h.note("x"), arm)
		for h.clock.Advance(day); h.get(c).GivenUp == (commitment.Claim{}); h.clock.Advance(time.Hour) {
			_, _ = h.Tick(ctx)
		}
		require.Equal(t, want, h.get(c).State)
		h.restart() // the ref is the tenant's again
		_, err := h.Retry(ctx, "acme", c.ID)
		require.NoError(t, err)
		require.Equal(t, 1, h.tick().Fired)
		require.Len(t, h.queue.runs, 1)
		require.Len(t, fired(h.log), 1)
	}
}

// broken is a store whose mutations panic as long as it says so.
type broken struct {
	store
	panics *atomic.Bool
}

func (s broken) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if s.panics.Load() {
		panic("hunter2-hunter2")
	}
	return s.store.Apply(ctx, tenant, m)
}

// A panic of the store in a goroutine of a tick is an error that the caller of Tick gets.
func TestK3_AStoreThatPanicsEndsTheTick(t *testing.T) {
	var panics atomic.Bool
	h := newHostOn(t, broken{inmem.New(), &panics})
	h.arm(h.note("call"), commitment.Arm{At: epoch.Add(time.Hour)})
	h.clock.Advance(2 * time.Hour)
	panics.Store(true)
	_, err := h.Tick(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.EqualError(t, err, "commitment: the store panicked")
	panics.Store(false)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
}

// A caller who gives up while the secrets are opened is told so, and nothing of secrets.
func TestM2_ATickThatIsGivenUpSaysSo(t *testing.T) {
	within, giveUp := context.WithCancel(ctx)
	h := newHost(t, func(c *commitment.Config) {
		c.Redactor = func(ctx context.Context, _ string) (memory.Redactor, error) {
			giveUp()
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	h.arm(h.note("call"), commitment.Arm{At: epoch.Add(time.Hour)})
	h.clock.Advance(2 * time.Hour)
	_, err := h.Tick(within)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, memory.ErrSecretLeakage)
}
