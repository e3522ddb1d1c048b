package commitment_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

const day = 24 * time.Hour

func in(d time.Duration) commitment.Arm { return commitment.Arm{At: epoch.Add(d)} }

var signed = commitment.Arm{Predicate: "signed"}

func TestK1_BoundToItsMemory(t *testing.T) {
	h := newHost(t)
	s := h.note("x")
	c := h.arm(s, in(time.Hour))
	require.Equal(t, commitment.ID("acme", "ref", s.MemoryID, in(time.Hour)), c.ID)
	again := h.arm(s, in(time.Hour))
	require.Equal(t, c, again, "arming twice arms once")
	seen := map[string]bool{c.ID: true}
	for _, other := range []string{
		commitment.ID("globex", "ref", s.MemoryID, in(time.Hour)),
		commitment.ID("acme", "ref2", s.MemoryID, in(time.Hour)),
		commitment.ID("acmer", "ef", s.MemoryID, in(time.Hour)),
		commitment.ID("acme", "ref", "other", in(time.Hour)),
		commitment.ID("acme", "ref", s.MemoryID, in(2*time.Hour)),
		commitment.ID("acme", "ref", s.MemoryID, commitment.Arm{At: epoch.Add(time.Hour), Every: time.Hour}),
		commitment.ID("acme", "ref", s.MemoryID, commitment.Arm{Predicate: "a"}),
		commitment.ID("acme", "ref", s.MemoryID, commitment.Arm{Predicate: "a", Once: true}),
		commitment.ID("acme", "ref", s.MemoryID, commitment.Arm{Spec: "a"}),
	} {
		require.False(t, seen[other], "two bindings share an id")
		seen[other] = true
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, c.ID, commitment.ID("acme", "ref", s.MemoryID, commitment.Arm{At: epoch.Add(time.Hour).In(berlin), Once: true}), "equal arms")

	// Not the tenant's memory, or not live.
	_, err = h.Arm(ctx, h.job("globex"), s, in(time.Hour))
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, err = h.Arm(ctx, h.job("acme"), commitment.Source{Ref: "a/../b"}, in(time.Hour))
	require.ErrorIs(t, err, memory.ErrValidation)

	h.clock.Advance(time.Hour)
	require.Equal(t, commitment.Ticked{Fired: 1}, h.tick())
	require.Len(t, h.queue.calls, 1)
	f := h.queue.calls[0]
	require.Equal(t, commitment.Firing{
		Key: f.Key, Tenant: "acme", CommitmentID: c.ID, Ref: "ref", MemoryID: s.MemoryID, Arm: c.Arm,
		Instant: epoch.Add(time.Hour), Try: 1, Fence: 1,
	}, f)
	all := h.log.All()
	require.Len(t, all, 1)
	require.Equal(t, "acme", all[0].Tenant)
	require.Equal(t, c.ID, all[0].RunID, "E5: a run id of its own")
	require.Equal(t, f.Key, all[0].ID)
	require.Equal(t, events.CommitmentFired{
		CommitmentID: c.ID, MemoryRef: "ref", MemoryID: s.MemoryID, Condition: events.ConditionTime, EnqueuedRunID: "run-1",
	}, all[0].Payload)
	require.Equal(t, c.ID, h.arm(s, in(time.Hour)).ID)
	require.Equal(t, commitment.Acknowledged, h.arm(s, in(time.Hour)).State, "what was fired is not armed again")
}

func TestK1_ARefWithoutAnEntry(t *testing.T) {
	h := newHost(t)
	c := h.arm(commitment.Source{Ref: "ref"}, in(time.Hour))
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, events.CommitmentFired{CommitmentID: c.ID, MemoryRef: "ref", Condition: "time", EnqueuedRunID: "run-1"}, h.log.All()[0].Payload)
}

func TestK2_ClocksThatStepBack(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), commitment.Arm{Every: time.Hour})
	h.clock.Advance(90 * time.Minute)
	require.Equal(t, 1, h.tick().Fired)
	for range 5 {
		h.clock.Advance(-time.Hour)
		h.restart() // a new process believes its clock
		require.Zero(t, h.tick())
	}
	h.clock.Advance(5*time.Hour + 30*time.Minute)
	h.restart()
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, 2, h.get(c).Fired)
	require.Empty(t, h.store.(*audit).twice)
	require.Len(t, fired(h.log), 2)
}

