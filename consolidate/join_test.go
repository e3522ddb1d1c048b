package consolidate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

var ctx = context.Background()

// oraclePairs compares every two texts by sets of strings.
func oraclePairs(texts []string, threshold float64) (pairs []Pair) {
	of := make([]map[string]bool, len(texts))
	for i, text := range texts {
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !wordRune(r) })
		of[i] = map[string]bool{}
		if n := len(words); n > 0 && n < 3 {
			of[i][strings.Join(words, " ")] = true
		}
		for k := 0; k+3 <= len(words); k++ {
			of[i][strings.Join(words[k:k+3], " ")] = true
		}
	}
	for a := range of {
		for b := a + 1; b < len(of); b++ {
			both := 0
			for t := range of[a] {
				if of[b][t] {
					both++
				}
			}
			if all := len(of[a]) + len(of[b]) - both; all > 0 && float64(both)/float64(all) >= threshold {
				pairs = append(pairs, Pair{a, b, float64(both) / float64(all)})
			}
		}
	}
	return pairs
}

// randomTexts makes texts of a small vocabulary, many of them edits of others.
func randomTexts(r *rand.Rand, n int) []string {
	word := func() string { return fmt.Sprintf("wörd%d", int(r.ExpFloat64()*30)) }
	texts := make([]string, n)
	for i := range texts {
		if i > 0 && r.IntN(2) == 0 {
			words := strings.Fields(texts[r.IntN(i)])
			for range r.IntN(3) {
				if len(words) > 0 {
					words[r.IntN(len(words))] = word()
				}
			}
			texts[i] = strings.Join(words, [...]string{" ", ", ", " - "}[r.IntN(3)])
			continue
		}
		words := make([]string, r.IntN(60))
		for k := range words {
			words[k] = word()
		}
		texts[i] = strings.ToUpper(strings.Join(words, " "))
	}
	return texts
}

func TestNearDuplicatesAgainstAnOracle(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		texts := randomTexts(r, 80)
		for _, threshold := range []float64{0.3, 0.8, 1} {
			want := oraclePairs(texts, threshold)
			for _, workers := range []int{1, 3, 0} {
				got, err := NearDuplicates(ctx, texts, threshold, workers)
				require.NoError(t, err)
				require.Equal(t, len(want), len(got), "seed %d threshold %v workers %d", seed, threshold, workers)
				for i := range want {
					require.Equal(t, want[i].A, got[i].A)
					require.Equal(t, want[i].B, got[i].B)
					require.InDelta(t, want[i].Similarity, got[i].Similarity, 1e-9)
				}
			}
		}
	}
}

func TestNearDuplicatesRefusesAndStops(t *testing.T) {
	for _, threshold := range []float64{0, -1, 1.1} {
		_, err := NearDuplicates(ctx, nil, threshold, 1)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := NearDuplicates(done, make([]string, 10), 0.8, 1)
	require.ErrorIs(t, err, context.Canceled)
	pairs, err := NearDuplicates(ctx, nil, 0.8, 0)
	require.NoError(t, err)
	require.Empty(t, pairs)
}
