package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func TestM6_AReplacedEntryShowsAsTheNewOne(t *testing.T) {
	h := newHost(t)
	expires := h.Now().Add(time.Hour)
	old, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "Lena lives in Bern.", Subjects: []string{"customer:lena"}, ExpiresAt: expires})
	require.NoError(t, err)
	put(t, h.job("acme"), "m", "another")
	before, run := h.run("before", "acme"), h.run("r", "acme")

	e, err := run.Replace(ctx, "m", old.ID, memory.Draft{Content: "Lena lives in Graz.", NodeID: "n1"})
	require.NoError(t, err)
	require.Equal(t, []string{"customer:lena"}, e.Subjects)
	require.Equal(t, old.ExpiresAt, e.ExpiresAt)
	require.Equal(t, []string{"Lena lives in Graz.", "another"}, contents(t, run.Memory(), "m"))
	_, err = run.Memory().Get(ctx, "m", old.ID)
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Equal(t, []string{"another", "Lena lives in Bern."}, contents(t, before.Memory(), "m"), "another view does not move")
	require.Equal(t, []string{"Lena lives in Graz.", "another"}, contents(t, h.Reader("acme"), "m"))
	hits, err := run.Search(ctx, "m", memory.Search{Text: "lena"})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Equal(t, e.ID, hits[0].Entry.ID)

	outcomes, err := h.Lineage(ctx, "acme", "m", old.ID)
	require.NoError(t, err)
	require.Equal(t, memory.Superseded, outcomes[old.ID].State)
	require.Equal(t, e.ID, outcomes[old.ID].Head.ID, "the lineage is kept")

	require.NoError(t, run.End(ctx))
	log := h.log.Events("acme", "r")
	require.Len(t, log, 1)
	require.Equal(t, events.MemoryWritten{MemoryRef: "m", MemoryID: e.ID, NodeID: "n1"}, log[0].Payload)
}

// A replacement has the tags of what it replaces unless its draft names some, or none by an empty list.
func TestM6_AReplacementKeepsTheTags(t *testing.T) {
	h := newHost(t)
	for name, c := range map[string]struct{ tags, want []string }{
		"none named":    {nil, []string{"due:2026-06-30T09:00Z", "slot:plan"}},
		"one named":     {[]string{"slot:plan"}, []string{"slot:plan"}},
		"an empty one":  {[]string{""}, []string{}},
		"an empty list": {[]string{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			run := h.run("r"+name, "acme")
			old, err := run.Put(ctx, "m", memory.Draft{Content: "Call Lnea.", Tags: []string{"due:2026-06-30T09:00Z", "slot:plan"}})
			require.NoError(t, err)
			d := memory.Draft{Content: "Call Lena.", Tags: c.tags, Key: name}
			e, err := run.Replace(ctx, "m", old.ID, d)
			require.NoError(t, err)
			require.Equal(t, c.want, e.Tags)
			again, err := run.Replace(ctx, "m", old.ID, d)
			require.NoError(t, err)
			require.Equal(t, e, again, "under its key")
			d.Tags = []string{"other"}
			_, err = run.Replace(ctx, "m", old.ID, d)
			require.ErrorIs(t, err, memory.ErrConflict)
		})
	}
}

// Tags that only the bank writes stay with the summary that has the archive, and inherited ones are
// redacted by what is a secret today. There may be more of them than a draft can have.
func TestM3_InheritedTagsAreRedactedAgain(t *testing.T) {
	h := newHost(t)
	many := make([]string, 215)
	for i := range many {
		many[i] = fmt.Sprint(i, strings.Repeat("x", 70))
	}
	source := put(t, h.job("acme"), "m", "source")
	made, err := h.job("acme").Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: "summary", Tags: append(many, "key hunter2-hunter2")}, Sources: []string{source.ID}, Compacted: true, Archive: "sha256:1",
	}}})
	require.NoError(t, err)
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault("k", "hunter2-hunter2")})
	require.NoError(t, err)
	e, err := run.Replace(ctx, "m", made.Entries[0].ID, memory.Draft{Content: "by hand", Subjects: []string{strings.Repeat("s", 256), strings.Repeat("t", 256), strings.Repeat("u", 256), strings.Repeat("v", 256), strings.Repeat("w", 256), strings.Repeat("y", 256)}})
	require.NoError(t, err)
	require.Len(t, e.Tags, 216)
	require.NotContains(t, strings.Join(e.Tags, " "), "hunter2")
	require.NotContains(t, strings.Join(e.Tags, " "), memory.CompactedPrefix)
	require.NotContains(t, strings.Join(e.Tags, " "), memory.ArchivePrefix)
}

