package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// related are words of vocabulary that are said for others.
var related = map[string]string{"tea": "coffee", "coffee": "tea", "lena": "max", "cats": "dogs", "invoice": "lease", "berlin": "会議", "of": "deploy"}

// Expand says a text in the words that the model takes for the same, and in related ones.
func (m *senses) Expand(_ context.Context, texts []string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, texts...)
	said := make([]string, len(texts))
	for i, text := range texts {
		for _, word := range strings.Fields(strings.ToLower(text)) {
			said[i] += " " + same[word] + " " + related[word]
		}
	}
	if m.respell != nil {
		return m.respell(said)
	}
	return said, nil
}

func inOtherWords(m recall.Expander) *recall.Ranker {
	return newRanker(recall.Config{Expander: m, Redactor: noSecrets})
}

func TestRecallInOtherWords(t *testing.T) {
	m := &senses{}
	w := newWorld(t, inmem.New(), inOtherWords(m))
	w.put("the automobile is parked")
	w.put("a physician called twice")
	w.put("nothing else")
	require.False(t, w.bank.Engines().Offers().Semantic)
	require.Empty(t, w.ask("car"), "nothing is said otherwise yet")
	w.embed()
	require.Len(t, w.vectors(), 3, "also of what is not said otherwise, so that it is not asked again")
	require.Len(t, m.seen, 3)
	hits := w.asked(memory.Search{Text: "which car"})
	require.Equal(t, []string{"the automobile is parked"}, said(hits))
	require.Empty(t, hits[0].Terms, "the entry does not say so")
	own := w.put("a car, seen by chance on the way to somewhere")
	require.Equal(t, []string{own.Content, "the automobile is parked"}, w.ask("car"), "what an entry says itself counts for more")
	require.Equal(t, []string{"the automobile is parked"}, w.ask("automobile"))
	w.embed()
	w.embed()
	require.Len(t, m.seen, 4, "each is said otherwise once")

	other := w.open(newRanker(recall.Config{Expander: &senses{model: "b"}, Redactor: noSecrets, Former: []string{"senses/1"}}))
	require.NotEqual(t, inOtherWords(m).Version(), inOtherWords(&senses{model: "b"}).Version())
	require.NotEqual(t, inOtherWords(m).Version(), newRanker(recall.Config{}).Version())
	require.NoError(t, maintain(other))
	require.Len(t, w.vectors(), 4, "those of the former model are gone")
}

// The words count in the view of a run if they were stored a minute before it began, in each process.
func TestS2_WhatIsSaidOtherwiseLaterDoesNotMoveAView(t *testing.T) {
	w := newWorld(t, inmem.New(), inOtherWords(&senses{}))
	gone := w.put("an auto in the yard")
	w.put("the automobile is parked")
	before := w.run("before")
	w.embed()
	atOnce := w.run("at once")
	w.now = w.now.Add(time.Minute)
	later := w.run("later")
	_, err := w.job.Delete(bg, ref, gone.ID)
	require.NoError(t, err)
	for run, want := range map[*memory.Run]int{before: 0, atOnce: 0, later: 2} {
		token, err := run.Token(bg)
		require.NoError(t, err)
		for range 2 {
			for _, b := range []*memory.Bank{w.bank, w.open(inOtherWords(&senses{}))} {
				hits, err := searchAsOf(b, token, memory.Search{Text: "car"})
				require.NoError(t, err)
				require.Len(t, hits, want)
			}
		}
	}
	require.Equal(t, []string{"the automobile is parked"}, w.ask("car"))
}

// The model sees redacted text only, and what it says is redacted before it is stored.
func TestM3_OtherWordsAreRedacted(t *testing.T) {
	const late, said = "registered-too-late", "a-secret-that-the-model-knows"
	secrets := func(context.Context, string) (memory.Redactor, error) {
		r := redact.New(redact.Config{})
		return r, errors.Join(r.Register("late", []byte(late)), r.Register("said", []byte(said)))
	}
	m := &senses{respell: func(s []string) ([]string, error) { return []string{"zebra " + said}, nil }}
	w := newWorld(t, inmem.New(), newRanker(recall.Config{Expander: m, Redactor: secrets}))
	w.put("the key is " + late)
	w.embed()
	require.Equal(t, []string{"the key is [REDACTED:late]"}, m.seen)
	require.Len(t, w.ask("zebra"), 1)
	require.Empty(t, w.ask("knows"))
	for d, err := range w.job.Documents(bg, ref, driver.DocumentQuery{}) {
		require.NoError(t, err)
		require.NotContains(t, string(d.Value), said)
	}
}

// What is forgotten leaves the store and the index with its other words.
func TestS3_ForgottenOtherWordsAreGone(t *testing.T) {
	recall.SmallImages(t)
	r := byBoth()
	w := newWorld(t, inmem.New(), r)
	for i := range 40 {
		_, err := w.job.Put(bg, ref, memory.Draft{Content: "an abode of hers", Subjects: []string{fmt.Sprint("s", i%2)}})
		require.NoError(t, err)
	}
	for range 3 {
		w.embed()
		require.Len(t, w.asked(memory.Search{Text: "house", Rank: "lexical"}), 40)
	}
	require.Len(t, w.vectors(), 80)
	require.NotEmpty(t, w.images())
	q := memory.Search{Text: "house", Rank: "lexical"}
	hits, err := w.open(byBoth()).Search(bg, tenant, ref, q)
	require.NoError(t, err)
	require.Equal(t, w.asked(q), hits, "an image has none of them")
	require.Contains(t, r.Words(tenant, ref), "hous")
	for i, left := range []int{20, 0} {
		_, err = w.bank.Forget(bg, tenant, fmt.Sprint("s", i))
		require.NoError(t, err)
		require.Len(t, w.vectors(), 2*left)
		require.Len(t, w.asked(memory.Search{Text: "house", Rank: "lexical"}), left)
		hits, err = w.open(inOtherWords(&senses{})).Search(bg, tenant, ref, memory.Search{Text: "house"})
		require.NoError(t, err)
		require.Len(t, hits, left)
	}
	require.NotContains(t, r.Words(tenant, ref), "hous")
}

