package consolidate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// scene is a corpus with something for every kind of group.
func scene(h *host) (ids []string) {
	for _, d := range []memory.Draft{
		{Content: "Lena prefers e-mail."}, {Content: "Lena prefers e-mail"}, {Content: "Lena prefers  e-mail."},
		{Content: "Orders must be signed by Tomas."}, {Content: "Orders have to be signed by Tomas."},
		{Content: "The plan is Starter.", Tags: []string{"slot:plan"}}, {Content: "The plan is Team.", Tags: []string{"slot:plan"}},
		{Content: "Brightwater pays within 30 days."}, {Content: "Brightwater pays within 60 days."},
	} {
		ids = append(ids, h.put(d).ID)
	}
	return ids
}

func sceneConsolidator(t testing.TB) *Consolidator {
	return newConsolidator(t, Config{Score: 0.3, Merger: merger{func(_ context.Context, es []memory.Entry) (string, error) {
		return "The orders must be signed by Tomas.", nil
	}, "1"}})
}

// outcomes tells what became of each entry, by the text of its head.
func (h *host) outcomes(ids []string) (out []string) {
	for _, id := range ids {
		f := h.outcome(id)
		out = append(out, f.State.String()+": "+f.Head.Content)
	}
	return out
}

func TestE3_CrashAtEveryStoreCall(t *testing.T) {
	clean := newHost(t)
	ids := scene(clean)
	clean.run(sceneConsolidator(t), "p1")
	want, wantTexts := clean.outcomes(ids), clean.texts()
	require.Len(t, wantTexts, 5)

	for _, after := range []bool{false, true} {
		for _, retry := range []string{"p1", "p2"} { // the same pass again, or another
			for at := 1; ; at++ {
				name := fmt.Sprintf("call %d, after %t, retry as %s", at, after, retry)
				store := &faulty{Versioned: inmem.New(), after: after}
				h := newHostOn(t, store)
				ids := scene(h)
				store.calls, store.failAt = 0, at
				c := sceneConsolidator(t)
				_, err := c.Run(ctx, h.job("p1"), ref, Options{})
				crashed := store.calls >= at
				store.failAt = 0
				if !crashed {
					require.NoError(t, err)
					require.Greater(t, at, 10)
					break
				}
				// Nothing is lost by any of it.
				for _, id := range ids {
					require.NotEqual(t, memory.Deleted, h.outcome(id).State, name)
				}
				if err == nil { // it could do without that call
					continue
				}
				require.ErrorIs(t, err, errDisk, name)
				// The lease of the dead process holds others off until it ends.
				if retry != "p1" {
					h.advance(2 * time.Hour)
				}
				h.run(c, retry)
				require.Equal(t, want, h.outcomes(ids), name)
				require.Equal(t, wantTexts, h.texts(), name)
				evs := h.passes()
				completed := 1
				if retry != "p1" && len(evs) == 2 {
					completed = 2 // the first had committed its event when the answer was lost
					require.True(t, after, name)
				}
				require.Len(t, evs, completed, name)
				if retry == "p1" {
					require.Equal(t, [2]int64{9, 5}, [2]int64{evs[0].InputCount, evs[0].OutputCount}, name)
					require.Len(t, evs[0].MergedIDs, 5, name)
				}
				require.True(t, h.run(c, "p9").Unchanged, name)
			}
		}
	}
}

// The second pass of a job id, which leaves the corpus as the first one did, dies at any call to the
// store and is tried again: what it retired is announced, once.
func TestE3_CrashOfAPassWhoseJobIDCameAgain(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			store := &faulty{Versioned: inmem.New(), after: after}
			h := newHostOn(t, store)
			c := newConsolidator(t, Config{})
			h.note("Lena prefers e-mail.")
			h.run(c, "nightly")
			h.note("Lena prefers e-mail.")
			store.calls, store.failAt = 0, at
			_, err := c.Run(ctx, h.job("nightly"), ref, Options{})
			crashed := store.calls >= at
			store.failAt = 0
			if err != nil {
				h.run(c, "nightly")
			}
			evs := h.passes()
			require.Len(t, evs, 2, "call %d, after %t", at, after)
			require.Len(t, evs[1].MergedIDs, 1, "call %d, after %t", at, after)
			if !crashed {
				break
			}
		}
	}
}

// A pass that finds nothing to do dies at any call to the store, and the same again announces it, once.
func TestC6_CrashOfAnUnchangedPass(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			store := &faulty{Versioned: inmem.New(), after: after}
			h := newHostOn(t, store)
			c := newConsolidator(t, Config{})
			h.note("Lena prefers e-mail.")
			h.run(c, "p0")
			store.calls, store.failAt = 0, at
			_, err := c.Run(ctx, h.job("p1"), ref, Options{})
			crashed := store.calls >= at
			store.failAt = 0
			if err != nil {
				h.run(c, "p1")
			}
			require.Len(t, h.passes(), 2, "call %d, after %t", at, after)
			if !crashed {
				break
			}
		}
	}
}

