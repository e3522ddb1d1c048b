package consolidate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// A large corpus of facts, one in five of which is said again with a full stop, with
// other spacing or with other blanks, is merged to the facts, each of
// which keeps those that said it. AGENTMEMORY_LONG=1 makes it a million.
func TestC10_ALargeCorpus(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		n = 1_000_000
	}
	h := newHost(t)
	job := h.job("import")
	ids, again := largeCorpus(t, job, n)

	start := time.Now()
	r := h.run(newConsolidator(t, Config{}), "p1")
	took := time.Since(start)
	t.Logf("%d entries in %.1f s: %.0f a second", n, took.Seconds(), float64(n)/took.Seconds())
	require.Equal(t, len(again), r.Merged)
	require.Equal(t, [2]int{n, n - len(again)}, [2]int{r.InputCount, r.OutputCount})
	require.Zero(t, r.Superseded+r.Skipped+len(r.Refused))

	for i, first := range again {
		a, b := h.outcome(ids[i]), h.outcome(ids[first])
		require.Equal(t, head(ids[i], a), head(ids[first], b), "what was said twice has one head")
	}
	start = time.Now()
	require.True(t, h.run(newConsolidator(t, Config{}), "p2").Unchanged)
	t.Logf("an unchanged pass in %s", time.Since(start))
}

// head is the live entry that an entry came to.
func head(id string, f memory.Outcome) string {
	if f.State == memory.Live {
		return id
	}
	return f.Head.ID
}

// largeCorpus puts n facts, and returns which of them say an earlier one again.
func largeCorpus(t *testing.T, job *memory.Job, n int) (ids []string, again map[int]int) {
	r := rand.New(rand.NewPCG(5, uint64(n)))
	words := strings.Fields("prefers ships orders returns pays calls early late often boxes pallets invoices carton quarterly monthly north harbour depot")
	again = map[int]int{}
	var texts []string
	for i := range n {
		var text string
		if i%5 == 4 {
			// Not one that says another one again: it might not be like a third.
			first := r.IntN(i)
			for first%5 == 4 {
				first = r.IntN(i)
			}
			again[i] = first
			switch text = texts[first]; i % 3 {
			case 0:
				text += "."
			case 1:
				text = strings.ReplaceAll(text, " ", "  ")
			case 2:
				text = strings.ReplaceAll(text, " ", "\u00a0") + "\n"
			}
		} else {
			text = fmt.Sprintf("customer %d", i)
			for range 8 + r.IntN(12) {
				text += " " + words[r.IntN(len(words))]
			}
		}
		texts = append(texts, text)
		e, err := job.Put(ctx, ref, memory.Draft{Content: text})
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	return ids, again
}
