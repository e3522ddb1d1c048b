package distill_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// What is chosen fits, with a summary of it; what is left out is named, keeps its life, and is
// in nothing that the pass writes. A pass over the same memory chooses the same.
func TestD1_FitChoosesTheSourcesToo(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 17))
		h := newHost(t)
		in := h.put(notes(1 + rng.IntN(60))...)
		r := h.runner()
		budget := 60 + rng.IntN(1500)
		o := distill.Options{TokenBudget: budget, Fit: true, Sources: distill.RemoveSources}
		res := h.distill(r, o)
		require.LessOrEqual(t, res.TokensUsed, budget, "seed %d", seed)
		a, err := r.Open(ctx, h.job(), ref, res.Output.ID)
		require.NoError(t, err)
		var read, live []string
		for _, s := range a.Sources {
			read = append(read, s.ID)
		}
		for _, e := range h.live() {
			if !e.Compacted() {
				live = append(live, e.ID)
			}
		}
		require.Equal(t, len(in), res.Sources+len(res.LeftOut))
		require.Equal(t, live, res.LeftOut, "seed %d: those that were left out stay, newest first", seed)
		for _, e := range in {
			require.NotEqual(t, slices.Contains(read, e.ID), slices.Contains(res.LeftOut, e.ID))
		}
		if len(res.LeftOut) > 0 && res.Sources > 1 {
			require.LessOrEqual(t, a.Tokens.Input, budget-budget/4)
		}
	}

	h := newHost(t)
	h.put(notes(40)...)
	r := h.runner()
	o := distill.Options{TokenBudget: 500, Fit: true}
	first := h.distill(r, o)
	require.NotEmpty(t, first.LeftOut)
	again := h.distill(r, o)
	require.True(t, again.Existing)
	require.Equal(t, first.Archive, again.Archive)
	require.Equal(t, first.LeftOut, again.LeftOut)
	o.Fit = false
	_, err := r.Distill(ctx, h.job(), ref, o)
	var over *distill.BudgetError
	require.ErrorAs(t, err, &over, "without it the error is as it was")
	o.TokenBudget = over.MinimumRequired
	require.Empty(t, h.distill(r, o).LeftOut)
}

// With Fit a budget fails only if not even one source fits, and its minimum is exact.
func TestD1_FitFailsOnlyWhereNoSourceFits(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 18))
		h := newHost(t)
		for range 1 + rng.IntN(6) {
			h.put(strings.Join(notes(3+rng.IntN(5)), " "))
		}
		r := h.runner()
		_, err := r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: 1, Fit: true})
		var over *distill.BudgetError
		require.ErrorAs(t, err, &over)
		_, err = r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: over.MinimumRequired - 1, Fit: true})
		require.ErrorAs(t, err, &over)
		require.Empty(t, h.outputs())
		for _, budget := range []int{over.MinimumRequired, over.MinimumRequired + rng.IntN(300)} {
			res := h.distill(r, distill.Options{TokenBudget: budget, Fit: true})
			require.Positive(t, res.Sources, "seed %d", seed)
			require.LessOrEqual(t, res.TokensUsed, budget)
		}
	}

	h := newHost(t)
	h.put("  ", "\n")
	res := h.distill(h.runner(), distill.Options{TokenBudget: 5, Fit: true})
	require.Equal(t, memory.Entry{}, res.Output, "sources that say nothing have no summary")
}

// What is new and rare is chosen, not what is long or said again.
func TestFit_ChoosesWhatSaysMost(t *testing.T) {
	h := newHost(t)
	rare := h.put("Lena's flight to Lisbon leaves from gate 17.")[0]
	for range 30 {
		h.put("We talked about the weather again, and then we talked about the weather once more.")
	}
	res := h.distill(h.runner(), distill.Options{TokenBudget: 160, Fit: true})
	require.NotContains(t, res.LeftOut, rare.ID)
	require.Contains(t, res.Output.Content, "gate 17")
	require.Contains(t, res.Output.Content, "weather", "it is new once")
}
