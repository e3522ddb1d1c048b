package recall_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// senses is a model that knows some words with the same sense, and tells others apart by
// their letters.
type senses struct {
	mu      sync.Mutex
	seen    []string
	model   string
	spoil   func(vectors [][]float32) ([][]float32, error)
	respell func(words []string) ([]string, error)
}

var same = map[string]string{"automobile": "car", "auto": "car", "physician": "doctor", "abode": "house", "home": "house"}

func (m *senses) Model() string { return "senses/1" + m.model }

func (m *senses) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, texts...)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 96)
		for _, w := range strings.Fields(strings.ToLower(text)) {
			if s, ok := same[w]; ok {
				w = s
			}
			h := fnv.New64a()
			h.Write([]byte(w + m.model))
			r := rand.New(rand.NewPCG(h.Sum64(), 1))
			for k := range v {
				v[k] += float32(r.NormFloat64())
			}
		}
		vectors[i] = v
	}
	if m.spoil != nil {
		return m.spoil(vectors)
	}
	return vectors, nil
}

func noSecrets(context.Context, string) (memory.Redactor, error) {
	return redact.New(redact.Config{}), nil
}

func byMeaning(m recall.Embedder) *recall.Ranker {
	return newRanker(recall.Config{Embedder: m, Redactor: noSecrets})
}

// byBoth returns a ranker with a model that embeds and expands.
func byBoth() *recall.Ranker {
	return newRanker(recall.Config{Embedder: &senses{}, Expander: &senses{}, Redactor: noSecrets})
}

// chars counts characters, as the protocol's "chars" does.
type chars struct{}

func (chars) Name() string          { return "chars" }
func (chars) Count(text string) int { return utf8.RuneCountInString(text) }

func (w *world) embed() {
	require.NoError(w.t, maintain(w.bank))
}

// maintain does a round.
func maintain(b *memory.Bank) error {
	_, err := b.Maintain(bg)
	return err
}

// vectors are the documents of a ref by which vectors are known.
func (w *world) vectors() (keys []string) {
	for d, err := range w.job.Documents(bg, ref, driver.DocumentQuery{}) {
		require.NoError(w.t, err)
		if d.Class == driver.Content && !d.Whole { // an image is
			require.Equal(w.t, []string{d.Key}, d.Of)
			keys = append(keys, d.Key)
		}
	}
	return keys
}

func (w *world) asked(q memory.Search) []memory.Hit {
	hits, err := w.bank.Search(bg, tenant, ref, q)
	require.NoError(w.t, err)
	return hits
}

