package distill_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
)

// A summary says of what is relative to its day on which day it was written, however much later it is made.
func TestD1_ALineSaysTheDayThatItIsRelativeTo(t *testing.T) {
	h := newHost(t)
	h.put("Ann moves to Berlin tomorrow.", "Lena likes tea.")
	h.advance(24 * time.Hour)
	h.put("The dentist appointment is tomorrow at 9.", "Lena likes tea.", "Ania lubi herbatę.")
	h.advance(90 * 24 * time.Hour)
	h.put("The dentist appointment is tomorrow at 9.")
	want := []string{
		"2026-03-01: Ann moves to Berlin tomorrow.",
		"2026-03-02: Ania lubi herbatę.",
		"2026-03-02: The dentist appointment is tomorrow at 9.",
		"2026-05-31: The dentist appointment is tomorrow at 9.",
		"Lena likes tea.",
	}
	r := h.runner()
	res := h.distill(r, distill.Options{})
	require.ElementsMatch(t, want, strings.Split(res.Output.Content, "\n"))
	a, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.NoError(t, err)
	require.Equal(t, res.Output.Content, a.Text())

	compact, err := r.Compact(ctx, h.job(), ref, distill.Options{})
	require.NoError(t, err)
	require.ElementsMatch(t, want, strings.Split(compact.Output.Content, "\n"))
}

// What stands under a heading that is relative to its day says that day too, and what stands under the next does not.
func TestD1_LinesUnderAHeadingSayItsDay(t *testing.T) {
	h := newHost(t)
	h.put("2026-02-01: Today:\nBen likes tea.", "## Tomorrow\n- Call the dentist at 9.\n## The house\n- The door is green.\n**Today:**\nPay the rent.")
	require.ElementsMatch(t, []string{
		"2026-02-01: Today:", "Ben likes tea.",
		"2026-03-01: ## Tomorrow", "2026-03-01: - Call the dentist at 9.", "## The house", "- The door is green.",
		"2026-03-01: **Today:**", "2026-03-01: Pay the rent.",
	}, strings.Split(h.distill(h.runner(), distill.Options{}).Output.Content, "\n"))
}

// What a summary of summaries says keeps the day of the first one, on every line that a long one is split into.
func TestD4_ASummaryOfSummariesKeepsTheDays(t *testing.T) {
	h := newHost(t)
	long := strings.TrimSpace(strings.Repeat("Ann moves to Berlin tomorrow with her two dogs. ", 8))
	h.put("Ann pays the rent today.", long)
	h.advance(30 * 24 * time.Hour)
	r := h.runner()
	h.distill(r, distill.Options{Sources: distill.RemoveSources})
	h.advance(30 * 24 * time.Hour)
	res := h.distill(r, distill.Options{Recursive: true})
	require.Contains(t, res.Output.Content, "Ann pays the rent today.")
	lines := strings.Split(res.Output.Content, "\n")
	require.Greater(t, len(lines), 2)
	for _, line := range lines {
		require.Equal(t, 1, strings.Count(line, "2026-"), line)
		require.True(t, strings.HasPrefix(line, "2026-03-01: Ann "), line)
	}
}

// The budget counts the days, and its minimum is exact with them.
func TestD1_TheMinimumIsExactWithDays(t *testing.T) {
	texts := []string{"Ann moves to Berlin tomorrow.", "Lena likes tea.", "Ania lubi herbatę.", "The plumber comes on Friday.", "明日は歯医者です。",
		"Tom is 8.", "The shop opens at 10.\nIt is closed today."}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 59))
		h := newHost(t)
		for range 1 + rng.IntN(8) {
			h.put(texts[rng.IntN(len(texts))])
			h.advance(time.Duration(rng.IntN(50)) * time.Hour)
		}
		r := h.runner()
		_, err := r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: 1})
		var over *distill.BudgetError
		require.ErrorAs(t, err, &over, "seed %d", seed)
		_, err = r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: over.MinimumRequired - 1})
		require.ErrorAs(t, err, &over, "seed %d", seed)
		for _, budget := range []int{over.MinimumRequired, over.MinimumRequired + rng.IntN(30), 2000} {
			res := h.distill(r, distill.Options{TokenBudget: budget})
			require.LessOrEqual(t, res.TokensUsed, budget, "seed %d", seed)
		}
	}
}