func TestC8_AReplacementLivesAtLeastAsLong(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	limited, err := run.Put(ctx, "m", memory.Draft{Content: "for an hour", TTL: time.Hour})
	require.NoError(t, err)
	forever := put(t, run, "m", "for ever")
	for name, c := range map[string]struct {
		id    string
		draft memory.Draft
	}{
		"an earlier instant": {limited.ID, memory.Draft{ExpiresAt: limited.ExpiresAt.Add(-time.Millisecond)}},
		"a shorter time":     {limited.ID, memory.Draft{TTL: time.Minute}},
		"no longer for ever": {forever.ID, memory.Draft{TTL: 1000 * time.Hour}},
	} {
		_, err := run.Replace(ctx, "m", c.id, c.draft)
		require.EqualError(t, err, "memory: invalid input: Draft.ExpiresAt, or the end of Draft.TTL, is earlier than that of the entry that it replaces", name)
	}
	require.Equal(t, []string{"for ever", "for an hour"}, contents(t, run.Memory(), "m"))
	longer, err := run.Replace(ctx, "m", limited.ID, memory.Draft{Content: "for two", TTL: 2 * time.Hour})
	require.NoError(t, err)
	require.Equal(t, h.Now().Add(2*time.Hour), longer.ExpiresAt)
}

func TestM6_WhatARunDoesNotSeeItDoesNotReplace(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	old := put(t, job, "m", "old")
	run := h.run("r", "acme")
	later := put(t, job, "m", "later")
	for name, id := range map[string]string{"later": later.ID, "absent": "mem_absent", "malformed": "\x00"} {
		_, err := run.Replace(ctx, "m", id, memory.Draft{Content: "new"})
		require.ErrorIs(t, err, memory.ErrNotFound, name)
	}
	_, err := run.Replace(ctx, "../m", old.ID, memory.Draft{Content: "new"})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = run.Replace(ctx, "m", old.ID, memory.Draft{Content: "new", CreatedAt: h.Now()})
	require.ErrorIs(t, err, memory.ErrValidation)

	_, err = h.run("faster", "acme").Replace(ctx, "m", old.ID, memory.Draft{Content: "by another"})
	require.NoError(t, err)
	_, err = run.Replace(ctx, "m", old.ID, memory.Draft{Content: "new"})
	require.EqualError(t, err, "memory: conflict with another change: the entry has been replaced, merged or deleted since the run started, or has expired")
	require.Equal(t, []string{"old"}, contents(t, run.Memory(), "m"))
	require.Equal(t, []string{"by another", "later"}, contents(t, h.Reader("acme"), "m"))
}

