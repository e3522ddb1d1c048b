package main

import (
	"context"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/recall"
)

// newRanker ranks by words and by what spelling knows.
func newRanker() (*recall.Ranker, error) {
	return recall.New(recall.Config{
		Embedder: spelling{},
		Redactor: func(_ context.Context, tenant string) (memory.Redactor, error) { return vault(tenant) },
	})
}

// spelling stands where a host has its model. It knows no meaning at all: texts are near each
// other if they have many sequences of three letters in common, so that a question is answered
// in spite of a slip of the pen. It needs no network, and gives the same vector every time.
type spelling struct{}

func (spelling) Model() string { return "quickstart-trigrams/1" }

func (spelling) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 256)
		padded := []rune(" " + strings.ToLower(text) + " ")
		for k := range len(padded) - 1 {
			h := fnv.New32a()
			h.Write([]byte(string(padded[k:min(k+3, len(padded))])))
			vectors[i][h.Sum32()%256]++
		}
	}
	return vectors, nil
}

// characters counts the units of a budget as the protocol's "chars" does.
type characters struct{}

func (characters) Name() string          { return "chars" }
func (characters) Count(text string) int { return utf8.RuneCountInString(text) }

// meaning asks by a model, and lists what is relevant within a budget.
func (h *host) meaning(ctx context.Context) error {
	h.title("Recall with a model (here one that knows spelling only)")
	question, err := h.question(ctx)
	if err != nil || question == "" {
		return err
	}
	question = misspelt(question)
	if _, err := h.bank.Maintain(ctx); err != nil { // it embeds what is new; Bank.Keep does it from time to time
		return err
	}
	for _, by := range []string{"lexical", "semantic"} {
		hits, err := h.bank.Search(ctx, acme, acmeRef, memory.Search{Text: question, Rank: by, Limit: 2})
		if err != nil {
			return err
		}
		h.say("%q, %s: %d hits", question, by, len(hits))
		for _, hit := range hits {
			h.say("  %.2f similar  %s", hit.Similarity, short(hit.Entry.Content))
		}
	}
	entries, err := h.bank.Reader(acme).List(ctx, acmeRef, memory.ListOptions{Rank: "relevance", Query: question, TokenBudget: 500})
	if err != nil {
		return err
	}
	used := 0
	for _, e := range entries {
		used += characters{}.Count(e.Content)
	}
	h.say("What a prompt of 500 characters gets: %d notes, the most relevant ones, of %d characters.", len(entries), used)
	return nil
}

// misspelt has two letters of each longer word in each other's place.
func misspelt(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if r := []rune(w); len(r) > 3 {
			r[1], r[2] = r[2], r[1]
			words[i] = string(r)
		}
	}
	return strings.Join(words, " ")
}
