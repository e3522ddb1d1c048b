package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// sinkFunc is a sink made of a function.
type sinkFunc func(context.Context, ...events.Record) error

func (f sinkFunc) Emit(ctx context.Context, recs ...events.Record) error { return f(ctx, recs...) }

func TestE3_AWriteAndItsEventCommitTogether(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	run := h.run("r1", "acme")
	e, err := run.Put(ctx, "m", memory.Draft{Content: "x", Tags: []string{"t"}, NodeID: "node-1", AgentID: "agent-1"})
	require.NoError(t, err)
	require.Len(t, store.wrote, 1)
	require.Len(t, store.wrote[0].Put, 1)
	require.Len(t, store.wrote[0].Events, 1)
	require.Empty(t, h.log.Events("acme", "r1"), "the sink comes later")

	relayed, err := h.Relay(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.Maintained{Delivered: 1}, relayed)
	logged := h.log.Events("acme", "r1")
	require.Len(t, logged, 1)
	require.Equal(t, events.MemoryWritten{MemoryRef: "m", MemoryID: e.ID, NodeID: "node-1", AgentID: "agent-1"}, logged[0].Payload)
	require.Equal(t, "node-1", logged[0].NodeID)
	require.Equal(t, e.CreatedAt, logged[0].Time)

	store.fail = func(string) error { return errors.New("down") }
	_, err = run.Put(ctx, "m", memory.Draft{Content: "y"})
	require.Error(t, err)
	store.fail = nil
	relayed, err = h.Relay(ctx)
	require.NoError(t, err)
	require.Zero(t, relayed, "no event without its write")
}

func TestE3_EveryWriteOfARunIsAnnouncedBeforeItEnds(t *testing.T) {
	h := newHost(t)
	run := h.run("r1", "acme")
	want := map[string]bool{}
	for range 700 { // more than two batches
		e, err := run.Put(ctx, "m", memory.Draft{Content: "x", Tags: []string{"t"}})
		require.NoError(t, err)
		want[e.ID] = true
	}
	child, err := run.Child("c1")
	require.NoError(t, err)
	inChild := put(t, child, "m", "y")
	require.NoError(t, child.End(ctx))
	require.NoError(t, run.End(ctx))
	for _, ev := range h.log.Events("acme", "r1") {
		written := ev.Payload.(events.MemoryWritten)
		require.True(t, want[written.MemoryID])
		delete(want, written.MemoryID)
	}
	require.Empty(t, want)
	require.Equal(t, inChild.ID, h.log.Events("acme", "c1")[0].Payload.(events.MemoryWritten).MemoryID)
}

func TestE3_DeliveryIsAtLeastOnceUnderOneID(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	run := h.run("r1", "acme")
	put(t, run, "m", "x")
	store.fail = func(call string) error {
		if call == "Delivered" {
			return errors.New("the acknowledgement is lost")
		}
		return nil
	}
	require.Error(t, run.End(ctx))
	require.Len(t, h.log.Events("acme", "r1"), 1)
	store.fail = nil
	require.NoError(t, run.End(ctx))
	require.Len(t, h.log.Events("acme", "r1"), 1, "the log drops what it has")
	left, err := store.Waiting(ctx, "", 10)
	require.NoError(t, err)
	require.Zero(t, left)
}

