package memory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

func keyed(content, key string) memory.Draft { return memory.Draft{Content: content, Key: key} }

func TestM8_ARetryUnderAKeyWritesOnce(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	run := h.run("r", "acme")
	// The first try commits, and its answer is lost.
	lost := errors.New("connection reset")
	store.lose = func(call string) error {
		if call != "Apply" {
			return nil
		}
		return lost
	}
	_, err := run.Put(ctx, "m", keyed("once", "k1"))
	require.ErrorIs(t, err, lost)
	store.lose = nil
	first, err := run.Put(ctx, "m", keyed("once", "k1"))
	require.NoError(t, err)
	again, err := run.Put(ctx, "m", keyed("once", "k1"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, []string{"once"}, contents(t, h.Reader("acme"), "m"))
	require.NoError(t, run.End(ctx))
	require.Len(t, h.log.Events("acme", "r"), 1, "one write, one event")

	_, err = h.run("r2", "acme").Put(ctx, "m", keyed("something else", "k1"))
	require.ErrorIs(t, err, memory.ErrConflict)
	put(t, h.run("r2", "acme"), "n", "another ref")
	_, err = h.run("r2", "acme").Put(ctx, "n", keyed("something else", "k1"))
	require.NoError(t, err, "a key belongs to its ref")
	_, err = h.job("globex").Put(ctx, "m", keyed("elsewhere", "k1"))
	require.NoError(t, err)
}

// The key's entry is returned and seen, also by a run whose view does not reach it.
func TestM6_AKeyedEntryIsSeenAsAnOwnWrite(t *testing.T) {
	h := newHost(t)
	early := h.run("early", "acme")
	e, err := h.job("acme").Put(ctx, "m", keyed("x", "k"))
	require.NoError(t, err)
	require.Empty(t, contents(t, early.Memory(), "m"))
	got, err := early.Put(ctx, "m", keyed("x", "k"))
	require.NoError(t, err)
	require.Equal(t, e, got)
	require.Equal(t, []string{"x"}, contents(t, early.Memory(), "m"))
	deleted, err := h.job("acme").Delete(ctx, "m", e.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	got, err = h.job("acme").Put(ctx, "m", keyed("x", "k"))
	require.ErrorIs(t, err, memory.ErrDeleted, "the answer says so")
	require.Equal(t, e, got)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

func TestM10_AForgottenEntryFreesItsKey(t *testing.T) {
	h := newHost(t)
	d := memory.Draft{Content: "x", Key: "k", Subjects: []string{"s"}}
	first, err := h.job("acme").Put(ctx, "m", d)
	require.NoError(t, err)
	_, err = h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	second, err := h.job("acme").Put(ctx, "m", d)
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
}

func TestM8_ManyRetriesAtOnceWriteOnce(t *testing.T) {
	h := newHost(t)
	other := newHostOn(t, h.store, func(c *memory.Config) { c.Sink = h.log })
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			b := h
			if i%2 == 0 {
				b = other
			}
			e, err := b.job("acme").Put(ctx, "m", keyed("x", "k"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = e.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	require.Len(t, contents(t, h.Reader("acme"), "m"), 1)
}

func TestKeysAreRefusedWhereTheyCannotBe(t *testing.T) {
	h := newHost(t)
	job, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: newVault("k", secret)})
	require.NoError(t, err)
	_, err = job.Put(ctx, "m", keyed("x", secret))
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	for _, key := range []string{"\x00", fmt.Sprintf("%0513d", 1), "\xff"} {
		_, err = job.Put(ctx, "m", keyed("x", key))
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	plain := newHostOn(t, plainStore{newSpy()}, func(c *memory.Config) { c.WriteEvents, c.Sink = false, nil })
	_, err = plain.job("acme").Put(ctx, "m", keyed("x", "k"))
	require.ErrorIs(t, err, memory.ErrNotProvided)
}

func TestE4_AReplayRepeatsWhatAKeyAnswered(t *testing.T) {
	h := newHost(t)
	before, err := h.job("acme").Put(ctx, "m", keyed("before", "k0"))
	require.NoError(t, err)
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	work := func(run *memory.Run) (ids []string) {
		for _, d := range []memory.Draft{keyed("before", "k0"), keyed("own", "k1"), keyed("own", "k1")} {
			e, err := run.Put(ctx, "m", d)
			require.NoError(t, err)
			ids = append(ids, e.ID)
		}
		return ids
	}
	first := work(run)
	require.Equal(t, before.ID, first[0])
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), From: from, To: to}})
	require.NoError(t, err)
	require.Equal(t, first, work(replay))
	require.Len(t, contents(t, replay.Memory(), "m"), 2)
}

// What a run found under a key its replay finds, though the entry was deleted afterwards.
func TestE4_AReplayFindsUnderAKeyWhatTheRunFound(t *testing.T) {
	h := newHost(t)
	found, err := h.run("before", "acme").Put(ctx, "m", keyed("new", "k"))
	require.NoError(t, err)
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	node := func(run *memory.Run) {
		e, err := run.Put(ctx, "m", keyed("new", "k"))
		require.NoError(t, err)
		require.Equal(t, found, e)
		require.Equal(t, []string{"new"}, contents(t, run.Memory(), "m"))
		_, err = run.Delete(ctx, "m", e.ID)
		require.NoError(t, err)
		_, err = run.Put(ctx, "m", keyed("new", "k"))
		require.ErrorIs(t, err, memory.ErrDeleted)
	}
	node(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	node(h.replay(from, to))
}
