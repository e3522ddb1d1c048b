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

// altered is a store that shows documents otherwise than they are.
type altered struct {
	*inmem.Store
	show func(*driver.Document) bool
}

func (s altered) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		for d, err := range s.Store.Documents(ctx, q) {
			if s.show(&d) && !yield(d, err) {
				return
			}
		}
	}
}

// An image of which a page is missing, damaged, empty or of another image, or that is of another release, is
// as none.
func TestAnImageThatIsNotWholeIsNotRead(t *testing.T) {
	recall.SmallImages(t)
	st := inmem.New()
	w := newWorld(t, st, newRanker(recall.Config{}))
	for i := range 20 {
		w.put(fmt.Sprint("tea number ", i))
	}
	require.NoError(t, maintain(w.bank))
	require.Greater(t, len(w.images()), 2)
	want := w.ask("tea")
	for name, show := range map[string]func(d *driver.Document) bool{
		"whole":               func(*driver.Document) bool { return true },
		"the last is missing": func(d *driver.Document) bool { return d.Key < w.images()[len(w.images())-1].Key },
		"the first is":        func(d *driver.Document) bool { return d.Key != "00000" },
		"one is empty": func(d *driver.Document) bool {
			if d.Key == "00000" {
				d.Value = nil
			}
			return true
		},
		"one is cut": func(d *driver.Document) bool { d.Value = d.Value[:len(d.Value)-1]; return true },
		"letters":    func(d *driver.Document) bool { d.Value = []byte(strings.Repeat("x", len(d.Value))); return true },
		"of another image": func(d *driver.Document) bool {
			if d.Key != "00000" {
				d.Group += "x"
			}
			return true
		},
		"of a later release": func(d *driver.Document) bool { d.Group = "9" + d.Group; return true },
		"named by nothing":   func(d *driver.Document) bool { d.Group = ""; return true },
	} {
		store := counting{altered{st, show}, new(int)}
		b, err := memory.New(store, memory.Config{Now: func() time.Time { return w.now }, Ranker: newRanker(recall.Config{})})
		require.NoError(t, err)
		hits, err := b.Search(bg, tenant, ref, memory.Search{Text: "tea"})
		require.NoError(t, err, name)
		require.Equal(t, want, said(hits), name)
		require.Equal(t, name != "whole", *store.lists > 0, name)
	}
}

// An image of a ref in which nothing is live any more is read like any other.
func TestAnImageOfNothing(t *testing.T) {
	recall.SmallImages(t)
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	for i := range 5 {
		w.put(fmt.Sprint("tea number ", i))
	}
	require.NoError(t, maintain(w.bank))
	entries, err := w.bank.Reader(tenant).List(bg, ref, memory.ListOptions{})
	require.NoError(t, err)
	for _, e := range entries {
		_, err := w.job.Delete(bg, ref, e.ID)
		require.NoError(t, err)
	}
	before := w.images()[0].Group
	w.now = w.now.Add(time.Hour)
	w.bank = w.open(newRanker(recall.Config{}))
	require.NoError(t, maintain(w.bank))
	require.NotEqual(t, before, w.images()[0].Group)
	w.bank = w.open(newRanker(recall.Config{}))
	require.Empty(t, w.ask("tea"))
	w.put("tea again")
	require.Equal(t, []string{"tea again"}, w.ask("tea"))
}

// counting counts the pages of entries that are read.
type counting struct {
	altered
	lists *int
}

func (s counting) List(ctx context.Context, scope memory.Scope, q driver.Query) ([]memory.Entry, error) {
	if len(q.IDs) == 0 {
		*s.lists++
	}
	return s.Store.List(ctx, scope, q)
}

// Two processes write images, and each question is asked of one that has followed them, of one
// that has just begun and loads an image, and of one that can load none.
func TestS2_AnImageChangesNoAnswer(t *testing.T) {
	recall.SmallImages(t)
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 800
	}
	loaded := 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 36))
		st := inmem.New()
		w := newWorld(t, st, newRanker(recall.Config{MaxBytes: int64(1 + r.IntN(2)*1<<20)}))
		blind, err := memory.New(altered{st, func(d *driver.Document) bool { return d.Kind != "recall.image" }}, memory.Config{Now: func() time.Time { return w.now }, Ranker: newRanker(recall.Config{})})
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