// At any call of memory that a process dies at, before or after it took effect, the next
// one completes the firing: one run for a key, one event, nothing lost.
func TestK3_CrashAtEveryCallOfTheStore(t *testing.T) {
	scenario := func(t *testing.T, at int, after bool) (calls int) {
		c := &crasher{}
		store := newAudit(inmem.New())
		h := newHostOn(t, crashing{store, c})
		merged, head := h.note("m"), h.note("m")
		h.arm(merged, in(time.Hour))
		h.arm(head, in(time.Hour))
		h.arm(h.note("z"), signed)
		gone := h.note("gone")
		h.arm(gone, in(time.Hour))
		_, err := h.job("acme").Delete(ctx, "ref", gone.MemoryID)
		require.NoError(t, err)
		alone, bare := h.note("a"), h.note("a") // of which the head has no commitment
		h.arm(alone, in(time.Hour))
		_, err = h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{
			{ID: merged.MemoryID, State: memory.Merged, For: head.MemoryID}, {ID: alone.MemoryID, State: memory.Merged, For: bare.MemoryID},
		}})
		require.NoError(t, err)

		c.set(at, after)
		alive := func(do func() error) {
			for err := do(); err != nil || c.dead; err = do() {
				require.ErrorIs(t, err, errCrash)
				c.dead = false
				h.restart()
				h.clock.Advance(2 * time.Minute) // the lease of the dead one ends
			}
		}
		alive(func() error {
			_, err := h.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: 1, State: []byte("s"), Holds: true})
			return err
		})
		h.clock.Advance(time.Hour)
		for range 3 {
			alive(func() error { _, err := h.Tick(ctx); return err })
			h.clock.Advance(2 * time.Minute)
		}
		alive(func() error { _, err := h.bank.Maintain(ctx); return err })

		require.Empty(t, store.twice, "claimed twice")
		events := fired(h.log)
		// One for both that were merged, one for the heir, and the edge of z.
		require.Len(t, h.queue.runs, 3)
		require.Len(t, events, 3)
		for key, run := range h.queue.runs {
			require.Equal(t, run, events[key].EnqueuedRunID)
		}
		require.Len(t, h.log.All(), len(events), "an event is there once")
		calls = c.calls
		c.set(0, false)
		for c, err := range h.Commitments(ctx, "acme") {
			require.NoError(t, err)
			require.NotContains(t, []commitment.State{commitment.Claimed, commitment.Delivered, commitment.GivenUp}, c.State)
		}
		return calls
	}
	calls := scenario(t, 0, false)
	require.Greater(t, calls, 8)
	for at := 1; at <= calls; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", at, after), func(t *testing.T) { scenario(t, at, after) })
		}
	}
}

// The same for a process that goes on although it was not told of a change that happened.
func TestK3_LostAcknowledgements(t *testing.T) {
	scenario := func(t *testing.T, at int) (calls int) {
		audited := newAudit(inmem.New())
		store := &forgetful{store: audited}
		h := newHostOn(t, store)
		merged, head := h.note("m"), h.note("m")
		h.arm(merged, in(time.Hour))
		h.arm(head, in(time.Hour))
		h.arm(h.note("e"), commitment.Arm{Every: time.Hour})
		h.arm(h.note("z"), signed)
		_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: merged.MemoryID, State: memory.Merged, For: head.MemoryID}}})
		require.NoError(t, err)
		for i := range int64(3) { // two of them wait
			h.observe(i, fmt.Sprint(i), true)
		}
		store.calls, store.at = 0, at
		h.clock.Advance(time.Hour)
		for range 5 {
			if _, err := h.Tick(ctx); err != nil {
				require.ErrorIs(t, err, memory.ErrOutcomeUnknown)
			}
			h.clock.Advance(5 * time.Minute)
		}
		_, err = h.bank.Maintain(ctx)
		require.NoError(t, err)
		require.Empty(t, audited.twice, "claimed twice")
		require.Len(t, h.queue.runs, 5)
		got := fired(h.log)
		require.Len(t, got, 5)
		require.Len(t, h.log.All(), 5, "an event is there once")
		for key, run := range h.queue.runs {
			require.Equal(t, run, got[key].EnqueuedRunID)
		}
		return store.calls
	}
	calls := scenario(t, 0)
	require.Greater(t, calls, 8)
	for at := 1; at <= calls; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) { scenario(t, at) })
	}
}

