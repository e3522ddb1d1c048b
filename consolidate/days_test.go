package consolidate

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

//go:embed testdata/days.txt
var dayPairs string

// Two entries of one text and of two days become one only if the text says the same on both days, in each way to propose it:
// the rules, a planner that keeps one of them, or a planner with a merger. On one day they always may.
func TestC8_WhatIsRelativeToItsDayStaysApart(t *testing.T) {
	march, june := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), time.Date(2026, 6, 2, 9, 0, 0, 0, time.UTC)
	pairs := map[string]int{}
	for line := range strings.Lines(dayPairs) {
		if line[0] == '#' {
			continue
		}
		verdict, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		pairs[verdict]++
		for name, later := range map[string]time.Time{"merge": march.Add(14 * time.Hour), verdict: june} {
			h := newHost(t)
			h.advance(365 * 24 * time.Hour)
			a := h.put(memory.Draft{Content: text, CreatedAt: march})
			b := h.put(memory.Draft{Content: text + " ", CreatedAt: later})
			plan, err := Rules{}.Plan(ctx, []memory.Entry{a, b})
			require.NoError(t, err)
			proposed := map[string]int{"rules": retired(plan)}
			for who, p := range map[string]Plan{"planner": {{Keep: a.ID, Retire: []string{b.ID}}}, "merger": {{Retire: []string{a.ID, b.ID}}}} {
				c := proposing(t, p, says(text))
				plan, err := c.Plan(ctx, h.job(who), ref, Options{})
				require.NoError(t, err)
				proposed[who] = min(1, retired(plan))
			}
			want := 0
			if name == "merge" {
				want = 1
			}
			require.Equal(t, map[string]int{"rules": want, "planner": want, "merger": want}, proposed, "%q at %s", text, later)
		}
	}
	require.GreaterOrEqual(t, pairs["apart"], 100)
	require.GreaterOrEqual(t, pairs["merge"], 100)
}

// A merger is not asked about texts of different days, and about those of one day as before.
func TestC8_AMergerIsAskedAboutOneDayOnly(t *testing.T) {
	h := newHost(t)
	asked := 0
	c := newConsolidator(t, Config{Score: 0.1, Merger: merger{func(_ context.Context, es []memory.Entry) (string, error) {
		asked++
		for _, e := range es {
			require.Equal(t, dateOf(&es[0]), dateOf(&e))
		}
		return "", ErrDiffer
	}, "1"}})
	for range 2 {
		h.note("Ann has an appointment with the dentist tomorrow.")
		h.note("Ann has a dentist appointment tomorrow.")
		h.advance(48 * time.Hour)
	}
	h.run(c, "p1")
	require.Equal(t, 2, asked)
	h.note("Ann likes green tea.")
	h.advance(48 * time.Hour)
	h.note("Green tea is what Ann likes.")
	asked = 0
	c.cfg.Merger = merger{func(context.Context, []memory.Entry) (string, error) { asked++; return "", ErrDiffer }, "2"}
	h.run(c, "p2")
	require.Equal(t, 3, asked, "and about what says the same on every day")
}

// A refused group of several days says why.
func TestC8_DifferentDaysAreNamed(t *testing.T) {
	h := newHost(t)
	a := h.note("Lena paid the rent today.")
	h.advance(24 * time.Hour)
	b := h.note("The rent was paid today by Lena.")
	r := h.run(proposing(t, Plan{{Retire: []string{a.ID, b.ID}}}, says("Lena paid the rent today.")), "p1")
	require.Len(t, r.Refused, 1)
	require.Equal(t, "the texts speak of different days", r.Refused[0].Reason)
	require.Len(t, h.live(), 2)
}

// A newer value of a slot supersedes an older one of another day, and is not merged into it.
func TestC8_AnAgeOfAnotherDayIsANewerValue(t *testing.T) {
	h := newHost(t)
	old := h.note("Ann is 8 years old.", "slot:ann/age")
	h.advance(24 * time.Hour)
	young := h.note("Ann is 8 years old.", "slot:ann/age")
	require.Equal(t, 1, h.run(newConsolidator(t, Config{}), "p1").Superseded)
	require.Equal(t, []string{young.ID}, h.live())
	require.Equal(t, memory.Superseded, h.outcome(old.ID).State)
}

// What stays apart costs nothing again: a second pass writes nothing and calls no model.
func TestC2_TextsOfDifferentDaysAreNotLookedAtAgain(t *testing.T) {
	h := newHost(t)
	asked := 0
	c := newConsolidator(t, Config{Score: 0.1, Merger: merger{func(context.Context, []memory.Entry) (string, error) { asked++; return "", ErrDiffer }, "1"}})
	for i := range 3 {
		h.note("Lena paid the rent today.")
		h.note("Lena likes tea.")
		h.note(fmt.Sprintf("Today Lena paid the rent, %d euros.", i))
		h.advance(24 * time.Hour)
	}
	require.Equal(t, 2, h.run(c, "p1").Merged)
	live, before := h.live(), asked
	require.True(t, h.run(c, "p2").Unchanged)
	require.Equal(t, live, h.live())
	require.Equal(t, before, asked)
	require.Len(t, live, 7)
}

// A merger may not make of texts of two days one that is relative to its day, though all its words are theirs.
func TestC8_AMergedTextBringsNoDayWithIt(t *testing.T) {
	h := newHost(t)
	a := h.note("Ann sells the flat in Rome, three days of work.")
	h.advance(24 * time.Hour)
	b := h.note("Ann sells the flat, in Rome, three days of work.")
	r := h.run(proposing(t, Plan{{Retire: []string{a.ID, b.ID}}}, says("Ann sells the flat, Rome, in three days of work.")), "p1")
	require.Len(t, r.Refused, 1)
	require.Equal(t, "the texts speak of different days", r.Refused[0].Reason)
	require.Len(t, h.live(), 2)
}
