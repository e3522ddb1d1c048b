package recall_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
)

// scripted is a model that adds up a direction for each word. wordOf says which word it takes one for.
type scripted struct {
	name       string
	dimensions int
	wordOf     func(string) string
}

func (m scripted) Model() string { return m.name }

func (m scripted) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, m.dimensions)
		for _, w := range strings.Fields(text) {
			for k, x := range direction(m.wordOf(w), m.dimensions) {
				vectors[i][k] += x
			}
		}
	}
	return vectors, nil
}

func direction(word string, dimensions int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(word))
	r := rand.New(rand.NewPCG(h.Sum64(), 2))
	v := make([]float32, dimensions)
	for k := range v {
		v[k] = float32(r.NormFloat64())
	}
	return v
}

// paraphrases are entries, and a question about each that says some of its words otherwise.
func paraphrases(r *rand.Rand, n int) (entries, questions []string) {
	for range n {
		var said, asked []string
		for k, word := range r.Perm(240)[:6] {
			said = append(said, fmt.Sprintf("thing%c%c", 'a'+word/16, 'a'+word%16))
			if k < 4 {
				asked = append(asked, fmt.Sprintf("%s%c%c", []string{"thing", "other", "other"}[r.IntN(3)], 'a'+word/16, 'a'+word%16))
			}
		}
		for range 3 {
			said = append(said, fmt.Sprintf("fill%c", 'a'+r.IntN(6)))
		}
		asked = append(asked, fmt.Sprintf("fill%c", 'a'+r.IntN(6)))
		entries, questions = append(entries, strings.Join(said, " ")), append(questions, strings.Join(asked, " "))
	}
	return entries, questions
}

// A model that knows what words mean the same helps, and one that is weak or random does not hurt.
func TestAModelThatIsWeakDoesNotHurt(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs many questions")
	}
	entries, questions := paraphrases(rand.New(rand.NewPCG(36, 3)), 300)
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	ids := make([]string, len(entries))
	for i, text := range entries {
		ids[i] = w.put(text).ID
	}
	// found is the part of the questions whose entry is among the first ten, in per cent.
	found := func(bank *memory.Bank, rank string) float64 {
		n := 0
		for i, q := range questions {
			hits, err := bank.Search(bg, tenant, ref, memory.Search{Text: q, Limit: 10, Rank: rank})
			require.NoError(t, err)
			for _, h := range hits {
				if h.Entry.ID == ids[i] {
					n++
				}
			}
		}
		return 100 * float64(n) / float64(len(questions))
	}
	words := found(w.bank, "lexical")
	require.Less(t, words, 90.0)
	for _, m := range []scripted{
		{"good", 256, func(word string) string { return strings.Replace(word, "other", "thing", 1) }},
		{"letters", 64, func(word string) string { return word[len(word)-1:] }},
		{"narrow", 6, func(word string) string { return word }},
		{"random", 64, nil},
	} {
		if m.name == "random" {
			r := rand.New(rand.NewPCG(1, 1))
			m.wordOf = func(word string) string { return fmt.Sprint(word, r.IntN(1000)) }
		}
		bank := w.open(byMeaning(m))
		require.NoError(t, maintain(bank))
		alone, both := found(bank, "semantic"), found(bank, "")
		t.Logf("%s: words %.1f, meaning %.1f, both %.1f", m.name, words, alone, both)
		if m.name == "good" {
			require.Greater(t, alone, words+5)
			require.GreaterOrEqual(t, both, words+(alone-words)/2)
		} else {
			require.Less(t, alone, words-5)
			require.GreaterOrEqual(t, both, words-1)
			even := w.open(newRanker(recall.Config{Embedder: m, Redactor: noSecrets, Weight: 1}))
			require.NotEqual(t, found(even, ""), both, "the host's weight holds")
		}
	}
}