func TestK3_FailedDeliveriesBackOffAndAreGivenUp(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) { c.GiveUpAfter = 7 * time.Minute; c.Backoff = time.Minute })
	h.queue.fail = func(commitment.Firing) error { return errors.New("queue is down: hunter2") }
	c := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	var waits []time.Duration
	for try := 1; try <= 3; try++ {
		require.Equal(t, commitment.Ticked{Failed: 1}, h.tick())
		got := h.get(c)
		require.Equal(t, commitment.Claimed, got.State)
		require.Equal(t, try, got.Claim.Tries)
		wait := got.Due.Sub(h.clock.Now())
		waits = append(waits, wait)
		h.clock.Advance(wait - time.Millisecond)
		require.Zero(t, h.tick(), "too early")
		h.clock.Advance(time.Millisecond)
	}
	require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}, waits)
	require.Equal(t, commitment.Ticked{GivenUp: 1}, h.tick())
	require.Equal(t, commitment.GivenUp, h.get(c).State)
	require.Len(t, h.queue.calls, 4)
	for i, f := range h.queue.calls {
		require.Equal(t, h.queue.calls[0].Key, f.Key)
		require.Equal(t, i+1, f.Try)
		require.Equal(t, int64(i+1), f.Fence)
	}
	require.Empty(t, fired(h.log))
	h.clock.Advance(365 * day)
	require.Zero(t, h.tick())
}

// A delivery whose answer was lost is repeated, and finds its run.
func TestK3_OneRunForAKey(t *testing.T) {
	h := newHost(t)
	lost := 0
	h.queue.lose = func(commitment.Firing) error {
		if lost++; lost < 3 {
			return errors.New("connection reset")
		}
		return nil
	}
	c := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	for range 3 {
		h.tick()
		h.clock.Advance(time.Minute)
	}
	require.Len(t, h.queue.calls, 3)
	require.Len(t, h.queue.runs, 1)
	require.Len(t, fired(h.log), 1)
	require.Equal(t, "run-1", h.get(c).RunID)
}

func TestK3_ARunIDThatIsNoneFails(t *testing.T) {
	for _, id := range []string{"", strings.Repeat("x", 129), "run-hunter2-hunter2"} {
		h := newHost(t, func(c *commitment.Config) {
			c.Redactor = func(context.Context, string) (memory.Redactor, error) { return vault{secret: "hunter2-hunter2"}, nil }
		})
		c := h.arm(h.note("x"), in(time.Hour))
		h.clock.Advance(time.Hour)
		h.queue.runs[c.ID+"."+fmt.Sprint(epoch.Add(time.Hour).UnixMilli())] = id
		if id == "" {
			h.restart(func(c *commitment.Config) { c.Enqueuer = emptyRun{} })
		}
		require.Equal(t, commitment.Ticked{Failed: 1}, h.tick())
		require.Equal(t, commitment.Claimed, h.get(c).State)
	}
}

type emptyRun struct{}

func (emptyRun) Enqueue(context.Context, commitment.Firing) (string, error) { return "", nil }

// A process that holds on to a lease for too long does not undo what another did.
func TestK3_ALateProcessChangesNothing(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), commitment.Arm{Every: time.Hour})
	h.clock.Advance(time.Hour)
	other := *h
	other.restart()
	nested := false
	h.queue.lose = func(commitment.Firing) error {
		if nested {
			return nil
		}
		nested = true
		h.queue.mu.Unlock()
		defer h.queue.mu.Lock()
		h.clock.Advance(2 * time.Minute) // the first one hangs here
		require.Equal(t, 1, other.tick().Fired)
		return nil
	}
	require.Zero(t, h.tick())
	got := h.get(c)
	require.Equal(t, commitment.Armed, got.State)
	require.Equal(t, 1, got.Fired)
	require.Equal(t, int64(2), got.Fence)
	require.Len(t, h.queue.runs, 1)
	require.Len(t, h.log.All(), 1)
}

// A process whose delivery fails late does not take the lease of another.
func TestK3_ALateProcessLeavesTheLease(t *testing.T) {
	h := newHost(t)
	armed := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	other, c := *h, &crasher{}
	other.store = crashing{h.store, c}
	other.restart()
	h.queue.fail = func(commitment.Firing) error {
		h.clock.Advance(2 * time.Minute) // the first one hangs here
		c.set(2, true)                   // the other has the lease
		_, err := other.Tick(ctx)
		require.ErrorIs(t, err, errCrash)
		return errors.New("connection reset")
	}
	require.Zero(t, h.tick())
	got := h.get(armed)
	require.Equal(t, int64(2), got.Fence)
	require.Equal(t, 2, got.Claim.Tries)
	require.True(t, got.Lease.After(h.clock.Now()))
}