func TestRecallByMeaning(t *testing.T) {
	r := byMeaning(&senses{})
	w := newWorld(t, inmem.New(), r)
	w.put("the automobile is parked")
	w.put("a physician called twice")
	w.put("her abode has two floors")
	require.True(t, w.bank.Engines().Offers().Semantic)
	require.Empty(t, w.ask("car doctor"), "nothing is embedded yet, and no word is the same")
	w.embed()
	require.Len(t, w.vectors(), 3)
	require.Equal(t, "the automobile is parked", w.ask("where is my car")[0])
	require.Equal(t, "a physician called twice", w.ask("doctor")[0])
	late := w.put("a doctor wrote")
	require.Contains(t, w.ask("doctor"), late.Content, "what is not embedded is found by its words")
	require.Equal(t, []string{late.Content}, said(w.asked(memory.Search{Text: "doctor", Rank: "lexical"})))
	hits := w.asked(memory.Search{Text: "doctor", Rank: "semantic", Limit: 1})
	require.Equal(t, []string{"a physician called twice"}, said(hits))
	require.Empty(t, hits[0].Terms)
	require.Greater(t, hits[0].Similarity, 0.3)
	hits = w.asked(memory.Search{Text: "doctor"})
	require.Equal(t, late.ID, hits[slices.IndexFunc(hits, func(h memory.Hit) bool { return h.Age == 0 })].Entry.ID, "the newest has no age")
	w.embed()
	require.Equal(t, late.Content, said(w.asked(memory.Search{Text: "doctor"}))[0], "first by words and by meaning")
	require.Empty(t, w.asked(memory.Search{Text: "  \n"}))
	for _, q := range []memory.Search{{Text: "car", Rank: "words"}, {Text: "car", Rank: "relevance"}} {
		_, err := w.bank.Search(bg, tenant, ref, q)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	byWords := w.open(newRanker(recall.Config{}))
	require.False(t, byWords.Engines().Offers().Semantic)
	_, err := byWords.Search(bg, tenant, ref, memory.Search{Text: "car", Rank: "semantic"})
	require.ErrorIs(t, err, memory.ErrNotProvided)
	_, err = memory.New(plainStore{inmem.New()}, memory.Config{Ranker: r})
	require.ErrorIs(t, err, memory.ErrNotProvided, "vectors need a Transactor")
}

// Another process, that has not made the vectors, finds by them too, and one that has just
// begun.
func TestS2_VectorsAreShared(t *testing.T) {
	r, other := byMeaning(&senses{}), byMeaning(&senses{})
	w := newWorld(t, inmem.New(), r)
	elsewhere := w.open(other)
	for i := range 200 {
		w.put(fmt.Sprint("note ", i))
		if i%50 == 0 {
			w.put("the automobile is parked")
			w.embed()
			for _, bank := range []*memory.Bank{w.bank, elsewhere, w.open(byMeaning(&senses{}))} {
				hits, err := bank.Search(bg, tenant, ref, memory.Search{Text: "car", Rank: "semantic", Limit: 1 + i/50})
				require.NoError(t, err)
				require.Len(t, hits, 1+i/50)
				for _, h := range hits {
					require.Equal(t, "the automobile is parked", h.Entry.Content)
				}
			}
		}
	}
	require.NoError(t, maintain(elsewhere))
	require.Len(t, w.vectors(), 204)
	w.embed()
	require.Len(t, w.vectors(), 204, "each is made once")
}

// What a run finds does not change when the pass goes on, and a replay finds the same.
func TestS2_WhatIsEmbeddedLaterDoesNotMoveAView(t *testing.T) {
	r := byMeaning(&senses{})
	w := newWorld(t, inmem.New(), r)
	w.put("the automobile is parked")
	run := w.run("r")
	from, err := run.Token(t.Context())
	require.NoError(t, err)
	q := memory.Search{Text: "car"}
	find := func(run *memory.Run) []string {
		hits, err := run.Search(bg, ref, q)
		require.NoError(t, err)
		return said(hits)
	}
	require.Empty(t, find(run))
	w.embed()
	require.Len(t, w.asked(q), 1)
	w.now = w.now.Add(time.Hour)
	require.Empty(t, find(run))
	to, err := run.Token(t.Context())
	require.NoError(t, err)
	again, err := w.bank.Start(bg, memory.RunConfig{ID: "r2", Tenant: tenant, Redactor: redact.New(redact.Config{}), Replay: &memory.Replay{From: from, To: to}})
	require.NoError(t, err)
	require.Empty(t, find(again))
	resumed, err := w.bank.Start(bg, memory.RunConfig{ID: "r", Tenant: tenant, Redactor: redact.New(redact.Config{}), Resume: to})
	require.NoError(t, err)
	require.Empty(t, find(resumed))
	child, err := run.Child("c")
	require.NoError(t, err)
	require.Empty(t, find(child))
	require.Len(t, find(w.run("later")), 1)

	w.put("an auto")
	w.embed()
	require.Len(t, find(w.run("at once")), 1, "until its mutation must have ended, a vector counts in live memory only")
	w.now = w.now.Add(time.Minute)
	require.Len(t, find(w.run("a minute later")), 2)
}

// The model sees what the redactor lets through, of entries and of questions.
func TestM3_TheModelSeesRedactedTextOnly(t *testing.T) {
	const secret, late = "hunter2-hunter2", "registered-too-late"
	registry := func(values ...string) *redact.SecretRegistry {
		r := redact.New(redact.Config{})
		for i, v := range values {
			require.NoError(t, r.Register(fmt.Sprint("key", i), []byte(v)))
		}
		return r
	}
	m := &senses{}
	r := newRanker(recall.Config{Embedder: m, Redactor: func(context.Context, string) (memory.Redactor, error) { return registry(secret, late), nil }})
	w := newWorld(t, inmem.New(), r)
	w.put("the key is " + late)
	w.embed()
	_, err := w.bank.Search(bg, tenant, ref, memory.Search{Text: "is it " + secret})
	require.NoError(t, err)
	of := "of the run only"
	run, err := w.bank.Start(bg, memory.RunConfig{ID: "r", Tenant: tenant, Redactor: registry(of)})
	require.NoError(t, err)
	_, err = run.Search(bg, ref, memory.Search{Text: "is it " + of})
	require.NoError(t, err)
	var kept []memory.RecordedRead
	reader := run.RecordReads(func(r memory.RecordedRead) error { kept = append(kept, r); return nil })
	_, err = reader.List(bg, ref, memory.ListOptions{Rank: "relevance", Query: "or is it " + of})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(kept), of)
	require.Len(t, m.seen, 4)
	for _, text := range m.seen {
		require.Contains(t, text, "[REDACTED:")
		require.NotContains(t, text, secret)
		require.NotContains(t, text, late)
		require.NotContains(t, text, of)
	}
}