// Of runs that replace one entry at the same time, one does.
func TestM8_OneOfManyReplaces(t *testing.T) {
	h := newHost(t)
	old := put(t, h.job("acme"), "m", "old")
	var done atomic.Int32
	var wg sync.WaitGroup
	var runs [8]*memory.Run
	for i := range runs {
		runs[i] = h.run(fmt.Sprint("r", i), "acme")
	}
	for i, run := range runs {
		wg.Go(func() {
			_, err := run.Replace(ctx, "m", old.ID, memory.Draft{Content: fmt.Sprint("new", i)})
			if err == nil {
				done.Add(1)
			} else if !errors.Is(err, memory.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, done.Load())
	require.Len(t, contents(t, h.Reader("acme"), "m"), 1)
}

func TestM8_AReplacementUnderAKeyHappensOnce(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	old := put(t, h.job("acme"), "m", "old", "customer:1")
	run := h.run("r", "acme")
	lost := errors.New("connection reset")
	store.lose = func(call string) error {
		if call == "Apply" {
			return lost
		}
		return nil
	}
	_, err := run.Replace(ctx, "m", old.ID, keyed("new", "k"))
	require.ErrorIs(t, err, lost)
	store.lose = nil
	e, err := run.Replace(ctx, "m", old.ID, keyed("new", "k"))
	require.NoError(t, err)
	again, err := run.Replace(ctx, "m", old.ID, keyed("new", "k"))
	require.NoError(t, err)
	require.Equal(t, e, again)
	require.Equal(t, []string{"customer:1"}, e.Subjects)
	require.Equal(t, []string{"new"}, contents(t, run.Memory(), "m"))
	require.Equal(t, []string{"new"}, contents(t, h.Reader("acme"), "m"))

	_, err = run.Replace(ctx, "m", old.ID, keyed("something else", "k"))
	require.ErrorIs(t, err, memory.ErrConflict)
	other := put(t, run, "m", "other")
	_, err = run.Replace(ctx, "m", other.ID, keyed("new", "k"))
	require.EqualError(t, err, "memory: conflict with another change: the entry under Draft.Key did not replace this one")
}

// A replay from what was recorded returns what the run got, and so does what it deletes.
func TestE4_AReplayOfARecordReplacesAgain(t *testing.T) {
	h := newHost(t)
	a, b := put(t, h.job("acme"), "m", "a", "customer:1"), put(t, h.job("acme"), "m", "b")
	run := h.run("r", "acme")
	var reads []memory.RecordedRead
	node := func(run *memory.Run, reader memory.Reader) (trail []any) {
		seen, err := reader.Get(ctx, "m", a.ID)
		require.NoError(t, err)
		e, err := run.Replace(ctx, "m", a.ID, memory.Draft{Content: "new"})
		require.NoError(t, err)
		deleted, err := run.Delete(ctx, "m", b.ID)
		require.NoError(t, err)
		absent, err := run.Delete(ctx, "m", "mem_absent")
		require.NoError(t, err)
		left, err := reader.List(ctx, "m", memory.ListOptions{})
		require.NoError(t, err)
		return []any{seen, e, deleted, absent, left}
	}
	first := node(run, run.RecordReads(func(r memory.RecordedRead) error {
		reads = append(reads, r)
		return nil
	}))
	require.NoError(t, run.End(ctx))
	_, err := h.Forget(ctx, "acme", "customer:1")
	require.NoError(t, err)
	replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), Reads: reads}})
	require.NoError(t, err)
	second := node(replay, replay.Memory())
	require.Equal(t, first, second)
}

// A token names what its run has replaced or deleted before, so that a replay from it does not
// take these writes for later ones.
func TestE4_AReplayBeginsBehindWhatIsGone(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	gone := put(t, run, "m", "deleted before")
	_, err := run.Delete(ctx, "m", gone.ID)
	require.NoError(t, err)
	replaced := put(t, run, "m", "replaced before")
	_, err = run.Replace(ctx, "m", replaced.ID, memory.Draft{Content: "new"})
	require.NoError(t, err)
	from, err := run.Token(ctx)
	require.NoError(t, err)
	put(t, run, "m", "after")
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), From: from, To: to}})
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, contents(t, replay.Memory(), "m"))
	put(t, replay, "m", "after")
	require.Equal(t, []string{"after", "new"}, contents(t, replay.Memory(), "m"))
}

// What a replacement takes over is not counted against a draft (M9), also not at a second try.
func TestM9_WhatAReplacementInheritsIsNotCounted(t *testing.T) {
	h := newHost(t)
	old := memory.Draft{Content: "old"}
	d := keyed("new", "k")
	for i := range 200 {
		old.Subjects = append(old.Subjects, fmt.Sprint("subject", i))
		d.Tags = append(d.Tags, fmt.Sprint("tag", i))
	}
	e, err := h.job("acme").Put(ctx, "m", old)
	require.NoError(t, err)
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	first, err := run.Replace(ctx, "m", e.ID, d)
	require.NoError(t, err)
	node := func(run *memory.Run) {
		again, err := run.Replace(ctx, "m", e.ID, d)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	node(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	replay := h.replay(from, to)
	node(replay)
	node(replay)
}

// replay starts the replay of the run r of acme.
func (h *host) replay(from, to memory.Token) *memory.Run {
	replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(),
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), From: from, To: to}})
	require.NoError(h.t, err)
	return replay
}

