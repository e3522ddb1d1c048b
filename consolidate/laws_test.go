package consolidate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func TestC1_APassStaysInItsScope(t *testing.T) {
	h := newHost(t)
	for _, scope := range [][2]string{{"acme", ref}, {"acme", ref + "/2"}, {"globex", ref}} {
		for range 2 {
			_, err := h.jobOf(scope[0], "import").Put(ctx, scope[1], memory.Draft{Content: "Lena prefers e-mail."})
			require.NoError(t, err)
		}
	}
	c := newConsolidator(t, Config{})
	require.Equal(t, 1, h.run(c, "p1").Merged)
	for _, scope := range [][2]string{{"acme", ref + "/2"}, {"globex", ref}} {
		list, err := h.Reader(scope[0]).List(ctx, scope[1], memory.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list, 2)
	}
}

func TestC2_ASecondPassWritesNothingAndCallsNoModel(t *testing.T) {
	calls := 0
	plans := planner{func(_ context.Context, es []memory.Entry) (Plan, error) {
		// A planner that would go on for ever: it merges all entries in pairs.
		calls++
		var p Plan
		for i := 0; i+1 < len(es); i += 2 {
			p = append(p, Group{Retire: []string{es[i].ID, es[i+1].ID}, Reason: "a pair"})
		}
		return p, nil
	}, "1"}
	texts := 0
	merges := merger{func(_ context.Context, es []memory.Entry) (string, error) {
		texts++
		return "it is so, and so it is" + strings.Repeat(" so", texts), nil
	}, "1"}
	for name, cfg := range map[string]Config{"rules": {}, "model": {Planner: plans, Merger: merges}, "rules and merger": {Merger: merges, Score: 0.1}} {
		h := newHost(t)
		for i := range 9 {
			h.note(strings.Repeat("so it is ", 1+i/3))
		}
		c := newConsolidator(t, cfg)
		calls, texts = 0, 0
		first := h.run(c, "p1")
		require.Less(t, first.OutputCount, first.InputCount, name)
		live, called, wrote := h.live(), calls, texts
		for i := range 3 {
			again := h.run(c, fmt.Sprint("again", i))
			require.True(t, again.Unchanged)
			require.Equal(t, first.OutputCount, again.InputCount, name)
			require.Equal(t, first.OutputCount, again.OutputCount, name)
		}
		require.Equal(t, live, h.live(), name)
		require.Equal(t, [2]int{called, wrote}, [2]int{calls, texts}, name)
		require.Len(t, h.passes(), 4, name)
	}
}

func TestC2_WhatDecidesIsPartOfTheDigest(t *testing.T) {
	h := newHost(t)
	h.note("Lena prefers e-mail.", "fact")
	calls := 0
	of := func(planVersion, mergeVersion string) *Consolidator {
		return newConsolidator(t, Config{
			Planner: planner{func(context.Context, []memory.Entry) (Plan, error) { calls++; return Plan{}, nil }, planVersion},
			Merger:  merger{nil, mergeVersion},
		})
	}
	steps := []struct {
		c *Consolidator
		o Options
	}{
		{of("1", "1"), Options{}},
		{of("2", "1"), Options{}},
		{of("2", "2"), Options{}},
		{of("2", "2"), Options{RedactorVersion: "2"}},
		{of("2", "2"), Options{RedactorVersion: "2", Tag: "fact"}},
	}
	for i, s := range steps {
		for range 2 {
			h.run(s.c, fmt.Sprint("p", calls, i), s.o)
		}
		require.Equal(t, i+1, calls, "step %d", i)
	}
	// What lands while a pass is under way is looked at by the next.
	c := newConsolidator(t, Config{Planner: planner{func(context.Context, []memory.Entry) (Plan, error) {
		h.note("Written meanwhile.")
		calls++
		return Plan{}, nil
	}, "3"}})
	h.run(c, "q1")
	require.False(t, h.run(c, "q2").Unchanged)
}