// broken are models that do not keep what an Embedder promises.
var broken = map[string]func([][]float32) ([][]float32, error){
	"an error":         func([][]float32) ([][]float32, error) { return nil, errors.New("canary: the key is wrong") },
	"its own deadline": func([][]float32) ([][]float32, error) { return nil, context.DeadlineExceeded },
	"a panic":          func([][]float32) ([][]float32, error) { panic("canary") },
	"one too few":      func(v [][]float32) ([][]float32, error) { return v[1:], nil },
	"one too many":     func(v [][]float32) ([][]float32, error) { return append(v, v[0]), nil },
	"none":             func([][]float32) ([][]float32, error) { return nil, nil },
	"other dimensions": func(v [][]float32) ([][]float32, error) { v[len(v)-1] = v[len(v)-1][1:]; return v, nil },
	"no dimensions":    func(v [][]float32) ([][]float32, error) { clear(v); return v, nil },
	"NaN":              func(v [][]float32) ([][]float32, error) { v[len(v)-1][3] = float32(math.NaN()); return v, nil },
	"infinity":         func(v [][]float32) ([][]float32, error) { v[len(v)-1][3] = float32(math.Inf(-1)); return v, nil },
	"zeros":            func(v [][]float32) ([][]float32, error) { clear(v[len(v)-1]); return v, nil },
	"what is too large": func(v [][]float32) ([][]float32, error) {
		for i := range v {
			v[i] = make([]float32, 1<<17)
		}
		v[0][0] = 1
		return v, nil
	},
}

// A model that breaks its promise ends the pass with a coded error and nothing half done, and
// fails questions by meaning; by words they are answered.
func TestModelsThatMisbehaveAreContained(t *testing.T) {
	for name, do := range broken {
		m := &senses{}
		r := byMeaning(m)
		w := newWorld(t, inmem.New(), r)
		w.put("the automobile is parked")
		w.put("a physician called")
		w.embed()
		w.put("an auto of his")
		w.put("an abode of hers")
		m.spoil = do
		err := maintain(w.bank)
		require.Equal(t, memory.CodeInternal, memory.CodeOf(err), name)
		require.ErrorIs(t, err, memory.ErrInternal, name)
		require.NotContains(t, err.Error(), "canary", name)
		require.Len(t, w.vectors(), 2, name)
		require.Equal(t, []string{"an auto of his"}, said(w.asked(memory.Search{Text: "auto", Rank: "lexical"})), name)
		_, err = w.bank.Search(bg, tenant, ref, memory.Search{Text: "auto"})
		require.Equal(t, memory.CodeInternal, memory.CodeOf(err), name)
		require.NotContains(t, err.Error(), "canary", name)
		m.spoil = nil
		w.embed() // the round behind the ref where it failed
		w.embed()
		require.Len(t, w.vectors(), 4, name)
		require.ElementsMatch(t, []string{"an auto of his", "the automobile is parked"}, said(w.asked(memory.Search{Text: "auto", Limit: 2})), name)
	}
}

func TestModelsThatHangAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		m := &senses{}
		r := byMeaning(m)
		w := newWorld(t, inmem.New(), r)
		w.put("the automobile is parked")
		m.spoil = func([][]float32) ([][]float32, error) { <-gate; return nil, nil }
		require.ErrorIs(t, maintain(w.bank), memory.ErrInternal)
		require.Empty(t, w.vectors())
	})
}

// A model that is replaced makes another set. The old one stays until the host says that it
// is not asked any more.
func TestAnotherModelIsAnotherSet(t *testing.T) {
	first, second := byMeaning(&senses{}), byMeaning(&senses{model: "b"})
	w := newWorld(t, inmem.New(), first)
	for i := range 300 {
		w.put(fmt.Sprint("automobile number ", i))
	}
	w.embed()
	q := memory.Search{Text: "car", Rank: "semantic"}
	require.Len(t, w.asked(q), 100)
	w.bank = w.open(second)
	require.Empty(t, w.asked(q))
	require.NotEqual(t, first.Version(), second.Version())
	w.embed()
	require.Len(t, w.asked(q), 100)
	require.Len(t, w.vectors(), 600)
	w.bank = w.open(newRanker(recall.Config{Embedder: &senses{model: "b"}, Redactor: noSecrets, Former: []string{"senses/1", "senses/1b"}}))
	w.embed()
	require.Len(t, w.vectors(), 300)
	require.Len(t, w.asked(q), 100)
}

// The words of one scope and its vectors do not move the ranking of another.
func TestS4_OtherScopesDoNotMoveMeaning(t *testing.T) {
	r := byMeaning(&senses{})
	w := newWorld(t, inmem.New(), r)
	w.put("the automobile is parked")
	w.put("a physician called")
	w.embed()
	q := memory.Search{Text: "which car"}
	before := w.asked(q)
	for i := range 100 {
		_, err := w.job.Put(bg, "other", memory.Draft{Content: fmt.Sprint("car ", i)})
		require.NoError(t, err)
		_, err = w.pass("globex").Put(bg, ref, memory.Draft{Content: fmt.Sprint("car ", i)})
		require.NoError(t, err)
	}
	w.embed()
	for _, s := range [][2]string{{tenant, "other"}, {"globex", ref}} {
		hits, err := w.bank.Search(bg, s[0], s[1], q)
		require.NoError(t, err)
		require.Len(t, hits, 100)
	}
	require.Equal(t, before, w.asked(q))
}

// S1, S2 and S5 over every way to ask: of live memory, a run, a token and a replay, by words,
// by meaning and by both, with every option of a list, while memory and its vectors move.
func TestS1S2S5_GeneratedReads(t *testing.T) {
	seeds := uint64(9)
	if testing.Short() {
		seeds = 4
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 400
	}
	for seed := range seeds {
		s := newReads(t, seed)
		for range 45 {
			s.step()
		}
		s.replay()
	}
	require.Greater(t, replayed, 20)
}

// reads is a random history with what a run read in it.
type reads struct {
	*world
	r       *rand.Rand
	seed    uint64
	ranker  *recall.Ranker
	log     *events.Log
	written []memory.Entry
	run     *memory.Run
	from    memory.Token
	taken   []taken
}

// taken is something that the run did, to be done again by its replay.
type taken struct {
	put     memory.Draft
	q       *memory.Search
	o       *memory.ListOptions
	hits    []memory.Hit
	entries []memory.Entry
}

func newReads(t testing.TB, seed uint64) *reads {
	ranker := byBoth()
	s := &reads{world: newWorld(t, inmem.New(), ranker), r: rand.New(rand.NewPCG(seed, 7)), seed: seed, ranker: ranker, log: new(events.Log)}
	s.bank = s.open(ranker)
	s.job = s.pass(tenant)
	for range 15 {
		s.written = s.world.step(s.r, s.written)
	}
	return s
}

