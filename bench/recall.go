package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// recallRows measures finding ten entries of 100,000 by a question in words.
//
//	recall/query/n=100000  a question of five words, of which one is rare, against a
//	                       bleve index in memory with the English analyzer; both find the
//	                       entry that was meant among the first ten
//	recall/build/n=100000  from the entries in the store to the first answer, against
//	                       bleve indexing them in batches of a thousand
//	recall/add/n=100000    a new entry and the next question, against the question alone:
//	                       the difference is what bringing one entry in costs
//	recall/vectors/n=100000/384  a question by meaning alone against vectors of 384
//	                       dimensions, one for each entry, of a model that costs nothing
func recallRows() []row {
	const n = 100_000
	return append(imageRows(), []row{
		{fmt.Sprintf("recall/query/n=%d", n), "bleve/v2", func() (sides, error) {
			ours, err := newRecallBank(n)
			if err != nil {
				return sides{}, err
			}
			theirs, err := bleveIndex(n)
			if err != nil {
				return sides{}, err
			}
			turn := 0
			next := func() int { turn++; return turn * 7919 % n }
			return sides{
				check: func() error {
					for range 200 {
						k := next()
						if !ours.finds(k) || !bleveFinds(theirs, k) {
							return fmt.Errorf("entry %d is not among the first ten", k)
						}
					}
					return nil
				},
				ours:   repeat(func() { ours.finds(next()) }),
				theirs: repeat(func() { bleveFinds(theirs, next()) }),
			}, nil
		}},
		{fmt.Sprintf("recall/build/n=%d", n), "bleve/v2", func() (sides, error) {
			ours, err := newRecallBank(n)
			if err != nil {
				return sides{}, err
			}
			return sides{
				ours: repeat(func() {
					ours.opened(recall.Config{MaxBytes: 1 << 30}).mustFind(recallScope, n/2)
				}),
				theirs: repeat(func() {
					index, err := bleveIndex(n)
					must(err)
					if !bleveFinds(index, n/2) {
						panic("not found")
					}
					must(index.Close())
				}),
				items: n,
			}, nil
		}},
		{fmt.Sprintf("recall/add/n=%d", n), "the question alone", func() (sides, error) {
			ours, err := newRecallBank(n)
			if err != nil {
				return sides{}, err
			}
			turn := n
			return sides{
				ours: repeat(func() {
					must(ours.put(turn))
					ours.finds(turn)
					turn++
				}),
				theirs: repeat(func() { ours.finds(n / 2) }),
			}, nil
		}},
		{fmt.Sprintf("recall/vectors/n=%d/384", n), "", func() (sides, error) {
			ours, err := newRecallBank(n)
			if err != nil {
				return sides{}, err
			}
			meant, err := ours.embedded(n)
			if err != nil {
				return sides{}, err
			}
			turn := 0
			next := func() int { turn++; return turn * 7919 % n }
			return sides{
				check: func() error {
					for range 20 {
						if k := next(); !meant(k) {
							return fmt.Errorf("entry %d is not the first", k)
						}
					}
					return nil
				},
				ours: repeat(func() { meant(next()) }),
			}, nil
		}},
	}...)
}

// recallModel gives each text a vector at random, the same whenever it is asked.
type recallModel struct{}

func (recallModel) Model() string { return "random" }

func (recallModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		h.Write([]byte(text))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		out[i] = make([]float32, 384)
		for k := range out[i] {
			out[i][k] = r.Float32() - 0.5
		}
	}
	return out, nil
}

