package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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
	first := work(t, run, run.RecordReads(func(r memory.RecordedRead) error {
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
			Replay: &memory.Replay{Events: recorded, Reads: kept}})
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

// A replay from two tokens shows at every step what the run saw there, or refuses: never
// anything else.
func TestM7_E4_AReplayFromTokensShowsWhatTheRunSaw(t *testing.T) {
	same, refused, conflicts := 0, 0, 0
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		h := newHost(t)
		job := h.job("acme")
		draft := func(kind string) memory.Draft {
			d := memory.Draft{Content: fmt.Sprint(kind, rng.IntN(1000)), Subjects: []string{fmt.Sprint("s", rng.IntN(12))}, Tags: []string{kind}}
			if rng.IntN(6) == 0 {
				d.ExpiresAt = h.Now().Add(time.Duration(1+rng.IntN(60)) * time.Second)
			}
			return d
		}
		for range 6 {
			_, err := job.Put(ctx, viewRefs[rng.IntN(2)], draft("old"))
			require.NoError(t, err)
		}
		run := h.run("r", "acme")
		from, err := run.Token(ctx)
		require.NoError(t, err)
		type act struct {
			kind, ref, id string
			draft         memory.Draft
			others        []memory.Draft
			seen          []memory.Entry
			err           error // a conflict
			child         memory.Token
		}
		var acts []act
		for range 12 {
			h.clock.Advance(time.Duration(rng.IntN(5000)) * time.Millisecond)
			a := act{ref: viewRefs[rng.IntN(2)]}
			switch rng.IntN(10) {
			case 9:
				a.kind = "all"
				seen, err := run.Memory().List(ctx, a.ref, memory.ListOptions{})
				require.NoError(t, err)
				if len(seen) < 2 {
					continue
				}
				one := rng.IntN(len(seen) - 1)
				a.draft, a.others = draft("first"), []memory.Draft{draft("second")}
				a.draft.Replaces, a.others[0].Replaces = []string{seen[one].ID}, []string{seen[one+1].ID}
				a.draft.ExpiresAt, a.others[0].ExpiresAt = time.Time{}, time.Time{}
				a.draft.Name = fmt.Sprint("name", rng.IntN(3))
				a.seen, a.err = run.PutAll(ctx, a.ref, a.draft, a.others[0])
			case 0, 1:
				a.kind, a.draft = "put", draft("own")
				if rng.IntN(3) == 0 {
					a.draft.Name = fmt.Sprint("name", rng.IntN(3))
				}
				e, err := run.Put(ctx, a.ref, a.draft)
				a.seen, a.err = []memory.Entry{e}, err
			case 2:
				a.kind = "delete"
				seen, err := run.Memory().List(ctx, a.ref, memory.ListOptions{})
				require.NoError(t, err)
				if len(seen) == 0 {
					continue
				}
				a.id = seen[rng.IntN(len(seen))].ID
				_, a.err = run.Delete(ctx, a.ref, a.id)
			case 8:
				a.kind = "replace"
				seen, err := run.Memory().List(ctx, a.ref, memory.ListOptions{})
				require.NoError(t, err)
				if len(seen) == 0 {
					continue
				}
				a.id, a.draft = seen[rng.IntN(len(seen))].ID, memory.Draft{Content: fmt.Sprint("new", rng.IntN(1000)), Tags: [][]string{nil, {}, {"own"}}[len(acts)%3]}
				e, err := run.Replace(ctx, a.ref, a.id, a.draft)
				a.seen, a.err = []memory.Entry{e}, err
			case 3:
				a.kind = "child"
				child, err := run.Child(fmt.Sprint("c", len(acts)))
				require.NoError(t, err)
				_, err = child.Put(ctx, a.ref, draft("of the child"))
				require.NoError(t, err)
				a.child, err = child.Token(ctx)
				require.NoError(t, err)
				require.NoError(t, child.End(ctx))
			case 4: // another writer
				d := draft("later")
				if rng.IntN(3) == 0 {
					d.Name = fmt.Sprint("name", rng.IntN(3))
				}
				e, err := job.Put(ctx, a.ref, d)
				if errors.Is(err, memory.ErrConflict) {
					continue
				}
				require.NoError(t, err)
				seen, err := run.Memory().List(ctx, a.ref, memory.ListOptions{})
				require.NoError(t, err)
				if len(seen) > 0 && rng.IntN(2) == 0 {
					_, err = job.Rewrite(ctx, a.ref, memory.Rewrite{Retire: []memory.Retire{{ID: seen[rng.IntN(len(seen))].ID, State: memory.Merged, For: e.ID}}})
					require.True(t, err == nil || errors.Is(err, memory.ErrConflict), err)
				}
				continue
			default:
				a.kind = "list"
				a.seen, err = run.Memory().List(ctx, a.ref, memory.ListOptions{Limit: 1 + rng.IntN(9)})
				require.NoError(t, err)
				a.draft.Content = fmt.Sprint(len(a.seen))
			}
			if a.err != nil {
				require.ErrorIs(t, a.err, memory.ErrConflict)
				conflicts++
			}
			acts = append(acts, a)
		}
		to, err := run.Token(ctx)
		require.NoError(t, err)
		require.NoError(t, run.End(ctx))
		h.clock.Advance(time.Hour)
		if rng.IntN(3) == 0 {
			_, err := h.Forget(ctx, "acme", fmt.Sprint("s", rng.IntN(12)))
			require.NoError(t, err)
		}
		replay, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(),
			Replay: &memory.Replay{Events: h.log.Events("acme", "r"), From: from, To: to}})
		require.NoError(t, err)
		for i, a := range acts {
			var got []memory.Entry
			var err error
			switch a.kind {
			case "put":
				var e memory.Entry
				e, err = replay.Put(ctx, a.ref, a.draft)
				got = []memory.Entry{e}
			case "all":
				got, err = replay.PutAll(ctx, a.ref, a.draft, a.others[0])
			case "replace":
				var e memory.Entry
				e, err = replay.Replace(ctx, a.ref, a.id, a.draft)
				got = []memory.Entry{e}
			case "delete":
				_, err = replay.Delete(ctx, a.ref, a.id)
			case "child":
				err = replay.Join(ctx, a.child)
			case "list":
				var all []memory.Entry
				if all, err = replay.Memory().List(ctx, a.ref, memory.ListOptions{}); err == nil {
					got = all[:min(len(all), len(a.seen))]
				}
			}
			if errors.Is(err, memory.ErrSnapshotUnavailable) {
				refused++
				break
			}
			if a.err != nil {
				require.ErrorIs(t, err, memory.ErrConflict, "seed %d, step %d %s", seed, i, a.kind)
				continue
			}
			require.NoError(t, err, "seed %d, step %d %s", seed, i, a.kind)
			if a.kind == "list" || a.kind == "put" || a.kind == "replace" || a.kind == "all" {
				require.Equal(t, a.seen, got, "seed %d, step %d %s", seed, i, a.kind)
				same++
			}
		}
	}
	require.Greater(t, same, 300, "most of them can be replayed")
	require.Greater(t, refused, 20, "and some cannot")
	require.Greater(t, conflicts, 20)
}