func TestK3_ANotificationHasNoRun(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) { c.Enqueuer = nil })
	c := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Empty(t, h.log.All()[0].Payload.(events.CommitmentFired).EnqueuedRunID)
	require.Equal(t, commitment.Acknowledged, h.get(c).State)
}

// The event waits until memory takes it; the commitment is delivered all the while.
func TestE3_TheEventOutlivesTheSink(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), in(time.Hour))
	sink := &failingSink{Log: h.log, fail: true}
	h.restartWith(memory.Config{Sink: sink, MaxUndelivered: 1})
	h.clock.Advance(time.Hour)
	done, err := h.Tick(ctx)
	require.ErrorIs(t, err, memory.ErrInternal, "the sink is down")
	require.Equal(t, 1, done.Fired, "but the event is committed")
	require.Equal(t, commitment.Acknowledged, h.get(c).State)

	d := h.arm(h.note("y"), in(2*time.Hour))
	h.clock.Advance(time.Hour)
	_, err = h.Tick(ctx)
	require.ErrorIs(t, err, memory.ErrBacklog)
	require.Equal(t, commitment.Delivered, h.get(d).State)
	require.Empty(t, fired(h.log))
	sink.fail = false
	_, err = h.bank.Maintain(ctx)
	require.NoError(t, err)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Len(t, fired(h.log), 2)
	require.Len(t, h.queue.calls, 2, "a delivered run is not enqueued again")
}

type failingSink struct {
	*events.Log
	fail bool
}

func (s *failingSink) Emit(ctx context.Context, recs ...events.Record) error {
	if s.fail {
		return errors.New("down")
	}
	return s.Log.Emit(ctx, recs...)
}

func TestK4_FireOnceOrSkip(t *testing.T) {
	arm := commitment.Arm{Every: time.Hour}
	for _, c := range []struct {
		policy commitment.Missed
		want   commitment.Ticked
		calls  int
	}{
		{commitment.FireOnce, commitment.Ticked{Fired: 2}, 2},
		{commitment.Skip, commitment.Ticked{Skipped: 1, Lapsed: 1}, 0},
	} {
		h := newHost(t, func(cfg *commitment.Config) { cfg.Missed = c.policy })
		every, once := h.arm(h.note("x"), arm), h.arm(h.note("y"), in(time.Hour))
		h.clock.Advance(40*day + 30*time.Minute)
		require.Equal(t, c.want, h.tick(), c.policy)
		require.Zero(t, h.tick(), "no backlog")
		require.Len(t, h.queue.calls, c.calls)
		require.Equal(t, epoch.Add(40*day+time.Hour), h.get(every).Due)
		require.True(t, h.get(once).State.Final())
		h.clock.Advance(30*time.Minute + time.Second) // within the grace
		require.Equal(t, 1, h.tick().Fired)
	}
}

func TestK4_SkippedOnceWaitsForTheNext(t *testing.T) {
	h := newHost(t, func(cfg *commitment.Config) { cfg.Missed = commitment.Skip })
	c := h.arm(h.note("x"), commitment.Arm{Spec: "noon", Once: true})
	h.clock.Advance(day)
	require.Equal(t, 1, h.tick().Skipped)
	h.clock.Advance(3 * time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, commitment.Acknowledged, h.get(c).State)
}