func TestC5_WritesRacingPassesSurvive(t *testing.T) {
	h := newHost(t)
	c := newConsolidator(t, Config{})
	const writers, writes, passes = 4, 250, 50
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			job := h.job(fmt.Sprint("writer", w))
			for i := range writes {
				h.advance(time.Millisecond)
				tags := []string{}
				if i%5 == 0 {
					tags = append(tags, fmt.Sprint("slot:", i%10))
				}
				e, err := job.Put(ctx, ref, memory.Draft{Content: fmt.Sprintf("Writer fact number %d.", (i*7+w)%40), Tags: tags})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids = append(ids, e.ID)
				mu.Unlock()
			}
		})
	}
	ran := 0
	for i := range passes {
		if _, err := c.Run(ctx, h.job(fmt.Sprint("p", i)), ref, Options{}); err != nil {
			t.Error(err)
		} else {
			ran++
		}
	}
	wg.Wait()
	h.run(c, "last")
	require.Len(t, ids, writers*writes)
	live := h.live()
	for _, id := range ids {
		f := h.outcome(id)
		require.NotEqual(t, memory.Deleted, f.State)
		require.Contains(t, live, f.Head.ID)
	}
	require.Len(t, h.passes(), ran+1)
	require.Less(t, len(live), 100)
}

func TestTwoProcessesDoNotWorkOnOneScope(t *testing.T) {
	h := newHost(t)
	h.note("Lena prefers e-mail.")
	h.note("Lena prefers e-mail")
	other := newConsolidator(t, Config{})
	took := false
	c := newConsolidator(t, Config{Planner: planner{func(ctx context.Context, es []memory.Entry) (Plan, error) {
		_, err := other.Run(ctx, h.job("p2"), ref, Options{})
		require.ErrorIs(t, err, memory.ErrConflict)
		require.Equal(t, "consolidate: another pass holds the lease on the ref: try again once it has ended, or its lease has", err.Error())
		_, err = other.Undo(ctx, h.job("p2"), ref, "p0")
		require.ErrorIs(t, err, memory.ErrConflict)
		_, err = other.Run(ctx, h.job("p2"), ref+"/2", Options{})
		require.NoError(t, err, "another scope is free")
		if took {
			h.advance(2 * time.Hour) // this pass hangs; its lease ends, and the other goes on
			_, err = other.Run(ctx, h.job("p3"), ref, Options{})
			require.NoError(t, err)
		}
		return Rules{}.Plan(ctx, es)
	}, "1"}})
	took = true
	_, err := c.Run(ctx, h.job("p1"), ref, Options{})
	require.ErrorIs(t, err, memory.ErrConflict)
	require.Equal(t, "consolidate: the lease on the scope was lost", err.Error())
	require.Len(t, h.live(), 1)
	took = false
	h.note("Lena\u00a0prefers e-mail")
	require.Equal(t, 1, h.run(c, "p4").Merged)
}

// Two processes that run a pass of one id at one instant: the second takes the lease
// over, and the first cannot commit any more.
func TestALeaseIsFenced(t *testing.T) {
	h := newHost(t)
	h.note("Lena prefers e-mail.")
	h.note("Lena prefers e-mail")
	c := newConsolidator(t, Config{Planner: planner{func(ctx context.Context, es []memory.Entry) (Plan, error) {
		dies, err := newConsolidator(t, Config{}).newPass(h.job("p1"), ref, Options{})
		require.NoError(t, err)
		_, err = dies.readLease(ctx)
		require.NoError(t, err)
		require.NoError(t, dies.hold(ctx)) // and nothing more: the process dies
		return Rules{}.Plan(ctx, es)
	}, "1"}})
	_, err := c.Run(ctx, h.job("p1"), ref, Options{})
	require.ErrorIs(t, err, memory.ErrConflict)
	require.Len(t, h.live(), 2)
	require.Equal(t, 1, h.run(newConsolidator(t, Config{}), "p1").Merged)
}

