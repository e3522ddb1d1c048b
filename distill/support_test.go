package distill_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// answering is a summarizer that gives one answer.
func answering(items ...distill.Item) func(*distill.Config) {
	return func(c *distill.Config) {
		c.Summarizer = &model{name: "m/1", say: func(int64, distill.Request) ([]distill.Item, error) { return items, nil }}
	}
}

// condensed are the lines of a distillation and of a compaction, which must be the same, in order.
func (h *host) condensed(r *distill.Runner) (lines []string, done distill.Result) {
	h.t.Helper()
	done = h.distill(r, distill.Options{})
	compact, err := r.Compact(ctx, h.job(), ref, distill.Options{})
	require.NoError(h.t, err)
	require.Equal(h.t, done.Output.Content, compact.Output.Content)
	require.Equal(h.t, [2]any{done.Fallback, done.Refused}, [2]any{compact.Fallback, compact.Refused})
	return slices.Sorted(strings.SplitSeq(done.Output.Content, "\n")), done
}

// What a summarizer invents is left out, line by line; what it says truly stays, and what is lost with an invention is
// said in the words of its sources.
func TestC8_ASummaryThatInvents(t *testing.T) {
	notes := []string{"Ann likes green tea.", "Ben does not eat meat.", "The rent of Ann is 900 euros."}
	const invented = "Ann owes the landlord 5,000 euros since 2019."
	for name, c := range map[string]struct {
		items    []string // each with the digit of its note before it, 0 for all
		want     []string
		refused  int
		fallback bool
	}{
		"true":      {[]string{"1Ann also likes green tea.", "2Ben does not eat meat."}, []string{"Ann also likes green tea.", "Ben does not eat meat."}, 0, false},
		"invented":  {[]string{"0" + invented}, notes, 1, true},
		"mixed":     {[]string{"1Ann likes green tea.", "3" + invented}, []string{notes[0], notes[2]}, 1, false},
		"a line":    {[]string{"1Ann likes green tea.\n" + invented, "2Ben does not eat meat."}, notes[:2], 1, false},
		"of none":   {[]string{"1Ann likes green tea.", "0" + invented}, notes, 1, false},
		"denied":    {[]string{"2Ben does eat meat.", "1Ann likes green tea."}, notes[:2], 1, false},
		"of others": {[]string{"1Ben likes green tea.", "2Ben does not eat meat."}, notes[:2], 1, false},
		"a number":  {[]string{"3The rent of Ann is 9,000 euros.", "2Ben does not eat meat."}, notes[1:], 1, false},
		"all of it": {[]string{"1Ann hates green tea.", "2Ben eats only meat.", "3The rent of Ann is 90 euros."}, notes, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			in := h.put(notes...)
			var items []distill.Item
			for _, it := range c.items {
				item := distill.Item{Text: it[1:]}
				if n := int(it[0] - '0'); n > 0 {
					item.Sources = []string{in[n-1].ID}
				}
				items = append(items, item)
			}
			lines, done := h.condensed(h.runner(answering(items...)))
			require.Equal(t, c.want, lines)
			require.Equal(t, c.refused, done.Refused)
			require.Equal(t, c.fallback, done.Fallback)
			require.NotContains(t, done.Output.Content, "5,000")
			again := h.distill(h.runner(answering(items...)), distill.Options{})
			require.True(t, again.Existing, "D2")
		})
	}
}