func TestE4_AReplayFromTokensIsExact(t *testing.T) {
	h := newHost(t)
	kept := put(t, h.job("acme"), "m", "old")
	run := h.run("r1", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	own := put(t, run, "m", "own")
	to, err := run.Token(ctx)
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	put(t, h.job("acme"), "m", "later")
	start := func(r memory.Replay) (*memory.Run, error) {
		r.Events = h.log.Events("acme", "r1")
		return h.Start(ctx, memory.RunConfig{ID: "f", Tenant: "acme", Redactor: newVault(), Replay: &r})
	}
	replay, err := start(memory.Replay{From: from, To: to})
	require.NoError(t, err)
	require.Equal(t, []string{"old"}, contents(t, replay.Memory(), "m"), "what is put later is not there yet")
	_, err = replay.Put(ctx, "m", memory.Draft{Content: "another"})
	require.ErrorIs(t, err, memory.ErrDiverged)
	require.Equal(t, own, put(t, replay, "m", "own"))
	require.Equal(t, []string{"own", "old"}, contents(t, replay.Memory(), "m"))
	deleted, err := replay.Delete(ctx, "m", own.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	require.Equal(t, []string{"old"}, contents(t, replay.Memory(), "m"))
	deleted, err = replay.Delete(ctx, "m", "mem_absent")
	require.NoError(t, err)
	require.False(t, deleted)
	for _, id := range []string{kept.ID, own.ID} {
		_, err = h.Reader("acme").Get(ctx, "m", id)
		require.NoError(t, err, "a replay deletes nothing")
	}
	for name, call := range map[string]func() error{
		"token": func() error { _, err := replay.Token(ctx); return err },
		"child": func() error { _, err := replay.Child("c"); return err },
	} {
		require.ErrorIs(t, call(), memory.ErrNotProvided, name)
	}
	require.NoError(t, replay.End(ctx))

	// From where the run had written already: what it wrote is there and is not put again.
	replay, err = start(memory.Replay{From: to, To: to})
	require.NoError(t, err)
	require.Equal(t, []string{"own", "old"}, contents(t, replay.Memory(), "m"))
	_, err = replay.Put(ctx, "m", memory.Draft{Content: "own"})
	require.ErrorIs(t, err, memory.ErrDiverged)

	other, err := h.run("r2", "acme").Token(ctx)
	require.NoError(t, err)
	for name, r := range map[string]memory.Replay{
		"no end": {From: from}, "no begin": {To: to}, "turned round": {From: to, To: from},
		"of two runs": {From: from, To: other}, "both ways": {From: from, To: to, Reads: []memory.RecordedRead{}}, "nothing": {},
	} {
		h.clock.Advance(time.Second)
		_, err := start(r)
		if name == "turned round" {
			continue // both were taken in one millisecond
		}
		require.ErrorIs(t, err, memory.ErrValidation, name)
	}
}

func TestReplayIsRefusedWithoutWhatItNeeds(t *testing.T) {
	h := newHost(t)
	_, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Replay: &memory.Replay{}})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Replay: &memory.Replay{From: "x", To: "x"}})
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	_, err = h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault(), Resume: "x",
		Replay: &memory.Replay{Reads: []memory.RecordedRead{}}})
	require.ErrorIs(t, err, memory.ErrValidation)
}

