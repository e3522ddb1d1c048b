package recall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
)

// Several goroutines ask, write, forget, embed and sweep at once, through two rankers. When
// all is over, both answer as one that has just begun.
func TestS2_ConcurrentUse(t *testing.T) {
	rankers := []*recall.Ranker{byMeaning(&senses{}), byMeaning(&senses{})}
	w := newWorld(t, inmem.New(), rankers[0])
	banks := []*memory.Bank{w.bank, w.open(rankers[1])}
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 11))
			for i := range 40 {
				bank := banks[g%2]
				var err error
				switch r.IntN(6) {
				case 0, 1:
					subject := fmt.Sprint("s", r.IntN(6))
					_, err = w.job.Put(bg, ref, memory.Draft{Content: fmt.Sprint("car ", vocabulary[r.IntN(len(vocabulary))], i), Subjects: []string{subject}})
				case 2:
					_, err = bank.Forget(bg, tenant, fmt.Sprint("s", r.IntN(6)))
				case 3, 4:
					err = maintain(bank)
				default:
					var hits []memory.Hit
					hits, err = bank.Search(bg, tenant, ref, memory.Search{Text: "auto"})
					if slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Entry.Content == "" }) {
						t.Error("a hit without an entry")
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	w.embed()
	want, err := w.open(byMeaning(&senses{})).Search(bg, tenant, ref, memory.Search{Text: "auto tea"})
	require.NoError(t, err)
	for _, bank := range banks {
		got, err := bank.Search(bg, tenant, ref, memory.Search{Text: "auto tea"})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