// embedded opens a bank over the store that ranks by meaning too, and gives every entry a
// vector. It returns a question for what the k-th entry says, which tells whether that entry
// came first.
func (b *recallBank) embedded(n int) (func(k int) bool, error) {
	ctx := context.Background()
	ranker, err := recall.New(recall.Config{MaxBytes: 1 << 30, Embedder: recallModel{}, Redactor: func(context.Context, string) (memory.Redactor, error) {
		return redact.New(redact.Config{}), nil
	}})
	if err != nil {
		return nil, err
	}
	bank, err := memory.New(b.store, memory.Config{Now: func() time.Time { return storeStart.Add(24 * time.Hour) }, Ranker: ranker})
	if err != nil {
		return nil, err
	}
	for range n/4096 + 2 {
		if _, err := bank.Maintain(ctx); err != nil {
			return nil, err
		}
	}
	return func(k int) bool {
		hits, err := bank.Search(ctx, recallScope.Tenant, recallScope.Ref, memory.Search{Text: recallNote(k), Rank: "semantic", Limit: 10})
		must(err)
		return hits[0].Entry.ID == fmt.Sprintf("mem_%08d", k)
	}, nil
}

// recallNote is what the k-th entry says: words of a small vocabulary, of which a few are
// frequent, and one that is its own.
func recallNote(k int) string {
	r := rand.New(rand.NewPCG(uint64(k), 9))
	words := make([]string, 0, 14)
	for range 12 {
		x := int(r.ExpFloat64() * 300)
		words = append(words, fmt.Sprintf("w%c%c%c", rune(97+x%26), rune(97+x/26%26), rune(97+x/676)))
	}
	return strings.Join(append(words, recallRare(k)), " ")
}

func recallRare(k int) string { return fmt.Sprintf("rare%dx", k) }

// recallQuestion asks for the k-th entry by four of its frequent words and its own.
func recallQuestion(k int) string {
	words := strings.Fields(recallNote(k))
	return words[0] + " " + words[3] + " " + words[5] + " " + words[8] + " " + recallRare(k)
}

// recallBank is a bank over a store with n entries.
type recallBank struct {
	store driver.Adapter
	bank  *memory.Bank
}

var recallScope = memory.Scope{Tenant: "tenant", Ref: "ref"}

func newRecallBank(n int) (*recallBank, error) {
	b := &recallBank{store: inmem.New()}
	for k := range n {
		if err := b.put(k); err != nil {
			return nil, err
		}
	}
	return b.opened(recall.Config{MaxBytes: 1 << 30}), nil
}

func (b *recallBank) put(k int) error {
	return b.store.Put(context.Background(), recallScope, recallEntry(k))
}

func recallEntry(k int) memory.Entry {
	return memory.Entry{ID: fmt.Sprintf("mem_%08d", k), Content: recallNote(k), CreatedAt: storeStart.Add(time.Duration(k) * time.Millisecond), RunID: "import"}
}

func (b *recallBank) finds(k int) bool { return b.findsIn(recallScope, k) }

func (b *recallBank) findsIn(at memory.Scope, k int) bool {
	hits, err := b.bank.Search(context.Background(), at.Tenant, at.Ref, memory.Search{Text: recallQuestion(k), Limit: 10})
	must(err)
	for _, h := range hits {
		if h.Entry.ID == fmt.Sprintf("mem_%08d", k) {
			return true
		}
	}
	return false
}

// bleveIndex is a bleve index in memory over n entries.
func bleveIndex(n int) (bleve.Index, error) {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	index, err := bleve.NewUsing("", mapping, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	batch := index.NewBatch()
	for k := range n {
		if err := batch.Index(fmt.Sprintf("mem_%08d", k), map[string]string{"content": recallNote(k)}); err != nil {
			return nil, err
		}
		if batch.Size() == 1000 || k == n-1 {
			if err := index.Batch(batch); err != nil {
				return nil, err
			}
			batch.Reset()
		}
	}
	return index, nil
}

func bleveFinds(index bleve.Index, k int) bool {
	request := bleve.NewSearchRequest(bleve.NewMatchQuery(recallQuestion(k)))
	request.Size = 10
	found, err := index.Search(request)
	must(err)
	for _, h := range found.Hits {
		if h.ID == fmt.Sprintf("mem_%08d", k) {
			return true
		}
	}
	return false
}