// It is refused too if the entry has been restored since, by forgetting what it had been merged into.
func TestM7_E4_ARefusalStandsAfterTheEntryIsRestored(t *testing.T) {
	h := newHost(t)
	old := put(t, h.job("acme"), "m", "old")
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	job := h.job("acme")
	head, err := job.Put(ctx, "m", memory.Draft{Content: "head", Subjects: []string{"ann"}})
	require.NoError(t, err)
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{ID: old.ID, State: memory.Merged, For: head.ID}}})
	require.NoError(t, err)
	node := func(run *memory.Run) {
		_, err := run.Delete(ctx, "m", old.ID)
		require.ErrorIs(t, err, memory.ErrConflict)
		_, err = run.Replace(ctx, "m", old.ID, memory.Draft{Content: "new"})
		require.ErrorIs(t, err, memory.ErrConflict)
	}
	node(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	done, err := h.Forget(ctx, "acme", "ann")
	require.NoError(t, err)
	require.Len(t, done.Restored, 1)
	node(h.replay(from, to))
}

// What was refused to a run is refused to its replay, which else would take the next recorded
// write for it.
func TestE4_AReplayIsRefusedWhatTheRunWas(t *testing.T) {
	for name, end := range map[string]func(h *host, id string){
		"replaced": func(h *host, id string) {
			_, err := h.run("faster", "acme").Replace(ctx, "m", id, memory.Draft{Content: "by another"})
			require.NoError(t, err)
		},
		"deleted": func(h *host, id string) {
			_, err := h.job("acme").Delete(ctx, "m", id)
			require.NoError(t, err)
		},
	} {
		h := newHost(t)
		old := put(t, h.job("acme"), "m", "old")
		run := h.run("r", "acme")
		from, err := run.Token(ctx)
		require.NoError(t, err)
		own := put(t, run, "m", "own")
		end(h, old.ID)
		end(h, own.ID)
		node := func(run *memory.Run) (trail []any) {
			for _, id := range []string{old.ID, own.ID} {
				_, err := run.Replace(ctx, "m", id, memory.Draft{Content: "new"})
				require.ErrorIs(t, err, memory.ErrConflict, name)
				if name == "replaced" {
					_, err = run.Delete(ctx, "m", id)
					require.ErrorIs(t, err, memory.ErrConflict, name)
				}
			}
			e := put(t, run, "m", "new")
			_, err := run.Replace(ctx, "m", old.ID, memory.Draft{Content: "new"})
			require.ErrorIs(t, err, memory.ErrConflict, name)
			return []any{e, contents(t, run.Memory(), "m")}
		}
		want := node(run)
		to, err := run.Token(ctx)
		require.NoError(t, err)
		require.NoError(t, run.End(ctx))
		replay := h.replay(from, to)
		put(t, replay, "m", "own")
		require.Equal(t, want, node(replay), name)
	}
}

// A key that did not replace the entry did not at a replay either.
func TestE4_AKeyOfAnotherWriteIsAConflictAtAReplay(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	node := func(run *memory.Run) []string {
		a, b := put(t, run, "m", "a"), put(t, run, "m", "b")
		_, err := run.Replace(ctx, "m", a.ID, keyed("new", "k"))
		require.NoError(t, err)
		_, err = run.Replace(ctx, "m", b.ID, keyed("new", "k"))
		require.ErrorIs(t, err, memory.ErrConflict)
		return contents(t, run.Memory(), "m")
	}
	want := node(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	require.Equal(t, want, node(h.replay(from, to)))
}

// A draft that was refused is refused again, also behind the last recorded write.
func TestE4_ARefusedDraftIsRefusedAtAReplay(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	node := func(run *memory.Run) {
		e := put(t, run, "m", "for ever")
		_, err := run.Replace(ctx, "m", e.ID, memory.Draft{Content: "x", TTL: time.Hour})
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = run.Put(ctx, "m", memory.Draft{Content: "\x00"})
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	node(run)
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	node(h.replay(from, to))
}
