package adaptertest

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

func recallLaw() law {
	views := []Offer{Transactor, Versioned}
	return law{name: "RECALL", number: "S1, S2, S3, S4", says: "what answers a question is found completely, in its scope, as the view at hand shows it, and no more once it is erased", cases: []testCase{
		{"followed", "a process that has followed the store finds what one does that has just begun", nil, recallFollowed},
		{"view", "a run and its token find what the run sees, whatever others do", views, recallView},
		{"vectors", "a vector goes with its entry, in the mutation that erases it", []Offer{Transactor, Tenants}, recallVectors},
	}}
}

// letters is a model that knows how often a text has each pair of letters.
type letters struct{}

func (letters) Model() string { return "adaptertest-letters" }

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 64)
		for k := range len(text) {
			h := fnv.New32a()
			h.Write([]byte(text[k:min(k+2, len(text))]))
			out[i][h.Sum32()%64]++
		}
	}
	return out, nil
}

// recaller is a process that answers questions over the case's store.
type recaller struct {
	*host
	ranker *recall.Ranker
}

func (w *world) recaller() recaller {
	h, cfg := w.hostOn(w.store), recall.Config{}
	if w.tx != nil {
		cfg.Embedder = letters{}
		cfg.Redactor = func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil }
	}
	ranker, err := recall.New(cfg)
	w.must(err)
	r := recaller{h, ranker}
	bank, err := memory.New(w.store, memory.Config{Now: func() time.Time { return w.now }, Ranker: r.ranker, Horizon: time.Millisecond})
	w.must(err)
	r.bank = bank
	return r
}

// embed gives every entry a vector.
func (r recaller) embed() {
	if r.w.tx != nil && r.w.tenants != nil {
		_, err := r.bank.Maintain(r.w.ctx)
		r.w.must(err)
	}
}

// recalls expects an answer of exactly these texts.
func (w *world) recalls(hits []memory.Hit, err error, want []string) {
	w.must(err)
	got := []string{}
	for _, h := range hits {
		got = append(got, h.Entry.Content)
	}
	w.sameTexts(got, want...)
}

func byWord(word string) memory.Search {
	return memory.Search{Text: word, Rank: "lexical", Limit: memory.MaxListLimit}
}

// having are the texts that have a word.
func having(texts []string, word string) (found []string) {
	for _, t := range texts {
		if slices.Contains(strings.Fields(t), word) {
			found = append(found, t)
		}
	}
	return found
}

func recallFollowed(w *world) {
	r := w.recaller()
	job := r.job(home.Tenant, nil)
	var written []driver.Entry
	w.quietly("change a scope at random, and recall after each change", func() {
		for i := range w.size(20, 60, 200) {
			switch k := w.rng.IntN(10); {
			case k < 6 || len(written) == 0:
				d := memory.Draft{Content: fmt.Sprintf("w%d w%d %d", w.rng.IntN(4), w.rng.IntN(4), i), Subjects: []string{fmt.Sprint("s", w.rng.IntN(5))}}
				if k == 0 {
					d.ExpiresAt = w.now.Add(5 * time.Millisecond)
				}
				written = append(written, r.put(job, home.Ref, d))
			case k < 8:
				_, err := job.Delete(w.ctx, home.Ref, written[w.rng.IntN(len(written))].ID)
				w.must(err)
			case k < 9 && w.tx != nil:
				_, err := r.bank.Forget(w.ctx, home.Tenant, fmt.Sprint("s", w.rng.IntN(5)))
				w.must(err)
			default:
				r.embed()
			}
			w.now = w.now.Add(time.Millisecond)
			q := memory.Search{Text: fmt.Sprint("w", w.rng.IntN(4)), Limit: 1 + w.rng.IntN(9)}
			warm, err := r.bank.Search(w.ctx, home.Tenant, home.Ref, q)
			w.must(err)
			cold, err := w.recaller().bank.Search(w.ctx, home.Tenant, home.Ref, q)
			w.must(err)
			w.check(slices.EqualFunc(warm, cold, func(a, b memory.Hit) bool { return a.Entry.ID == b.Entry.ID && a.Score == b.Score }),
				"the same answer from both", "%d and %d hits after change %d", len(warm), len(cold), i)
		}
	})
}

func recallView(w *world) {
	r := w.recaller()
	job := r.job(home.Tenant, nil)
	w.quietly("put entries", func() {
		for i := range 20 {
			r.note(job, home.Ref, fmt.Sprintf("apple %d", i))
		}
	})
	gone := r.note(job, home.Ref, "apple that goes")
	run := r.run(home.Tenant, "run", "")
	r.note(run, home.Ref, "apple of the run")
	want := append(having(r.contents(home.Tenant, home.Ref), "apple"), []string{}...)
	token, err := run.Token(w.ctx)
	w.must(err)
	r.note(job, home.Ref, "apple of another")
	_, err = job.Delete(w.ctx, home.Ref, gone.ID)
	w.must(err)
	w.now = w.now.Add(time.Hour)
	r.embed()
	for _, process := range []recaller{r, w.recaller()} {
		w.did("recall %q as of the run's token", "apple")
		past, err := process.bank.AsOf(w.ctx, home.Tenant, token)
		w.must(err)
		hits, err := past.Search(w.ctx, home.Ref, byWord("apple"))
		w.recalls(hits, err, want)
	}
	w.did("recall %q in the run", "apple")
	hits, err := run.Search(w.ctx, home.Ref, byWord("apple"))
	w.recalls(hits, err, want)
}

func recallVectors(w *world) {
	r := w.recaller()
	job := r.job(home.Tenant, nil)
	e := r.note(job, home.Ref, "apple", "ann")
	kept := r.note(job, home.Ref, "pear", "bob")
	r.note(r.job("globex", nil), home.Ref, "apple", "ann")
	r.embed()
	w.did("forget ann")
	_, err := r.bank.Forget(w.ctx, home.Tenant, "ann")
	w.must(err)
	w.did("read the documents of %s", describeScope(home))
	of := []string{}
	for d, err := range job.Documents(w.ctx, home.Ref, driver.DocumentQuery{}) {
		w.must(err)
		of = append(of, d.Of...)
	}
	w.check(!slices.Contains(of, e.ID), "no vector of a forgotten entry", "one")
	w.check(slices.Contains(of, kept.ID), "the vectors of the others", "none")
	for _, process := range []recaller{r, w.recaller()} {
		hits, err := process.bank.Search(w.ctx, home.Tenant, home.Ref, memory.Search{Text: "apple", Rank: "semantic"})
		w.must(err)
		w.check(!slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Entry.ID == e.ID }), "nothing that was forgotten", "the forgotten entry")
	}
}