// randomEntries makes entries of few texts, many of them restatements.
func randomEntries(r *rand.Rand, n int) []memory.Entry {
	texts := []string{"Lena prefers e-mail.", "Lena  prefers e-mail", "Lena prefers phone calls.", "The Team plan costs €49.", "The Team plan costs €59.",
		"The night shift of Kestrel starts at 22:00.", "The night\u00a0shift of Kestrel starts at 22:00. ", "It is so.", "It is so", "Ruth pays.", "Does Ruth pay?", "…", "Lena is away.", "Lena is  away.", "The fair is on 2 March.", "Lena lubi kawę."}
	subjects := [][]string{nil, {"a"}, {"b"}, {"a", "b"}}
	tags := [][]string{{}, {"fact"}, {"fact", "fact"}, {"slot:x"}, {"slot:x", "slot:y"}, {"slot:y"}}
	es := make([]memory.Entry, n)
	for i := range es {
		es[i] = memory.Entry{
			ID:       fmt.Sprintf("mem_%04d", r.IntN(100)*100+i),
			Content:  texts[r.IntN(len(texts))],
			Tags:     tags[r.IntN(len(tags))],
			Subjects: subjects[r.IntN(len(subjects))],
			// Several at the same instant, some on another day.
			CreatedAt: epoch.Add(time.Duration(r.IntN(n))*time.Second + time.Duration(r.IntN(3)/2)*24*time.Hour),
		}
		if r.IntN(4) == 0 {
			es[i].ExpiresAt = epoch.Add(time.Duration(1+r.IntN(2)) * 1000 * time.Hour)
		}
	}
	return es
}

func TestC3_ThePlanDoesNotDependOnTheOrderOfEntries(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		es := randomEntries(r, 2+r.IntN(40))
		want, err := Rules{}.Plan(ctx, es)
		require.NoError(t, err)
		for range 3 {
			r.Shuffle(len(es), func(i, k int) { es[i], es[k] = es[k], es[i] })
			got, err := Rules{}.Plan(ctx, es)
			require.NoError(t, err)
			require.Equal(t, want, got, "seed %d", seed)
		}
		// Planning what the plan leaves finds nothing more.
		gone := map[string]bool{}
		for _, g := range want {
			for _, id := range g.Retire {
				gone[id] = true
			}
		}
		left := slices.DeleteFunc(es, func(e memory.Entry) bool { return gone[e.ID] })
		again, err := Rules{}.Plan(ctx, left)
		require.NoError(t, err)
		require.Zero(t, retired(again), "seed %d: %v then %v", seed, want, again)
	}
}

func TestC4_MergedTextIsRedacted(t *testing.T) {
	const secret = "acme-live-7Qm2vT9x"
	h := newHost(t)
	a, b := h.note("The relay needs a key."), h.note("The relay needs keys.")
	c := newConsolidator(t, Config{
		Planner: planner{func(context.Context, []memory.Entry) (Plan, error) {
			return Plan{{Retire: []string{a.ID, b.ID}, Reason: "model"}}, nil
		}, ""},
		Merger: merger{func(context.Context, []memory.Entry) (string, error) {
			return "the relay needs a key or keys", nil
		}, "clean"},
	})
	leaky := newConsolidator(t, Config{Planner: c.cfg.Planner, Merger: merger{func(context.Context, []memory.Entry) (string, error) {
		return "the relay needs keys such as " + secret + " [BYOK:other]", nil
	}, "leaky"}})
	// A marker is a fact that no source has: the text is refused, and held no secret.
	r, err := leaky.Run(ctx, h.jobOf("acme", "p0", secret), ref, Options{})
	require.NoError(t, err)
	require.Len(t, r.Refused, 1)
	require.Equal(t, "the text adds identifiers", r.Refused[0].Reason)
	require.Len(t, h.live(), 2)

	// Where the sources have the marker, the value becomes the same marker.
	h = newHost(t)
	h.t = t
	job := h.jobOf("acme", "import", secret)
	a, err = job.Put(ctx, ref, memory.Draft{Content: "The relay key is " + secret + "."})
	require.NoError(t, err)
	b, err = job.Put(ctx, ref, memory.Draft{Content: "The relay key: " + secret})
	require.NoError(t, err)
	leaky = newConsolidator(t, Config{Planner: c.cfg.Planner, Merger: merger{func(context.Context, []memory.Entry) (string, error) {
		return "that is the relay key: " + secret, nil
	}, "leaky"}})
	r, err = leaky.Run(ctx, h.jobOf("acme", "p1", secret), ref, Options{})
	require.NoError(t, err)
	require.Equal(t, 1, r.Derived)
	require.Equal(t, []string{"that is the relay key: [REDACTED:key]"}, h.texts())
	require.Equal(t, memory.Merged, h.outcome(a.ID).State)
	require.Equal(t, h.outcome(a.ID).Head.ID, h.outcome(b.ID).Head.ID)
	require.Equal(t, []string{a.ID, b.ID}, h.outcome(b.ID).Head.Sources)
}