// An expander that breaks its promise ends the pass with a coded error, and what it says is in no error.
func TestExpandersThatMisbehaveAreContained(t *testing.T) {
	for name, do := range map[string]func([]string) ([]string, error){
		"an error":              func([]string) ([]string, error) { return nil, errors.New("canary") },
		"a panic":               func([]string) ([]string, error) { panic("canary") },
		"one too few":           func(s []string) ([]string, error) { return s[1:], nil },
		"one too many":          func(s []string) ([]string, error) { return append(s, "canary"), nil },
		"none":                  func([]string) ([]string, error) { return nil, nil },
		"no UTF-8":              func(s []string) ([]string, error) { s[1] = "canary \xff"; return s, nil },
		"U+0000":                func(s []string) ([]string, error) { s[1] = "canary \x00"; return s, nil },
		"what is much too long": func(s []string) ([]string, error) { s[1] = strings.Repeat("canary ", 1<<14); return s, nil },
	} {
		m := &senses{}
		w := newWorld(t, inmem.New(), inOtherWords(m))
		w.put("the automobile is parked")
		w.embed()
		w.put("an auto of his")
		w.put("an abode of hers")
		m.respell = do
		err := maintain(w.bank)
		require.ErrorIs(t, err, memory.ErrInternal, name)
		require.NotContains(t, err.Error(), "canary", name)
		require.Len(t, w.vectors(), 1, name)
		require.Equal(t, []string{"the automobile is parked"}, w.ask("car"), name)
		m.respell = nil
		w.embed() // the round behind the ref where it failed
		w.embed()
		require.Len(t, w.vectors(), 3, name)
		require.Len(t, w.ask("car"), 2, name)
	}
}

// Random words do little harm, and good ones help.
func TestOtherWordsThatAreRandomHardlyHurt(t *testing.T) {
	r, n := rand.New(rand.NewPCG(36, 5)), 400
	entries, questions := paraphrases(r, n)
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	ids := make([]string, n)
	for i, text := range entries {
		ids[i] = w.put(text).ID
	}
	found := func(b *memory.Bank) float64 {
		count := 0
		for i, q := range questions {
			hits, err := b.Search(bg, tenant, ref, memory.Search{Text: q, Limit: 10})
			require.NoError(t, err)
			if slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Entry.ID == ids[i] }) {
				count++
			}
		}
		return 100 * float64(count) / float64(n)
	}
	words := found(w.bank)
	for _, m := range []speller{
		{"good", func(s string) string { return strings.ReplaceAll(s, "thing", "other") }},
		{"random", func(string) string { return strings.ReplaceAll(entries[r.IntN(n)], "thing", "other") }},
		{"the same", func(s string) string { return s }},
	} {
		b := w.open(inOtherWords(m))
		for range 2 * n / 64 { // a round has it say 64 in other words
			require.NoError(t, maintain(b))
		}
		both := found(b)
		t.Logf("%s: %.1f, alone %.1f", m.name, both, words)
		if m.name == "good" {
			require.Greater(t, both, words+5)
		} else {
			require.GreaterOrEqual(t, both, words-1)
		}
	}
}

type speller struct {
	name   string
	expand func(string) string
}

func (s speller) Model() string { return s.name }
func (s speller) Expand(_ context.Context, texts []string) (said []string, _ error) {
	for _, text := range texts {
		said = append(said, s.expand(text))
	}
	return said, nil
}

// A model that writes takes seconds for each entry, so that it has few of them in a round and in a call,
// and what is embedded does not wait for it.
func TestOtherWordsHoldUpNoRound(t *testing.T) {
	embedder, said, longest := &senses{}, 0, 0
	expander := counter{func(texts int) { said, longest = said+texts, max(longest, texts) }}
	w := newWorld(t, inmem.New(), newRanker(recall.Config{Embedder: embedder, Expander: expander, Redactor: noSecrets}))
	all := 0
	for i, n := range []int{100, 30, 70} {
		for k := range n {
			_, err := w.job.Put(bg, fmt.Sprint("ref ", i), memory.Draft{Content: fmt.Sprint("tea ", k)})
			require.NoError(t, err)
			all++
		}
	}
	w.embed()
	require.Len(t, embedder.seen, all)
	require.Equal(t, 64, said)
	rounds := 1
	for ; said < all && rounds < 10; rounds++ {
		before := said
		w.embed()
		require.LessOrEqual(t, said-before, 64)
	}
	require.Equal(t, all, said)
	require.Equal(t, 16, longest)
	for range 4 {
		w.embed()
	}
	require.Equal(t, []int{all, all}, []int{said, len(embedder.seen)}, "each is asked about once")
}

type counter struct{ count func(texts int) }

func (counter) Model() string { return "counter" }
func (c counter) Expand(_ context.Context, texts []string) ([]string, error) {
	c.count(len(texts))
	return texts, nil
}