func (s *reads) open(r memory.Ranker) *memory.Bank {
	b, err := memory.New(s.store, memory.Config{Now: func() time.Time { return s.now }, Ranker: r, TokenCounter: chars{}, Sink: s.log, WriteEvents: true})
	require.NoError(s.t, err)
	return b
}

func (s *reads) question() memory.Search {
	q := memory.Search{Text: vocabulary[s.r.IntN(len(vocabulary))] + " " + vocabulary[s.r.IntN(len(vocabulary))], Limit: s.r.IntN(12)}
	q.Rank = []string{"", "lexical", "semantic"}[s.r.IntN(3)]
	if s.r.IntN(4) == 0 {
		q.Tags = []string{vocabulary[s.r.IntN(len(vocabulary))]}
	}
	return q
}

func (s *reads) options() memory.ListOptions {
	q := s.question()
	o := memory.ListOptions{Limit: q.Limit, Query: q.Text, Rank: []string{"", "recency", "relevance", "relevance"}[s.r.IntN(4)]}
	if len(q.Tags) > 0 {
		o.Tag = q.Tags[0]
	}
	if s.r.IntN(2) == 0 {
		o.TokenBudget = 1 + s.r.IntN(120)
	}
	return o
}

func (s *reads) step() {
	switch s.r.IntN(6) {
	case 0:
		require.NoError(s.t, maintain(s.bank))
	case 1:
		s.now = s.now.Add(time.Duration(s.r.IntN(90)) * time.Second)
	default:
		s.written = s.world.step(s.r, s.written)
	}
	if s.run == nil && s.r.IntN(5) == 0 {
		var err error
		s.run = s.world.run("r")
		s.from, err = s.run.Token(s.t.Context())
		require.NoError(s.t, err)
	}
	fresh := s.open(byBoth())
	ask := func(b *memory.Bank) source {
		return source{
			func(q memory.Search) ([]memory.Hit, error) { return b.Search(bg, tenant, ref, q) },
			func(o memory.ListOptions) ([]memory.Entry, error) { return b.Reader(tenant).List(bg, ref, o) },
		}
	}
	s.same(ask(s.bank), ask(fresh))
	if s.run == nil {
		return
	}
	if s.r.IntN(3) == 0 {
		d := memory.Draft{Content: vocabulary[s.r.IntN(len(vocabulary))] + " of the run"}
		if s.r.IntN(5) == 0 {
			d.ExpiresAt = s.now.Add(time.Duration(1+s.r.IntN(60)) * time.Second)
		}
		e, err := s.run.Put(bg, ref, d)
		require.NoError(s.t, err)
		s.taken = append(s.taken, taken{put: d})
		s.written = append(s.written, e)
		s.now = s.now.Add(time.Millisecond)
	}
	token, err := s.run.Token(s.t.Context())
	require.NoError(s.t, err)
	resumed, err := fresh.Start(bg, memory.RunConfig{ID: "r", Tenant: tenant, Redactor: redact.New(redact.Config{}), Resume: token})
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		return
	}
	require.NoError(s.t, err)
	of := func(run *memory.Run) source {
		return source{
			func(q memory.Search) ([]memory.Hit, error) { return run.Search(bg, ref, q) },
			func(o memory.ListOptions) ([]memory.Entry, error) { return run.Memory().List(bg, ref, o) },
		}
	}
	q, o, hits, entries := s.same(of(s.run), of(resumed))
	s.taken = append(s.taken, taken{q: &q, hits: hits}, taken{o: &o, entries: entries})
	at := func(b *memory.Bank) source {
		return source{
			func(q memory.Search) ([]memory.Hit, error) { return searchAsOf(b, token, q) },
			func(o memory.ListOptions) ([]memory.Entry, error) {
				r, err := b.AsOf(bg, tenant, token)
				if err != nil {
					return nil, err
				}
				return r.List(bg, ref, o)
			},
		}
	}
	if _, err := searchAsOf(s.bank, token, q); err == nil {
		s.same(at(s.bank), at(fresh))
	} else {
		require.ErrorIs(s.t, err, memory.ErrSnapshotUnavailable)
		_, err := searchAsOf(fresh, token, q)
		require.ErrorIs(s.t, err, memory.ErrSnapshotUnavailable)
	}
}

