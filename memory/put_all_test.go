package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func named(name, content string, replaces ...string) memory.Draft {
	return memory.Draft{Content: content, Name: name, Replaces: replaces}
}

// Of many that take a name at the same time, one has it.
func TestM8_ANameHasOneLiveEntry(t *testing.T) {
	h := newHost(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var ids []string
	for i := range 16 {
		wg.Go(func() {
			w := putter(h.job("acme"))
			if i%2 == 0 {
				w = h.run(fmt.Sprint("r", i), "acme")
			}
			e, err := w.Put(ctx, "m", named("/a", fmt.Sprint("version ", i)))
			if err == nil {
				mu.Lock()
				ids = append(ids, e.ID)
				mu.Unlock()
			} else if !errors.Is(err, memory.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, ids, 1)
	require.Len(t, contents(t, h.Reader("acme"), "m"), 1)
	put(t, h.job("acme"), "other", "of another ref")
	_, err := h.job("acme").Put(ctx, "other", named("/a", "the name in another ref"))
	require.NoError(t, err)
	_, err = h.job("globex").Put(ctx, "m", named("/a", "the name of another tenant"))
	require.NoError(t, err)
}

// A name is free again once its entry was deleted, forgotten, has expired, or was replaced by one of another name.
func TestM8_ANameEndsWithItsEntry(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	const taken = "memory: conflict with another change: " +
		"another live entry of the ref has Draft.Name: replace it, or take another name"
	take := func(d memory.Draft) memory.Entry {
		e, err := job.Put(ctx, "m", d)
		require.NoError(t, err)
		_, err = job.Put(ctx, "m", named("/a", "another"))
		require.EqualError(t, err, taken)
		return e
	}
	e := take(named("/a", "one"))
	_, err := job.Delete(ctx, "m", e.ID)
	require.NoError(t, err)
	take(memory.Draft{Content: "two", Name: "/a", TTL: time.Minute})
	h.clock.Advance(time.Minute)
	take(memory.Draft{Content: "three", Name: "/a", Subjects: []string{"customer:1"}})
	_, err = h.Forget(ctx, "acme", "customer:1")
	require.NoError(t, err)
	e = take(named("/a", "four"))
	e = take(named("/a", "five", e.ID))
	moved, err := job.Put(ctx, "m", named("/b", "five", e.ID))
	require.NoError(t, err)
	e = take(named("/a", "six"))
	both, err := job.PutAll(ctx, "m", named("/a", "five", moved.ID), named("/b", "six", e.ID))
	require.NoError(t, err, "names change hands in one mutation")
	require.Equal(t, []string{"six", "five"}, contents(t, h.Reader("acme"), "m"))
	require.Len(t, both, 2)
}

// What replaces an entry without a name of its own has the name then, so that a correction of it is not outdone by
// one that does not see it.
func TestM8_AReplacementKeepsTheName(t *testing.T) {
	h := newHost(t)
	stale, job := h.run("stale", "acme"), h.job("acme")
	e, err := job.Put(ctx, "m", named("/a", "one"))
	require.NoError(t, err)
	for i, replace := range []func(string) (memory.Entry, error){
		func(id string) (memory.Entry, error) {
			return h.run("r", "acme").Replace(ctx, "m", id, memory.Draft{Content: "two"})
		},
		func(id string) (memory.Entry, error) {
			return h.run("s", "acme").Replace(ctx, "m", id, keyed("three", "key"))
		},
		func(id string) (memory.Entry, error) { return job.Put(ctx, "m", named("", "four", id)) },
	} {
		e, err = replace(e.ID)
		require.NoError(t, err)
		_, err = stale.Put(ctx, "m", named("/a", "stale"))
		require.ErrorIs(t, err, memory.ErrConflict, i)
	}
	both, err := job.PutAll(ctx, "m", named("", "five", e.ID), named("/a", "six"))
	require.NoError(t, err, "which another draft may have instead")
	_, err = job.Delete(ctx, "m", both[0].ID)
	require.NoError(t, err)
	_, err = stale.Put(ctx, "m", named("/a", "stale"))
	require.ErrorIs(t, err, memory.ErrConflict)
	_, err = job.Put(ctx, "m", named("/b", "seven", both[1].ID))
	require.NoError(t, err)
	_, err = stale.Put(ctx, "m", named("/a", "free again"))
	require.NoError(t, err)
}

// Drafts that are put together are stored together or not at all.
func TestM8_PutAllIsWhole(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	a, b := put(t, job, "m", "a"), put(t, job, "m", "b")
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault("k", secret)})
	require.NoError(t, err)
	_, err = h.run("faster", "acme").Replace(ctx, "m", b.ID, memory.Draft{Content: "b2"})
	require.NoError(t, err)
	for name, w := range map[string]func(...memory.Draft) error{
		"run": func(d ...memory.Draft) error { _, err := run.PutAll(ctx, "m", d...); return err },
		"job": func(d ...memory.Draft) error { _, err := job.PutAll(ctx, "m", d...); return err },
	} {
		refused := func(want string, drafts ...memory.Draft) { require.EqualError(t, w(drafts...), "memory: "+want, name) }
		refused("conflict with another change: "+
			"an entry of Draft.Replaces has been replaced, merged or deleted, or has expired",
			named("", "a3", a.ID), named("", "b3", b.ID))
		refused("invalid input: Draft.Replaces names an entry twice", named("", "a3", a.ID), named("", "x", a.ID))
		refused("invalid input: two drafts have the same Draft.Name", named("n", "a3"), named("n", "x"))
		refused("invalid input: Draft.Key is set beside Name or Replaces, or for PutAll: leave it empty",
			named("n", "a3"), keyed("x", "k"))
		require.ErrorIs(t, w(named("", "a3", a.ID), named("", "x", "mem_absent")), memory.ErrNotFound, name)
		require.ErrorIs(t, w(named("", "a3"), named("", "\x00")), memory.ErrValidation, name)
	}
	_, err = run.PutAll(ctx, "m", named("", "a3"), named("of "+secret, "x"))
	require.EqualError(t, err,
		"memory: refused to protect secrets: Draft.Name holds a secret: an identifier is stored as it is")
	require.Equal(t, []string{"b2", "a"}, contents(t, h.Reader("acme"), "m"))
	stored, err := run.PutAll(ctx, "m", named("", "a3", a.ID), named("", "c"))
	require.NoError(t, err)
	require.Equal(t, []string{"c", "a3", "b"}, contents(t, run.Memory(), "m"), "and the run sees it")
	require.Equal(t, []string{"c", "a3", "b2"}, contents(t, h.Reader("acme"), "m"))
	outcomes, err := h.Lineage(ctx, "acme", "m", a.ID)
	require.NoError(t, err)
	require.Equal(t, stored[0].ID, outcomes[a.ID].Head.ID)
}

// What replaces keeps the subjects and the end of the first that it replaces (M4, M10).
func TestM10_PutAllCarriesLabels(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	first, err := job.Put(ctx, "m", memory.Draft{Content: "first", Subjects: []string{"customer:1"}, TTL: time.Hour})
	require.NoError(t, err)
	second := put(t, job, "m", "second", "customer:2")
	e, err := h.run("r", "acme").Put(ctx, "m", named("", "both", first.ID, second.ID))
	require.NoError(t, err)
	require.Equal(t, []string{"customer:1", "customer:2"}, e.Subjects)
	require.Equal(t, first.ExpiresAt, e.ExpiresAt)
	require.Equal(t, []string{"both"}, contents(t, h.Reader("acme"), "m"))
	_, err = h.Forget(ctx, "acme", "customer:2")
	require.NoError(t, err)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

// A name is machinery of the bank, and no part of what is known of a subject.
func TestM10_AnExportHasNoNames(t *testing.T) {
	h := newHost(t)
	_, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "text", Name: "/a", Subjects: []string{"customer:1"}})
	require.NoError(t, err)
	exported := 0
	for e, err := range h.Export(ctx, "acme", "customer:1") {
		require.NoError(t, err)
		require.Nil(t, e.Document)
		exported++
	}
	require.Equal(t, 1, exported)
}

// A tenant that is at its limits can go on replacing.
func TestM9_ReplacingNeedsNoRoom(t *testing.T) {
	h := newHost(t, func(c *memory.Config) {
		c.Limits = func(context.Context, string) (driver.Limits, error) { return driver.Limits{Entries: 2}, nil }
	})
	job := h.job("acme")
	a, b := put(t, job, "m", "a"), put(t, job, "m", "b")
	_, err := job.PutAll(ctx, "m", named("/a", "a2", a.ID), named("/b", "b2", b.ID))
	require.NoError(t, err)
	_, err = job.PutAll(ctx, "m", named("/c", "c"))
	require.ErrorIs(t, err, memory.ErrStorageLimit)
}

// A replay repeats what was put together, and is refused where the run was.
func TestE4_AReplayRepeatsPutAll(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	a, b := put(t, job, "m", "a"), put(t, job, "m", "b")
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	_, err = job.Put(ctx, "m", named("/taken", "by another"))
	require.NoError(t, err)
	work := func(run *memory.Run) (said []any) {
		_, err := run.Put(ctx, "m", named("/taken", "mine"))
		require.ErrorIs(t, err, memory.ErrConflict)
		for _, drafts := range [][]memory.Draft{{named("/a", "a2", a.ID), named("/c", "c")}, {named("/b", "b2", b.ID)}} {
			h.clock.Advance(time.Second)
			stored, err := run.PutAll(ctx, "m", drafts...)
			require.NoError(t, err)
			said = append(said, stored, contents(t, run.Memory(), "m"))
		}
		_, err = run.Put(ctx, "m", named("/taken", "mine"))
		require.ErrorIs(t, err, memory.ErrConflict)
		return said
	}
	first := work(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	before := contents(t, h.Reader("acme"), "m")
	replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault("k", secret),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), From: from, To: to}})
	require.NoError(t, err)
	require.Equal(t, first, work(replay))
	_, err = replay.PutAll(ctx, "m", named("", "more"))
	require.ErrorIs(t, err, memory.ErrDiverged)
	require.NoError(t, replay.End(ctx))
	require.Equal(t, before, contents(t, h.Reader("acme"), "m"))
}

// A replay is refused a name whichever of the drafts has it, and leaves the record to the writes that come then.
func TestE4_ARefusedPutAllRepeatsNoWrite(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	_, err = h.job("acme").Put(ctx, "m", named("/taken", "by another"))
	require.NoError(t, err)
	work := func(run *memory.Run) (said []memory.Entry) {
		for _, first := range []memory.Draft{named("", "a"), named("/b", "b")} {
			_, err := run.PutAll(ctx, "m", first, named("/taken", "mine"))
			require.ErrorIs(t, err, memory.ErrConflict)
			stored, err := run.PutAll(ctx, "m", first)
			require.NoError(t, err)
			said = append(said, stored...)
		}
		return said
	}
	first := work(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault("k", secret),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), From: from, To: to}})
	require.NoError(t, err)
	require.Equal(t, first, work(replay))
}