func TestK6_SettledBeforeItFires(t *testing.T) {
	for name, settle := range map[string]func(h *host, id, other string) commitment.Reason{
		"deleted": func(h *host, id, _ string) commitment.Reason {
			_, err := h.job("acme").Delete(ctx, "ref", id)
			require.NoError(t, err)
			return commitment.ReasonGone
		},
		"expired": func(h *host, id, _ string) commitment.Reason {
			h.clock.Advance(time.Hour)
			return commitment.ReasonGone
		},
		"forgotten": func(h *host, id, _ string) commitment.Reason {
			_, err := h.bank.Forget(ctx, "acme", "subject")
			require.NoError(t, err)
			return commitment.ReasonGone
		},
		"superseded": func(h *host, id, other string) commitment.Reason {
			_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: id, State: memory.Superseded, For: other}}})
			require.NoError(t, err)
			return commitment.ReasonSuperseded
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			e, err := h.job("acme").Put(ctx, "ref", memory.Draft{Content: "x", Subjects: []string{"subject"}, ExpiresAt: epoch.Add(90 * time.Minute)})
			require.NoError(t, err)
			other := h.note("y")
			s := commitment.Source{Ref: "ref", MemoryID: e.ID}
			byTime, byPredicate := h.arm(s, in(time.Hour)), h.arm(s, signed)
			h.observe(1, "yes", true)
			h.queue.fail = func(commitment.Firing) error { return errors.New("not yet") }
			h.clock.Advance(time.Hour)
			require.Equal(t, 2, h.tick().Failed) // claimed, not delivered
			h.queue.fail = nil
			why := settle(h, e.ID, other.MemoryID)
			h.clock.Advance(time.Minute)
			require.Equal(t, commitment.Ticked{Lapsed: 2}, h.tick())
			for _, c := range []commitment.Commitment{byTime, byPredicate} {
				require.Equal(t, commitment.Lapsed, h.get(c).State)
				require.Equal(t, why, h.get(c).Reason)
			}
			require.Empty(t, h.queue.runs)
			require.Empty(t, fired(h.log))
		})
	}
}

func TestK6_MergedFireOnce(t *testing.T) {
	for name, arm := range map[string]commitment.Arm{
		"instant": in(time.Hour), "interval": {At: epoch, Every: time.Hour}, "schedule": {Spec: "10:00"}, "predicate": signed,
	} {
		for _, derived := range []bool{false, true} {
			for _, known := range []bool{false, true} { // the head has the same commitment of its own
				t.Run(fmt.Sprintf("%s/%t/%t", name, derived, known), func(t *testing.T) {
					h := newHost(t)
					var sources []commitment.Source
					var all []commitment.Commitment
					for range 3 {
						s := h.note("x")
						sources = append(sources, s)
						all = append(all, h.arm(s, arm))
					}
					rw := memory.Rewrite{}
					head := sources[2].MemoryID
					if derived {
						var ids []string
						for _, s := range sources {
							ids = append(ids, s.MemoryID)
						}
						rw.Derive = []memory.Derived{{Draft: memory.Draft{Content: "xx"}, Sources: ids, Merges: ids}}
					} else {
						for _, s := range sources[:2] {
							rw.Retire = append(rw.Retire, memory.Retire{ID: s.MemoryID, State: memory.Merged, For: head})
						}
					}
					stored, err := h.job("acme").Rewrite(ctx, "ref", rw)
					require.NoError(t, err)
					if derived {
						head = stored.Entries[0].ID
					}
					if known {
						h.arm(commitment.Source{Ref: "ref", MemoryID: head}, arm)
					}
					h.clock.Advance(time.Hour)
					if arm.Predicate != "" {
						h.observe(1, "yes", true)
					}
					require.Equal(t, 1, h.tick().Fired)
					require.Len(t, h.queue.calls, 1)
					require.Equal(t, head, h.queue.calls[0].MemoryID)
					heir := commitment.ID("acme", "ref", head, arm)
					require.Equal(t, heir, h.queue.calls[0].CommitmentID)
					require.Len(t, fired(h.log), 1)
					for _, c := range all {
						if got := h.get(c); got.ID != heir {
							require.Equal(t, commitment.ReasonMerged, got.Reason)
							require.Equal(t, heir, got.MovedTo)
						}
					}
					h.clock.Advance(day)
					if arm.Predicate != "" {
						require.Equal(t, 0, h.observe(2, "yes", true))
						require.Equal(t, 1, h.observe(3, "still", true))
					}
					want := 1
					if name == "instant" {
						want = 0
					}
					require.Equal(t, want, h.tick().Fired, "the heir goes on")
					require.Empty(t, h.store.(*audit).twice)
				})
			}
		}
	}
}

func TestK7_NothingFiresAtReplay(t *testing.T) {
	h := newHost(t)
	h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	h.tick()
	recorded := h.log.All()
	calls := len(h.queue.calls)
	swaps := h.store.(*audit).applied
	again := events.Reemit(recorded, "fork")
	require.NoError(t, events.Emit(ctx, h.log, again...))
	require.Equal(t, recorded[0].Payload, again[0].Payload)
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: vault{}, Replay: &memory.Replay{Events: recorded, Reads: []memory.RecordedRead{}}})
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	require.Len(t, h.queue.calls, calls)
	require.Equal(t, swaps, h.store.(*audit).applied)
	// A whole second life of the host fires nothing again either.
	h.restart()
	h.arm(commitment.Source{Ref: "ref", MemoryID: recorded[0].Payload.(events.CommitmentFired).MemoryID}, in(time.Hour))
	require.Zero(t, h.tick())
	require.Len(t, h.queue.calls, calls)
}

