package memory_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// work is what a node does: it reads, writes what it read, reads again, deletes.
func work(t *testing.T, run *memory.Run, reader memory.Reader) (trail []any) {
	first, err := reader.List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	e, err := run.Put(ctx, "m", memory.Draft{Content: "seen " + first[0].Content, NodeID: "n1"})
	require.NoError(t, err)
	run2, err := run.Put(ctx, "n", memory.Draft{Content: "key " + secret})
	require.NoError(t, err)
	again, err := reader.List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	_, err = reader.Get(ctx, "m", "mem_absent")
	require.ErrorIs(t, err, memory.ErrNotFound)
	got, err := reader.Get(ctx, "m", e.ID)
	require.NoError(t, err)
	return []any{first, e.ID, e.CreatedAt, e.Content, run2.ID, run2.Content, again, got}
}

func TestE4_AReplayRepeatsTheRunAndWritesNothing(t *testing.T) {
	h := newHost(t)
	put(t, h.job("acme"), "m", "old", "customer:1")
	keys := newVault("k", secret)
	run, err := h.Start(ctx, memory.RunConfig{ID: "r1", Tenant: "acme", Redactor: keys})
	require.NoError(t, err)
	var reads []memory.RecordedRead
	first := work(t, run, memory.RecordReads(run.Memory(), func(r memory.RecordedRead) error {
		reads = append(reads, r)
		return nil
	}))
	require.NoError(t, run.End(ctx))
	recorded := h.log.Events("acme", "r1")
	require.Len(t, recorded, 2)

	// The record survives a trip through a log, and what happens to memory later.
	raw, err := json.Marshal(reads)
	require.NoError(t, err)
	var kept []memory.RecordedRead
	require.NoError(t, json.Unmarshal(raw, &kept))
	_, err = h.Forget(ctx, "acme", "customer:1")
	require.NoError(t, err)
	h.clock.Advance(time.Hour)
	before := contents(t, h.Reader("acme"), "m")

	for range 2 { // replaying twice adds nothing
		replay, err := h.Start(ctx, memory.RunConfig{ID: "fork1", Tenant: "acme", Redactor: newVault("k", secret),
			Replay: &memory.Replay{Events: recorded, Reads: memory.ReplayReads(kept)}})
		require.NoError(t, err)
		second := work(t, replay, replay.Memory())
		a, _ := json.Marshal(first)
		b, _ := json.Marshal(second)
		require.JSONEq(t, string(a), string(b))

		_, err = replay.Put(ctx, "m", memory.Draft{Content: "more"})
		require.ErrorIs(t, err, memory.ErrDiverged)
		_, err = replay.Memory().List(ctx, "m", memory.ListOptions{Limit: 7})
		require.ErrorIs(t, err, memory.ErrDiverged)
		require.NoError(t, replay.End(ctx))
	}
	require.Equal(t, before, contents(t, h.Reader("acme"), "m"))
	again := h.log.Events("acme", "fork1")
	require.Len(t, again, 2)
	for i, ev := range again {
		require.Equal(t, recorded[i].Payload, ev.Payload)
		require.Equal(t, recorded[i].Time, ev.Time)
		require.NotEqual(t, recorded[i].ID, ev.ID, "the envelope is new")
	}
}

func TestE4_AReplayFromATokenNeedsNoRecord(t *testing.T) {
	h := newHost(t)
	kept := put(t, h.job("acme"), "m", "old")
	run := h.run("r1", "acme")
	own := put(t, run, "m", "own")
	token, err := run.Token()
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	put(t, h.job("acme"), "m", "later")

	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	replay, err := h.Start(ctx, memory.RunConfig{ID: "f", Tenant: "acme", Redactor: newVault(),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r1"), Reads: asOf}})
	require.NoError(t, err)
	require.Equal(t, []string{"own", "old"}, contents(t, replay.Memory(), "m"))
	deleted, err := replay.Delete(ctx, "m", kept.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	deleted, err = replay.Delete(ctx, "m", "mem_absent")
	require.NoError(t, err)
	require.False(t, deleted)
	_, err = h.Reader("acme").Get(ctx, "m", kept.ID)
	require.NoError(t, err, "a replay deletes nothing")
	e := put(t, replay, "m", "own")
	require.Equal(t, own, e)

	for name, call := range map[string]func() error{
		"token":  func() error { _, err := replay.Token(); return err },
		"child":  func() error { _, err := replay.Child("c"); return err },
		"search": func() error { _, err := replay.Search(ctx, "m", memory.Search{}); return err },
	} {
		require.ErrorIs(t, call(), memory.ErrNotProvided, name)
	}
	require.NoError(t, replay.Join(ctx, token), "what a child wrote is in the record")
	require.NoError(t, replay.End(ctx))
}

func TestReplayIsRefusedWithoutWhatItNeeds(t *testing.T) {
	h := newHost(t)
	_, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Replay: &memory.Replay{}})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: "x",
		Replay: &memory.Replay{Reads: memory.ReplayReads(nil)}})
	require.ErrorIs(t, err, memory.ErrValidation)
}

func TestRecordReadsFailsWithItsKeeper(t *testing.T) {
	h := newHost(t)
	e := put(t, h.job("acme"), "m", "x")
	full := errors.New("log full")
	r := memory.RecordReads(h.Reader("acme"), func(memory.RecordedRead) error { return full })
	_, err := r.List(ctx, "m", memory.ListOptions{})
	require.ErrorIs(t, err, full)
	_, err = r.Get(ctx, "m", e.ID)
	require.ErrorIs(t, err, full)
	_, err = r.List(ctx, "m", memory.ListOptions{Limit: -1})
	require.ErrorIs(t, err, memory.ErrValidation)
}

// What had a future when it was written is written again at a replay, however late that
// is.
func TestE4_AReplayedWriteMayHaveExpired(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	d := memory.Draft{Content: "short-lived", ExpiresAt: epoch.Add(time.Minute)}
	e, err := run.Put(ctx, "m", d)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	h.clock.Advance(time.Hour)
	again, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), Reads: memory.ReplayReads(nil)}})
	require.NoError(t, err)
	replayed, err := again.Put(ctx, "m", d)
	require.NoError(t, err)
	require.Equal(t, e, replayed)
}

// A parent that was resumed after its child wrote sees the child's entry once.
func TestM6_JoiningListsAnEntryOnce(t *testing.T) {
	h := newHost(t)
	child := h.run("c", "acme")
	put(t, child, "m", "of the child")
	token, err := child.Token()
	require.NoError(t, err)
	put(t, h.job("acme"), "m", "newer")
	parent := h.run("p", "acme")
	require.NoError(t, parent.Join(ctx, token))
	require.Equal(t, []string{"newer", "of the child"}, contents(t, parent.Memory(), "m"))
	entries, err := parent.Memory().List(ctx, "m", memory.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
