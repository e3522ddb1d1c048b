package consolidate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

func similarOf(t testing.TB, entries []memory.Entry, score float64) []Candidates {
	t.Helper()
	found, err := Similar(ctx, entries, score)
	require.NoError(t, err)
	return found
}

func entriesOf(texts ...string) []memory.Entry {
	es := make([]memory.Entry, len(texts))
	for i, text := range texts {
		es[i] = memory.Entry{ID: fmt.Sprintf("m%03d", i), Content: text, CreatedAt: epoch.Add(time.Duration(i) * time.Second)}
	}
	return es
}

func TestSimilarFindsRestatementsInAnyLanguage(t *testing.T) {
	pairs := [][2]string{
		{"The night shift of Kestrel starts at 22:00.", "Kestrel's night shift starts at 22:00."},
		{"Лена предпочитает письма телефонным звонкам.", "Письма Лена предпочитает звонкам по телефону."},
		{"会議は毎週火曜日の午前十時に始まります。", "毎週火曜日、会議は午前十時に始まる。"},
		{"Die Rechnung wird am Monatsende verschickt.", "Am Monatsende wird die Rechnung versandt."},
		{"curl --retry 5 https://a.example/x", "curl https://a.example/x --retry 5 -s"},
		{"Cafe\u0301 Müller öffnet um sieben.", "Um sieben öffnet CAFÉ MÜLLER."},
	}
	var texts []string
	for _, p := range pairs {
		texts = append(texts, p[0], p[1])
	}
	found := similarOf(t, entriesOf(texts...), 0.3)
	require.Len(t, found, len(pairs))
	for i, c := range found {
		require.Equal(t, []string{fmt.Sprintf("m%03d", 2*i), fmt.Sprintf("m%03d", 2*i+1)}, c.IDs)
		require.GreaterOrEqual(t, c.Score, 0.3)
		require.LessOrEqual(t, c.Score, 1.0)
	}
}

// The order of the entries decides nothing, a group has no two entries below the score,
// and no entry is in two groups.
func TestC3_SimilarDoesNotDependOnTheOrder(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		var texts []string
		for range 2 + r.IntN(60) {
			var words []string
			for range 1 + r.IntN(12) {
				words = append(words, fmt.Sprintf("wörd%c%c", 'a'+r.IntN(5), 'a'+r.IntN(5)))
			}
			texts = append(texts, strings.Join(words, " "))
		}
		es := entriesOf(texts...)
		for i := range es {
			if r.IntN(4) == 0 {
				es[i].Tags = []string{"a"}
			}
		}
		want := similarOf(t, es, 0.5)
		seen := map[string]bool{}
		byID := map[string]memory.Entry{}
		for _, e := range es {
			byID[e.ID] = e
		}
		for _, c := range want {
			require.LessOrEqual(t, len(c.IDs), MaxCandidates)
			require.GreaterOrEqual(t, c.Score, 0.5)
			for _, id := range c.IDs {
				require.False(t, seen[id])
				seen[id] = true
				require.Equal(t, byID[c.IDs[0]].Tags, byID[id].Tags, "C9")
			}
		}
		shuffled := slices.Clone(es)
		r.Shuffle(len(es), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		require.Equal(t, want, similarOf(t, shuffled, 0.5), "seed %d", seed)
	}
}

func TestC9_SimilarKeepsToTagsSubjectsAndExpiry(t *testing.T) {
	es := entriesOf(slices.Repeat([]string{"Kestrel's night shift starts at ten."}, 5)...)
	es[1].Tags, es[2].Subjects, es[3].ExpiresAt = []string{"a"}, []string{"a"}, epoch.Add(time.Hour)
	found := similarOf(t, es, 0)
	require.Len(t, found, 1)
	require.Equal(t, []string{"m000", "m004"}, found[0].IDs)
	require.InDelta(t, 1, found[0].Score, 1e-9)
}

// The score is the cosine that the documentation defines, computed here from strings.
func TestSimilarScoresByTheDeclaredCosine(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		var texts []string
		for range 2 + r.IntN(6) {
			var words []string
			for range 1 + r.IntN(6) {
				words = append(words, []string{"gate", "Harbour", "harbours", "green", "Ω", "ten", "кран", "is"}[r.IntN(8)])
			}
			texts = append(texts, strings.Join(words, " "))
		}
		of, holders := make([]map[string]bool, len(texts)), map[string]int{}
		for i, text := range texts {
			of[i] = map[string]bool{}
			for w := range strings.FieldsSeq(strings.ToLower(text)) {
				of[i]["word "+w] = true
				for k, marked := 0, []rune("^"+w+"$"); len(marked) > 6 && k+4 <= len(marked); k++ {
					of[i]["gram "+string(marked[k:k+4])] = true
				}
			}
			for f := range of[i] {
				holders[f]++
			}
		}
		product := func(a, b int) (sum float64) {
			for f := range of[a] {
				w := 1 + math.Log(float64(len(texts)+1)/float64(holders[f]+1))
				if f[0] == 'g' {
					w /= 2
				}
				if of[b][f] {
					sum += w * w
				}
			}
			return sum
		}
		cosine := func(a, b int) float64 { return product(a, b) / math.Sqrt(product(a, a)*product(b, b)) }
		in := map[int]bool{}
		for _, c := range similarOf(t, entriesOf(texts...), 0) {
			least := 1.0
			var members []int
			for _, id := range c.IDs {
				var n int
				_, err := fmt.Sscanf(id, "m%d", &n)
				require.NoError(t, err)
				for _, m := range members {
					least = min(least, cosine(m, n))
				}
				members = append(members, n)
				in[n] = true
			}
			require.InDelta(t, least, c.Score, 1e-5, "seed %d: %q", seed, texts)
		}
		for a := range texts {
			for b := range a {
				require.True(t, in[a] || in[b] || cosine(a, b) < DefaultScore+0.05, "seed %d: %q and %q", seed, texts[a], texts[b])
			}
		}
	}
}