// A line of a model says the day of its sources if it is relative to it. The day that it says itself must be theirs.
func TestC8_ALineOfAModelSaysItsDay(t *testing.T) {
	const appointment = "The dentist appointment is tomorrow at 9."
	const march, june = "2026-03-01: " + appointment, "2026-05-31: " + appointment
	const moved = "2026-03-01: Ann moves to Berlin tomorrow."
	for name, c := range map[string]struct {
		text, from string // the digits of its notes
		want       []string
		refused    int
	}{
		"of one day":       {appointment, "1", []string{march}, 0},
		"of a later one":   {appointment, "2", []string{june}, 0},
		"of both":          {appointment, "12", []string{march, june}, 1},
		"not relative":     {"Lena likes tea.", "4", []string{"Lena likes tea."}, 0},
		"with its day":     {moved, "3", []string{moved}, 0},
		"with its day too": {moved, "23", []string{moved}, 0},
		"with another day": {"2026-05-31: Ann moves to Berlin tomorrow.", "3", []string{moved}, 1},
		"with no day":      {"2026-04-01: Ann moves to Berlin tomorrow.", "23", []string{moved, june}, 1},
		"a date as a fact": {"Ann moves to Berlin on 2026-03-02.", "3", []string{moved}, 1},
		"another language": {"Ania lubi herbatę i kawę.", "56", []string{"2026-03-01/2026-05-31: Ania lubi herbatę i kawę."}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			in := h.put(appointment)
			more := h.put("Ann moves to Berlin tomorrow.", "Lena likes tea.", "Ania lubi herbatę.")
			h.advance(91 * 24 * time.Hour)
			in = slices.Concat(in, h.put(appointment), more, h.put("Ania lubi kawę i herbatę."))
			item := distill.Item{Text: c.text}
			for _, n := range c.from {
				item.Sources = append(item.Sources, in[n-'1'].ID)
			}
			r := h.runner(answering(item, distill.Item{Text: "Lena likes tea.", Sources: []string{in[3].ID}}))
			lines, done := h.condensed(r)
			want := append(slices.Clone(c.want), "Lena likes tea.")
			slices.Sort(want)
			require.Equal(t, slices.Compact(want), slices.Compact(lines))
			require.Equal(t, c.refused, done.Refused)
		})
	}
}

// For any answer of a model, the budget is kept and each line is one of a source, with its day if it has one.
func TestD1_C8_AnyAnswerKeepsTheBudgetAndTheFacts(t *testing.T) {
	texts := []string{"Ann moves to Berlin tomorrow.", "Lena likes tea.", "Ania lubi herbatę.", "The rent is 900 euros.", "Ben does not eat meat."}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 59))
		h := newHost(t)
		var in []memory.Entry
		said := map[string]bool{}
		for range 2 + rng.IntN(5) {
			e := h.put(texts[rng.IntN(len(texts))])[0]
			in = append(in, e)
			said[e.Content], said[e.CreatedAt.UTC().Format("2006-01-02: ")+e.Content] = true, true
			h.advance(time.Duration(rng.IntN(40)) * time.Hour)
		}
		var items []distill.Item
		for range 1 + rng.IntN(6) {
			e := in[rng.IntN(len(in))]
			it := distill.Item{Text: e.Content, Sources: []string{e.ID}}
			switch rng.IntN(4) {
			case 0:
				it.Text = fmt.Sprintf("Ann owes %d euros.", rng.IntN(1e6))
			case 1:
				it.Sources = nil
			}
			items = append(items, it)
		}
		r := h.runner(answering(items...))
		for _, o := range []distill.Options{{TokenBudget: 60 + rng.IntN(200)}, {}} {
			res, err := r.Distill(ctx, h.job(), ref, o)
			if memory.CodeOf(err) == distill.CodeTokenBudgetExceeded {
				continue
			}
			require.NoError(t, err, "seed %d", seed)
			require.LessOrEqual(t, res.TokensUsed, res.Budget, "seed %d", seed)
			for line := range strings.SplitSeq(res.Output.Content, "\n") {
				require.True(t, said[line] || strings.HasSuffix(line, ": "+texts[2]), "seed %d: %q", seed, line)
				require.NotEqual(t, texts[0], line, "seed %d: it has no day", seed)
			}
		}
	}
}

// A summary of many lines of all sources names these once, not with each line.
func TestC10_LinesOfOneItemShareTheirSources(t *testing.T) {
	h := newHost(t)
	var ids, lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("Ann likes tea %d.", i))
		ids = append(ids, h.put(lines[i])[0].ID)
	}
	lines[250] = "Ann owes 5,000 euros."
	r := h.runner(answering(distill.Item{Sources: ids, Text: strings.Join(lines, "\n")}))
	res := h.distill(r, distill.Options{})
	require.Equal(t, 1, res.Refused)
	a, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.NoError(t, err)
	require.Len(t, a.Items, 1)
	require.Equal(t, strings.Join(slices.Delete(lines, 250, 251), "\n"), a.Text())
}

// A line of a summary of summaries names the last day of them all, though an earlier one begins later.
func TestD4_ALineOfSeveralRangesOfDays(t *testing.T) {
	h := newHost(t)
	in := h.put("2026-01-02/2026-02-20: Ania lubi herbatę.", "2026-01-05: Ania lubi herbatę.")
	r := h.runner(answering(distill.Item{Text: "Ania lubi herbatę", Sources: []string{in[0].ID, in[1].ID}}))
	require.Equal(t, "2026-01-02/2026-02-20: Ania lubi herbatę", h.distill(r, distill.Options{}).Output.Content)
}