func TestM10_UndoBringsTheSourcesBack(t *testing.T) {
	h := newHost(t)
	ids := scene(h)
	c := sceneConsolidator(t)
	before := h.live()
	h.run(c, "p1")
	n, err := c.Undo(ctx, h.job("u1"), ref, "p1")
	require.NoError(t, err)
	require.Equal(t, 5, n) // two of Lena, two of Tomas, one plan
	require.Equal(t, before, h.live())
	// For the same reason nothing is merged again; what is new may be.
	r := h.run(c, "p2")
	require.Equal(t, [2]int{9, 9}, [2]int{r.InputCount, r.OutputCount})
	require.Equal(t, before, h.live())
	h.note("Lena prefers   e-mail")
	require.Equal(t, 1, h.run(c, "p3").Merged)
	n, err = c.Undo(ctx, h.job("u2"), ref, "p1")
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = c.Undo(ctx, h.job("u2"), ref, "nothing")
	require.NoError(t, err)
	require.Zero(t, n)
	require.Subset(t, h.live(), ids)
}

func TestM10_UndoKeepsToWhatWasDeletedErasedOrExpired(t *testing.T) {
	h := newHost(t)
	later := epoch.Add(time.Hour)
	pair := func(text string, expires time.Time, subjects ...string) (keep, gone memory.Entry) {
		keep = h.put(memory.Draft{Content: text, ExpiresAt: expires, Subjects: subjects})
		gone = h.put(memory.Draft{Content: text, ExpiresAt: expires, Subjects: subjects[:min(1, len(subjects))]})
		return keep, gone
	}
	deletedKeep, deleted := pair("Lena one.", time.Time{})
	_, expired := pair("Lena two.", later)
	_, erased := pair("Lena three.", time.Time{}, "lena")
	chainKeep, chained := pair("Lena must sign it four times.", time.Time{})
	c := newConsolidator(t, Config{})
	require.Equal(t, 4, h.run(c, "p1").Merged)
	ok, err := h.job("d").Delete(ctx, ref, deletedKeep.ID)
	require.NoError(t, err)
	require.True(t, ok)
	h.advance(2 * time.Hour)
	_, err = h.Forget(ctx, "acme", "lena")
	require.NoError(t, err)
	older, err := h.job("import").Put(ctx, ref, memory.Draft{Content: "Lena must  sign it four times.", CreatedAt: epoch})
	require.NoError(t, err)
	require.Equal(t, 1, h.run(c, "p2").Merged)
	require.Equal(t, older.ID, h.outcome(chained.ID).Head.ID)
	require.Equal(t, older.ID, h.outcome(chainKeep.ID).Head.ID)
	n, err := c.Undo(ctx, h.job("u"), ref, "p1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ElementsMatch(t, []string{chained.ID, older.ID}, h.live())
	for _, e := range []memory.Entry{deleted, expired} {
		require.Equal(t, memory.Deleted, h.outcome(e.ID).State)
	}
	require.NotContains(t, h.live(), erased.ID)
}

func TestM10_ForgettingASubjectErasesWhatWasMergedAndNobodyElses(t *testing.T) {
	h := newHost(t)
	for range 2 {
		h.put(memory.Draft{Content: "The address changed in May.", Subjects: []string{"customer:ruth", "org"}})
	}
	other := h.put(memory.Draft{Content: "The address changed in May.", Subjects: []string{"customer:daniel", "org"}})
	require.Equal(t, 1, h.run(newConsolidator(t, Config{}), "p1").Merged)
	_, err := h.Forget(ctx, "acme", "customer:ruth")
	require.NoError(t, err)
	require.Equal(t, []string{other.ID}, h.live())
}

func TestM10_UndoSurvivesACrashAtEveryStoreCall(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			store := &faulty{Versioned: inmem.New(), after: after}
			h := newHostOn(t, store)
			scene(h)
			c := sceneConsolidator(t)
			before := h.live()
			h.run(c, "p1")
			store.calls, store.failAt = 0, at
			_, err := c.Undo(ctx, h.job("u1"), ref, "p1")
			crashed := store.calls >= at
			store.failAt = 0
			if err != nil {
				_, err = c.Undo(ctx, h.job("u1"), ref, "p1")
			}
			require.NoError(t, err)
			require.Equal(t, before, h.live())
			h.advance(2 * time.Hour)
			h.run(c, "p2")
			require.Equal(t, before, h.live())
			if !crashed {
				break
			}
		}
	}
}

func TestM10_UndoBringsManyGroupsBack(t *testing.T) {
	h := newHost(t)
	for i := range 400 {
		h.note(fmt.Sprintf("Fact %d.", i/2))
	}
	for range 150 {
		h.note("Always the same.")
	}
	before := h.live()
	c := newConsolidator(t, Config{})
	r := h.run(c, "p1")
	require.Equal(t, 349, r.Merged)
	n, err := c.Undo(ctx, h.job("u"), ref, "p1")
	require.NoError(t, err)
	require.Equal(t, 349, n)
	require.True(t, slices.Equal(before, h.live()))
	require.Zero(t, h.run(c, "p2").Merged)
}