func TestE3_ARefusedRunHoldsUpNoOtherAndIsVisible(t *testing.T) {
	log := new(events.Log)
	broken := true
	sink := sinkFunc(func(ctx context.Context, recs ...events.Record) error {
		for _, r := range recs {
			if broken && r.RunID == "bad" && r.Tenant == "acme" {
				return errors.New("no such run in the log")
			}
		}
		return log.Emit(ctx, recs...)
	})
	h := newHost(t, func(c *memory.Config) { c.Sink, c.MaxUndelivered = sink, 10 })
	bad, good, namesake := h.run("bad", "acme"), h.run("good", "acme"), h.run("bad", "globex")
	for range 5 {
		put(t, bad, "m", "x")
		put(t, good, "m", "x")
		put(t, namesake, "m", "x")
		if _, err := h.Relay(ctx); err != nil {
			require.ErrorIs(t, err, memory.ErrInternal)
		}
	}
	require.Error(t, bad.End(ctx))
	require.Empty(t, log.Events("acme", "bad"))
	require.Len(t, log.Events("acme", "good"), 5)
	require.Len(t, log.Events("globex", "bad"), 5)
	relayed, err := h.Relay(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Equal(t, memory.Maintained{Stuck: map[string][]string{"acme": {"bad"}}, Waiting: 5}, relayed)

	for i := range 5 {
		put(t, good, "m", fmt.Sprint(i))
	}
	_, err = good.Put(ctx, "m", memory.Draft{Content: "one too many"})
	require.ErrorIs(t, err, memory.ErrBacklog)
	broken = false
	relayed, err = h.Relay(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.Maintained{Delivered: 10}, relayed)
	put(t, good, "m", "again")
	require.NoError(t, bad.End(ctx))
	require.Len(t, log.Events("acme", "bad"), 5)
}

// What a host appends to a run's log after a flush comes behind the run's writes, also if
// other runs have events waiting.
func TestE3_FlushOrdersTheEventsOfARun(t *testing.T) {
	refuse := false
	log := new(events.Log)
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(ctx context.Context, recs ...events.Record) error {
			if refuse {
				return errors.New("canary")
			}
			return log.Emit(ctx, recs...)
		})
	})
	run, other := h.run("r", "acme"), h.run("other", "acme")
	var want []string
	for i := range 3 {
		put(t, other, "m", "x")
		want = append(want, put(t, run, "m", "x").ID, fmt.Sprint("own", i))
		refuse = true
		err := run.Flush(ctx)
		require.ErrorIs(t, err, memory.ErrInternal)
		require.NotContains(t, err.Error(), "canary")
		require.Len(t, log.Events("acme", "r"), 2*i)
		refuse = false
		require.NoError(t, run.Flush(ctx))
		own := events.Record{ID: fmt.Sprint("own", i), Tenant: "acme", RunID: "r", Time: epoch, Payload: events.WorkspaceUpdated{Path: fmt.Sprint("own", i), Version: 1}}
		require.NoError(t, log.Emit(ctx, own))
	}
	require.NoError(t, run.End(ctx))
	var got []string
	for _, e := range log.Events("acme", "r") {
		switch p := e.Payload.(type) {
		case events.MemoryWritten:
			got = append(got, p.MemoryID)
		case events.WorkspaceUpdated:
			got = append(got, p.Path)
		}
	}
	require.Equal(t, want, got)
	require.Empty(t, log.Events("acme", "other"))
	require.ErrorIs(t, run.Flush(ctx), memory.ErrEnded)
}

func TestE5_APassHasALogOfItsOwn(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	a := put(t, job, "m", "a")
	made, err := job.Rewrite(ctx, "m", memory.Rewrite{
		Derive: []memory.Derived{{Draft: memory.Draft{Content: "b", NodeID: "invented"}, Sources: []string{a.ID}}},
		Announce: func(stored []memory.Entry) []events.Record {
			return []events.Record{
				{ID: "pass/done", Payload: events.MemoryConsolidated{MemoryRef: "m", InputCount: 1, OutputCount: int64(len(stored))}},
				{Payload: events.WorkspaceUpdated{Path: "x", Version: 1}},
			}
		},
	})
	require.NoError(t, err)
	require.NoError(t, job.End(ctx))
	logged := h.log.Events("acme", "pass")
	require.Len(t, logged, 4)
	require.Equal(t, events.MemoryWritten{MemoryRef: "m", MemoryID: made.Entries[0].ID}, logged[1].Payload, "no node made it")
	require.Equal(t, "pass/done", logged[2].ID)

	_, err = job.Rewrite(ctx, "m", memory.Rewrite{})
	require.ErrorIs(t, err, memory.ErrEnded)
	_, err = h.job("acme").Rewrite(ctx, "m", memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
		return []events.Record{{Payload: events.MemoryConsolidated{}}}
	}})
	require.ErrorIs(t, err, memory.ErrValidation, "an event that breaks its schema stops the mutation")
}