func TestC5_OnlyTheGroupThatChangedIsSkipped(t *testing.T) {
	h := newHost(t)
	var ids []string
	for i := range 6 {
		ids = append(ids, h.note(fmt.Sprintf("Fact %d.", i/2)).ID)
	}
	c := newConsolidator(t, Config{})
	done := false
	r := h.run(c, "p1", Options{Progress: func(p Progress) {
		if p.Phase == Applying && !done {
			done = true
			ok, err := h.job("other").Delete(ctx, ref, ids[3]) // of the second group
			require.NoError(t, err)
			require.True(t, ok)
			h.note("A write that lands meanwhile.")
		}
	}})
	require.Equal(t, 2, r.Merged)
	require.Equal(t, 1, r.Skipped)
	require.Equal(t, []string{"A write that lands meanwhile.", "Fact 0.", "Fact 1.", "Fact 2."}, h.texts())
	require.False(t, h.run(c, "p2").Unchanged)
}

func TestC5_CancellingFinishesTheCurrentGroup(t *testing.T) {
	for cancelAt := range 4 {
		h := newHost(t)
		for i := range 8 {
			h.note(fmt.Sprintf("Fact %d.", i/2))
		}
		c := newConsolidator(t, Config{})
		cancelled, cancel := context.WithCancel(ctx)
		n := 0
		store := &faulty{Versioned: h.store}
		h2 := newHostOn(t, store)
		store.hook = func(call string) {
			if call == "Apply" {
				if n++; n == cancelAt+1 { // the first takes the lease
					cancel()
				}
			}
		}
		r, err := c.Run(cancelled, h2.job("p1"), ref, Options{})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, cancelAt, r.Merged)
		require.Len(t, h2.live(), 8-cancelAt)
		require.Empty(t, h2.passes())
		// The lease was given up, and another pass goes on.
		store.hook = nil
		require.Equal(t, 4-cancelAt, h2.run(c, "p2").Merged)
		require.Len(t, h2.passes(), 1)
	}
}

// A job id is used again for a pass that has something to retire, also long after the lease of the
// first was swept away.
func TestE3_AJobIDMayBeUsedAgain(t *testing.T) {
	h := newHost(t)
	c := newConsolidator(t, Config{})
	for pass := range 3 {
		for range 2 {
			h.note(fmt.Sprintf("Lena prefers e-mail %d.", pass))
		}
		require.Equal(t, 1, h.run(c, "nightly").Merged)
		evs := h.passes()
		require.Len(t, evs, pass+1)
		require.Len(t, evs[pass].MergedIDs, 1)
		if pass == 1 {
			h.advance(2 * Retention)
			_, err := h.Maintain(ctx)
			require.NoError(t, err)
		}
	}
	for range 2 {
		h.note("Lena calls.")
	}
	require.Equal(t, 1, h.run(c, "nightly").Merged)
	n, err := c.Undo(ctx, h.job("undo"), ref, "nightly")
	require.NoError(t, err)
	require.Equal(t, 2, n, "of both passes whose journal is there")
}