func TestRecordFailsWithItsKeeper(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	e := put(t, run, "m", "x")
	full := errors.New("log full")
	r := run.RecordReads(func(memory.RecordedRead) error { return full })
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
		Replay: &memory.Replay{Events: h.log.Events("acme", "r"), Reads: []memory.RecordedRead{}}})
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
	token, err := child.Token(ctx)
	require.NoError(t, err)
	put(t, h.job("acme"), "m", "newer")
	parent := h.run("p", "acme")
	require.NoError(t, parent.Join(ctx, token))
	require.Equal(t, []string{"newer", "of the child"}, contents(t, parent.Memory(), "m"))
	entries, err := parent.Memory().List(ctx, "m", memory.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// What ends a list within a budget is not in it, and must not have expired either.
func TestE4_AReplayRefusesABudgetThatExpiryMoved(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.TokenCounter = chars{} })
	job := h.job("acme")
	put(t, job, "m", "third")
	h.clock.Advance(time.Second)
	_, err := job.Put(ctx, "m", memory.Draft{Content: "second and long", ExpiresAt: h.clock.Now().Add(time.Minute)})
	require.NoError(t, err)
	h.clock.Advance(time.Second)
	put(t, job, "m", "first")
	run := h.run("r", "acme")
	from, err := run.Token(ctx)
	require.NoError(t, err)
	replay := func(o memory.ListOptions) (recorded, replayed []memory.Entry, err error) {
		recorded, err = run.Memory().List(ctx, "m", o)
		require.NoError(t, err)
		to, err := run.Token(ctx)
		require.NoError(t, err)
		again, err := h.Start(ctx, memory.RunConfig{ID: "again", Tenant: "acme", Redactor: newVault(), Replay: &memory.Replay{From: from, To: to}})
		require.NoError(t, err)
		replayed, err = again.Memory().List(ctx, "m", o)
		return recorded, replayed, err
	}
	budget := memory.ListOptions{TokenBudget: 16}
	recorded, replayed, err := replay(budget)
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	require.Equal(t, recorded, replayed)
	h.clock.Advance(time.Hour)
	_, _, err = replay(budget)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	for _, o := range []memory.ListOptions{{TokenBudget: 14}, {TokenBudget: 16, Limit: 1}} { // it has no say
		recorded, replayed, err = replay(o)
		require.NoError(t, err)
		require.Equal(t, recorded, replayed)
	}
}