// source is a way to ask.
type source struct {
	recall func(memory.Search) ([]memory.Hit, error)
	list   func(memory.ListOptions) ([]memory.Entry, error)
}

// same asks a process that has followed memory and one that has not. The answers are equal,
// have only what a list has, and keep the budget by the rules of RFC 0113.
func (s *reads) same(warm, cold source) (q memory.Search, o memory.ListOptions, hits []memory.Hit, entries []memory.Entry) {
	t := s.t
	q, o = s.question(), s.options()
	hits, err := warm.recall(q)
	require.NoError(t, err)
	other, err := cold.recall(q)
	require.NoError(t, err)
	require.Equal(t, other, hits, "seed %d: %+v", s.seed, q)
	shown, err := warm.list(memory.ListOptions{Limit: memory.MaxListLimit})
	require.NoError(t, err)
	for _, h := range hits {
		require.True(t, slices.ContainsFunc(shown, func(e memory.Entry) bool { return e.Equal(&h.Entry) }), "seed %d", s.seed)
	}
	longer := q
	longer.Limit = len(hits) + 5
	more, err := warm.recall(longer)
	require.NoError(t, err)
	for i := range hits {
		require.Equal(t, more[i].Entry.ID, hits[i].Entry.ID, "a smaller limit gives the beginning")
	}

	entries, err = warm.list(o)
	require.NoError(t, err)
	again, err := cold.list(o)
	require.NoError(t, err)
	require.Equal(t, again, entries, "seed %d: %+v", s.seed, o)
	ranking := shown
	if o.Rank == "relevance" {
		all, err := warm.recall(memory.Search{Text: o.Query, Limit: memory.MaxListLimit})
		require.NoError(t, err)
		ranking = nil
		for _, h := range all {
			ranking = append(ranking, h.Entry)
		}
	}
	want, left := []memory.Entry{}, o.TokenBudget
	for _, e := range ranking {
		n := utf8.RuneCountInString(e.Content)
		if o.Tag != "" && !slices.Contains(e.Tags, o.Tag) || o.TokenBudget > 0 && n > o.TokenBudget {
			continue
		}
		if o.TokenBudget > 0 && n > left || o.Limit > 0 && len(want) == o.Limit {
			break
		}
		left -= n
		want = append(want, e)
	}
	require.Equal(t, want, entries, "seed %d: %+v", s.seed, o)
	return q, o, hits, entries
}

// replay does again what the run did, and must read the same or refuse.
func (s *reads) replay() {
	if s.run == nil {
		return
	}
	to, err := s.run.Token(s.t.Context())
	require.NoError(s.t, err)
	require.NoError(s.t, s.run.End(bg))
	b := s.open(byBoth())
	again, err := b.Start(bg, memory.RunConfig{ID: "again", Tenant: tenant, Redactor: redact.New(redact.Config{}),
		Replay: &memory.Replay{From: s.from, To: to, Events: s.log.Events(tenant, "r")}})
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		return
	}
	require.NoError(s.t, err)
	for _, x := range s.taken {
		switch {
		case x.q != nil:
			hits, err := again.Search(bg, ref, *x.q)
			if !errors.Is(err, memory.ErrSnapshotUnavailable) {
				require.NoError(s.t, err)
				require.Equal(s.t, x.hits, hits, "seed %d: %+v", s.seed, *x.q)
				replayed++
			}
		case x.o != nil:
			entries, err := again.Memory().List(bg, ref, *x.o)
			if !errors.Is(err, memory.ErrSnapshotUnavailable) {
				require.NoError(s.t, err)
				require.Equal(s.t, x.entries, entries, "seed %d: %+v", s.seed, *x.o)
			}
		default:
			_, err := again.Put(bg, ref, x.put)
			if errors.Is(err, memory.ErrSnapshotUnavailable) {
				return
			}
			require.NoError(s.t, err)
		}
	}
}

var replayed int