func TestSimilarRefusesAndStops(t *testing.T) {
	es := entriesOf("a", "b")
	for _, score := range []float64{-1, 1.1, math.NaN()} {
		_, err := Similar(ctx, es, score)
		require.ErrorIs(t, err, memory.ErrValidation, "%v", score)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := Similar(done, es, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, similarOf(t, nil, 0))
	require.Empty(t, similarOf(t, entriesOf("…", "…", ""), 0))
}

// However alike all entries are, the number of comparisons is bounded by the number of
// entries.
func TestC10_TheComparisonsAreBounded(t *testing.T) {
	const n = 3000
	for name, text := range map[string]func(int) string{
		"equal":    func(int) string { return "The gate is green." },
		"one word": func(i int) string { return strings.Repeat("gate ", 1+i%50) },
		"boilerplate": func(i int) string {
			return fmt.Sprintf("Dear all of the harbour office, %d, with kind regards from us", i)
		},
	} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = text(i)
		}
		s := space{}
		for _, e := range entriesOf(texts...) {
			s = append(s, member{id: e.ID, text: e.Content})
		}
		require.NoError(t, s.read(ctx))
		compared, err := s.pairs(ctx, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, len(compared), n*window*(lookups+lookups/2), name)
		for i := range texts {
			require.LessOrEqual(t, len(s[i].features), maxFeatures)
		}
	}
}

// A plug-in that panics, hangs or answers ten megabytes ends the pass with an error, and
// nothing is half done.
func TestAPlugInCannotHarmThePass(t *testing.T) {
	huge := strings.Repeat("The gate is green. ", 10<<20/19)
	hang := make(chan struct{})
	defer close(hang)
	whole := func(h *host) []string {
		return []string{h.note("The gate at the harbour is green.").ID, h.note("The harbour gate is green.").ID}
	}
	merging := func(f func() (string, error)) Config {
		return Config{Score: 0.2, Timeout: 50 * time.Millisecond, Merger: merger{func(context.Context, []memory.Entry) (string, error) { return f() }, ""}}
	}
	planning := func(f func() Plan) Config {
		return Config{Timeout: 50 * time.Millisecond, Planner: planner{func(context.Context, []memory.Entry) (Plan, error) { return f(), nil }, ""}}
	}
	for name, cfg := range map[string]Config{
		"merger panics":  merging(func() (string, error) { panic("secret words") }),
		"merger hangs":   merging(func() (string, error) { <-hang; return "", nil }),
		"merger is huge": merging(func() (string, error) { return huge, nil }),
		"planner panics": planning(func() Plan { panic("secret words") }),
		"planner hangs":  planning(func() Plan { <-hang; return Plan{} }),
	} {
		h := newHost(t)
		ids := whole(h)
		_, err := newConsolidator(t, cfg).Run(ctx, h.job("p1"), ref, Options{})
		require.ErrorIs(t, err, memory.ErrInternal, name)
		require.NotContains(t, err.Error(), "secret", name)
		require.Equal(t, ids, h.live(), name)
		require.Empty(t, h.passes(), name)
		// The scope is free again.
		require.Equal(t, 2, h.run(newConsolidator(t, Config{}), "p2").OutputCount, name)
	}
}

// A merger is asked about candidates only, and once; what it says differs stays.
func TestC2_WhatAMergerSaysDiffersStays(t *testing.T) {
	h := newHost(t)
	h.note("The gate at the harbour is green.")
	h.note("The harbour gate is green.")
	h.note("Lena pays within thirty days.")
	h.note("The harbour gate is green.", "slot:gate")
	asked := 0
	c := newConsolidator(t, Config{Score: 0.3, Merger: merger{func(_ context.Context, es []memory.Entry) (string, error) {
		asked++
		require.Len(t, es, 2)
		return "", ErrDiffer
	}, ""}})
	plan, err := c.Plan(ctx, h.job("dry"), ref, Options{})
	require.NoError(t, err)
	require.Len(t, plan, 1)
	require.Contains(t, plan[0].Reason, "for the merger to decide")
	r := h.run(c, "p1")
	require.Equal(t, []int{1, 1, 0, 4}, []int{asked, r.Different, r.Merged, r.OutputCount})
	require.True(t, h.run(c, "p2").Unchanged)
	require.Equal(t, 1, asked)
}