func TestC6_OneEventPerPass(t *testing.T) {
	h := newHost(t)
	c := newConsolidator(t, Config{Trigger: events.ConsolidationScheduled})
	h.run(c, "empty", Options{Trigger: events.ConsolidationOnDemand})
	a, b := h.note("Lena prefers e-mail."), h.note("Lena  prefers e-mail")
	h.note("The key hangs by the door.", "slot:key")
	h.note("The key lies in the drawer.", "slot:key")
	h.run(c, "p1")
	h.run(c, "p2")
	h.run(c, "p2") // the same pass again: its event is known
	evs := h.passes()
	require.Len(t, evs, 3)
	require.Equal(t, events.MemoryConsolidated{MemoryRef: ref, Trigger: events.ConsolidationOnDemand}, evs[0])
	require.Len(t, evs[1].MergedIDs, 2)
	require.Contains(t, evs[1].MergedIDs, b.ID)
	require.NotContains(t, evs[1].MergedIDs, a.ID)
	require.Equal(t, [2]int64{4, 2}, [2]int64{evs[1].InputCount, evs[1].OutputCount})
	require.Equal(t, events.MemoryConsolidated{MemoryRef: ref, InputCount: 2, OutputCount: 2, Trigger: events.ConsolidationScheduled}, evs[2])
}

func TestC6_MergedIDsAreLeftOutAboveTheBound(t *testing.T) {
	for _, n := range []int{MaxMergedIDs, MaxMergedIDs + 1} {
		h := newHost(t)
		for range n + 1 {
			h.note("The same again.")
		}
		r := h.run(newConsolidator(t, Config{}), "p1")
		require.Equal(t, n, r.Merged)
		want := n
		if n > MaxMergedIDs {
			want = 0
		}
		require.Len(t, h.passes()[0].MergedIDs, want)
	}
}

func TestE5_DerivedEntriesAreAnnouncedWithoutANode(t *testing.T) {
	h := newHost(t)
	h.note("Lena must sign the form.")
	h.note("Lena has to sign the form.")
	c := newConsolidator(t, Config{Score: 0.3, Merger: merger{func(context.Context, []memory.Entry) (string, error) { return "Lena must sign that form.", nil }, ""}})
	require.Equal(t, 1, h.run(c, "p1").Derived)
	require.Equal(t, []string{"Lena must sign that form."}, h.texts())
	h.passes()
	var kinds []events.Type
	for _, ev := range h.log.All() {
		if ev.RunID == "p1" {
			kinds = append(kinds, ev.Payload.EventType())
			require.Empty(t, ev.NodeID)
		}
	}
	require.Equal(t, []events.Type{events.TypeMemoryWritten, events.TypeMemoryConsolidated}, kinds)
}

func TestC7_ARunsViewDoesNotMove(t *testing.T) {
	h := newHost(t)
	h.note("Lena prefers e-mail.")
	h.note("Lena  prefers e-mail")
	run, err := h.Start(ctx, memory.RunConfig{ID: "run", Tenant: "acme", Redactor: open{}})
	require.NoError(t, err)
	require.Equal(t, 1, h.run(newConsolidator(t, Config{}), "p1").Merged)
	seen, err := run.Memory().List(ctx, ref, memory.ListOptions{})
	require.NoError(t, err)
	require.Len(t, seen, 2)
}

type open struct{}

func (open) Redact(s string) (string, error)        { return s, nil }
func (open) RedactDerived(s string) (string, error) { return s, nil }

func TestC8_SlotsNewestWins(t *testing.T) {
	h := newHost(t)
	old := h.note("Hofer Druck is on the Starter plan.", "slot:plan")
	both := h.note("Hofer Druck is on the Team plan with 5 seats.", "slot:plan", "slot:seats")
	newest := h.note("Hofer Druck is on the Starter plan.", "slot:plan")
	other := h.note("Hofer Druck is on the Starter plan.")
	again := h.note("Hofer Druck is on  the Starter plan", "slot:plan")
	r := h.run(newConsolidator(t, Config{}), "p1")
	require.Equal(t, 2, r.Merged)
	require.Equal(t, 0, r.Superseded)
	require.ElementsMatch(t, []string{both.ID, other.ID, again.ID}, h.live(), "seats have no newer value, and the slotless note is its own")
	require.Equal(t, memory.Merged, h.outcome(newest.ID).State)
	require.Equal(t, memory.Merged, h.outcome(old.ID).State)
	later := h.note("Hofer Druck has 7 seats.", "slot:seats")
	require.Equal(t, 1, h.run(newConsolidator(t, Config{}), "p2").Superseded)
	require.Equal(t, memory.Superseded, h.outcome(both.ID).State)
	require.Equal(t, later.ID, h.outcome(both.ID).Head.ID)
}