func TestE3_RelaysInSeveralProcessesAgree(t *testing.T) {
	h := newHost(t)
	other := newHostOn(t, h.store, func(c *memory.Config) { c.Sink = h.log })
	run := h.run("r1", "acme")
	var wg sync.WaitGroup
	for _, b := range []*host{h, other, h, other} {
		wg.Go(func() {
			for range 50 {
				_, err := b.Relay(ctx)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 500 {
		put(t, run, "m", "x")
	}
	wg.Wait()
	require.NoError(t, run.End(ctx))
	logged := h.log.Events("acme", "r1")
	require.Len(t, logged, 500)
	for i, ev := range logged {
		require.EqualValues(t, i, ev.Sequence)
	}
}

// A bank whose events another process delivers goes on, and a tenant whose events the
// sink refuses stops no other tenant.
func TestE3_TheBacklogIsCountedInTheStoreAndByTenant(t *testing.T) {
	log := new(events.Log)
	sink := sinkFunc(func(ctx context.Context, recs ...events.Record) error {
		for _, r := range recs {
			if r.Tenant == "stuck" {
				return errors.New("refused")
			}
		}
		return log.Emit(ctx, recs...)
	})
	small := func(c *memory.Config) { c.Sink, c.MaxUndelivered = sink, 10 }
	h := newHost(t, small)
	relay := newHostOn(t, h.store, small)
	acme, stuck := h.run("r", "acme"), h.run("r", "stuck")
	for range 100 {
		put(t, acme, "m", "x")
		_, err := relay.Relay(ctx)
		require.NoError(t, err)
	}
	for range 10 {
		put(t, stuck, "m", "x")
	}
	_, err := stuck.Put(ctx, "m", memory.Draft{Content: "x"})
	require.ErrorIs(t, err, memory.ErrBacklog)
	put(t, acme, "m", "x")
}

// When closing the registry and delivering the events both fail, both are told.
func TestEndTellsOfEveryFailure(t *testing.T) {
	refused := errors.New("refused")
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(context.Context, ...events.Record) error { return refused })
	})
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: stubborn{open{newVault()}}})
	require.NoError(t, err)
	put(t, run, "m", "x")
	err = run.End(ctx)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "did not close")
	job, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: stubborn{open{newVault()}}})
	require.NoError(t, err)
	put(t, job, "m", "x")
	err = job.End(ctx)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "did not close")
}

// scribbler writes into what it is given, and fails the first time.
type scribbler struct {
	failed bool
	got    [][]string
}

func (s *scribbler) Emit(_ context.Context, recs ...events.Record) error {
	for _, r := range recs {
		p, ok := r.Payload.(events.MemoryConsolidated)
		if !ok {
			continue
		}
		s.got = append(s.got, append([]string{}, p.MergedIDs...))
		for i := range p.MergedIDs {
			p.MergedIDs[i] = "scribbled"
		}
	}
	if !s.failed {
		s.failed = true
		return errors.New("the log is full")
	}
	return nil
}

func TestE3_ASinkThatWritesIntoWhatItIsGivenChangesNothingThatWaits(t *testing.T) {
	sink := &scribbler{}
	h := newHost(t, func(c *memory.Config) { c.Sink = sink })
	job := h.job("acme")
	_, err := job.Rewrite(ctx, "m", memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
		return []events.Record{{Payload: events.MemoryConsolidated{MemoryRef: "m", InputCount: 2, OutputCount: 1, MergedIDs: []string{"a", "b"}, Trigger: events.ConsolidationOnDemand}}}
	}})
	require.NoError(t, err)
	_, err = h.Relay(ctx)
	require.NoError(t, err, "the second try within the relay, run by run")
	require.Equal(t, [][]string{{"a", "b"}, {"a", "b"}}, sink.got)
}
