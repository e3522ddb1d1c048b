package recall_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
)

// images returns the documents of a ref by which its index survives a process.
func (w *world) images() (found []driver.Document) {
	for d, err := range w.job.Documents(bg, ref, driver.DocumentQuery{Kind: "recall.image"}) {
		require.NoError(w.t, err)
		require.True(w.t, d.Whole && d.Class == driver.Content)
		found = append(found, d)
	}
	return found
}

// imageless is a store that shows no image.
type imageless struct{ *inmem.Store }

func (s imageless) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		for d, err := range s.Store.Documents(ctx, q) {
			if d.Kind != "recall.image" && !yield(d, err) {
				return
			}
		}
	}
}

// Two processes write images, and each question is asked of one that has followed them, of one
// that has just begun and loads an image, and of one that can load none.
func TestS2_AnImageChangesNoAnswer(t *testing.T) {
	recall.SmallImages(t)
	seeds := uint64(12)
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 800
	}
	loaded := 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 36))
		st := inmem.New()
		w := newWorld(t, st, newRanker(recall.Config{MaxBytes: int64(1 + r.IntN(2)*1<<20)}))
		blind, err := memory.New(imageless{st}, memory.Config{Now: func() time.Time { return w.now }, Ranker: newRanker(recall.Config{})})
		require.NoError(t, err)
		others := []*memory.Bank{w.bank, w.open(newRanker(recall.Config{}))}
		var written []memory.Entry
		var runs []*memory.Run
		for i := range 80 {
			written = w.step(r, written)
			if r.IntN(3) == 0 {
				_, err := others[r.IntN(2)].Maintain(bg)
				require.NoError(t, err, "seed %d, step %d", seed, i)
			}
			if r.IntN(10) == 0 {
				runs = append(runs, w.run(fmt.Sprint("r", i)))
			}
			q := memory.Search{Text: vocabulary[r.IntN(len(vocabulary))] + " " + vocabulary[r.IntN(len(vocabulary))], Limit: 1 + r.IntN(20)}
			if r.IntN(4) == 0 {
				q.Tags = []string{vocabulary[r.IntN(len(vocabulary))]}
			}
			banks := []*memory.Bank{w.open(newRanker(recall.Config{})), others[r.IntN(2)], blind}
			var token memory.Token
			if len(runs) > 0 {
				var err error
				token, err = runs[r.IntN(len(runs))].Token(bg)
				require.NoError(t, err)
			}
			var first []any
			for k, bank := range banks {
				live, err := bank.Search(bg, tenant, ref, q)
				require.NoError(t, err)
				answers := []any{live}
				if len(runs) > 0 {
					past, err := searchAsOf(bank, token, q)
					answers = append(answers, past, err)
				}
				if k == 0 {
					first = answers
				}
				require.Equal(t, first, answers, "seed %d, step %d, bank %d", seed, i, k)
			}
			for _, d := range w.images() {
				for _, word := range vocabulary {
					require.False(t, len(word) > 3 && strings.Contains(string(d.Value), word), "no word is in an image")
				}
				if d.Key == "00000" && len(d.Value) > 0 {
					loaded++
				}
			}
		}
	}
	require.Greater(t, loaded, int(seeds)*10, "images were there to load")
}