func TestC9_OfDifferentTagsOrSubjects(t *testing.T) {
	h := newHost(t)
	for _, d := range []memory.Draft{
		{Content: "Prefers e-mail.", Subjects: []string{"customer:a", "org"}}, // of whom?
		{Content: "Prefers e-mail.", Subjects: []string{"customer:b", "org"}},
		{Content: "Lena prefers e-mail.", Subjects: []string{"lena:a"}}, // which Lena?
		{Content: "Lena prefers e-mail.", Subjects: []string{"lena:b"}},
		{Content: "It was Brightwater who called.", Subjects: []string{"org", "customer:a"}},
		{Content: "It was Brightwater who called.", Subjects: []string{"org", "customer:b"}},
		{Content: "Tagged.", Tags: []string{"a"}},
		{Content: "Tagged.", Tags: []string{"b"}},
		{Content: "Tagged.", Tags: []string{"source:mail", "b"}},
	} {
		h.put(d)
	}
	p, err := newConsolidator(t, Config{}).Plan(ctx, h.job("p"), ref, Options{})
	require.NoError(t, err)
	require.Zero(t, retired(p), p)
}

func TestC9_DifferentExpiriesMergeOnlyIfEqual(t *testing.T) {
	h := newHost(t)
	day := func(n int) time.Time { return epoch.Add(time.Duration(n) * 24 * time.Hour) }
	h.put(memory.Draft{Content: "The gate is open.", ExpiresAt: day(10)})
	keep := h.put(memory.Draft{Content: "The gate is open", ExpiresAt: day(20)})
	h.put(memory.Draft{Content: "The gate\u00a0is open.", ExpiresAt: day(15)})
	for i, text := range []string{"On Mondays, the ferry to Oban is late.", "The ferry to Oban is late on Mondays."} {
		h.put(memory.Draft{Content: text, ExpiresAt: day(10 + i)})
	}
	r := h.run(newConsolidator(t, Config{}), "p1")
	require.Equal(t, 2, r.Merged)
	require.Empty(t, r.Refused, "the rules do not even propose it")
	require.Contains(t, h.live(), keep.ID)
	require.Len(t, h.live(), 3)
}

func TestC10_OutputsOfCompactionStay(t *testing.T) {
	h := newHost(t)
	var ids []string
	for range 3 {
		source := h.note("The same.")
		made, err := h.job("run-1").Rewrite(ctx, ref, memory.Rewrite{Derive: []memory.Derived{{
			Draft: memory.Draft{Content: "The same."}, Sources: []string{source.ID}, Compacted: true,
		}}})
		require.NoError(t, err)
		ids = append(ids, made.Entries[0].ID)
	}
	slices.Sort(ids)
	c := newConsolidator(t, Config{Planner: planner{func(_ context.Context, es []memory.Entry) (Plan, error) {
		require.Len(t, es, 3)
		return Plan{{Keep: es[0].ID, Retire: ids}}, nil
	}, ""}})
	r := h.run(c, "p1")
	require.Len(t, r.Refused, 1)
	require.Equal(t, [2]int{6, 6}, [2]int{r.InputCount, r.OutputCount})
	r = h.run(newConsolidator(t, Config{}), "p2")
	require.Equal(t, 2, r.Merged)
	require.Subset(t, h.live(), ids)
}

func TestC10_ProgressIsReported(t *testing.T) {
	h := newHost(t)
	for i := range 10 {
		h.note(fmt.Sprintf("Fact %d.", i/2))
	}
	var phases []Phase
	var last Progress
	h.run(newConsolidator(t, Config{}), "p1", Options{Progress: func(p Progress) {
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
		last = p
	}})
	require.Equal(t, []Phase{Reading, Planning, Applying}, phases)
	require.Equal(t, [2]int{5, 5}, [2]int{last.Done, last.Total})
}