func TestK8_NoTextLeavesMemory(t *testing.T) {
	const text = "call the ambassador about the yacht"
	h := newHost(t)
	h.note(text+" in 3 days", "due:2026-03-04T09:00Z")
	h.note(text+" when it is signed", "when:signed")
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Len(t, done.Armed, 2)
	h.clock.Advance(3 * day)
	h.observe(1, "the yacht is signed", true)
	require.Equal(t, 2, h.tick().Fired)
	var kept strings.Builder
	for d, err := range h.store.Documents(ctx, driver.DocumentQuery{Tenant: "acme", EveryRef: true}) {
		require.NoError(t, err)
		fmt.Fprintf(&kept, "%+v %s", d, d.Value)
	}
	fmt.Fprintf(&kept, "%+v %+v", h.queue.calls, h.log.All())
	for _, word := range []string{"ambassador", "yacht", "call"} {
		require.NotContains(t, kept.String(), word)
	}
	// Nor does it get in as an arm.
	for _, a := range []commitment.Arm{
		{Predicate: "call the ambassador"}, {Predicate: "unregistered"}, {Spec: text}, {Predicate: "hunter2-hunter2"},
	} {
		_, err := h.Arm(ctx, h.job("acme"), h.note("x"), a)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "ambassador")
	}
}

func TestK9_ATickCostsWhatIsDue(t *testing.T) {
	h := newHost(t)
	s := h.note("x")
	for i := range 3000 {
		h.arm(s, in(2*time.Hour+time.Duration(i)*time.Second))
	}
	h.arm(s, in(time.Hour))
	a := h.store.(*audit)
	a.applied, a.due = 0, 0
	require.Zero(t, h.tick())
	require.Equal(t, 0, a.applied)
	require.Equal(t, 1, a.due)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, 2, a.applied, "claimed, and fired with its event")

	// What is armed and not due costs an idle tick nothing.
	idle := func(h *host) float64 { return testing.AllocsPerRun(100, func() { _, _ = h.Tick(ctx) }) }
	h.store = a.store
	h.restart()
	require.Equal(t, idle(newHostOn(t, inmem.New())), idle(h))
}

func TestCancel(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), in(time.Hour))
	got, err := h.Cancel(ctx, "acme", c.ID)
	require.NoError(t, err)
	require.Equal(t, commitment.ReasonCanceled, got.Reason)
	require.Equal(t, got, h.arm(commitment.Source{Ref: "ref", MemoryID: c.MemoryID}, in(time.Hour)), "it stays canceled")
	again, err := h.Cancel(ctx, "acme", c.ID)
	require.NoError(t, err)
	require.Equal(t, got, again)
	_, err = h.Cancel(ctx, "globex", c.ID)
	require.ErrorIs(t, err, memory.ErrNotFound)
	h.clock.Advance(2 * time.Hour)
	require.Zero(t, h.tick())

	// While it is delivered: that firing is completed, and no other follows.
	d := h.arm(h.note("y"), commitment.Arm{Every: time.Hour})
	h.queue.lose = func(commitment.Firing) error {
		got, err := h.Cancel(ctx, "acme", d.ID)
		require.NoError(t, err)
		require.True(t, got.Canceled)
		return nil
	}
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, commitment.ReasonCanceled, h.get(d).Reason)
	require.Len(t, fired(h.log), 1)

	// Or if that fails: nothing.
	e := h.arm(h.note("z"), in(5*time.Hour))
	h.queue.lose = nil
	h.queue.fail = func(commitment.Firing) error {
		_, err := h.Cancel(ctx, "acme", e.ID)
		require.NoError(t, err)
		return io.ErrUnexpectedEOF
	}
	h.clock.Advance(3 * time.Hour)
	h.tick()
	require.Equal(t, commitment.ReasonCanceled, h.get(e).Reason)
	h.clock.Advance(day)
	require.Zero(t, h.tick())
	require.Len(t, fired(h.log), 1)
}
