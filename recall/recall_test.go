package recall_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

var bg = context.Background()

const tenant, ref = "acme", "agent"

// world is a bank with a ranker, and a clock.
type world struct {
	t     testing.TB
	store driver.Adapter
	now   time.Time
	bank  *memory.Bank
	job   *memory.Job
}

// newRanker returns a ranker with a Config that is not refused.
func newRanker(cfg recall.Config) *recall.Ranker {
	r, err := recall.New(cfg)
	if err != nil {
		panic(err)
	}
	return r
}

func newWorld(t testing.TB, store driver.Adapter, r memory.Ranker) *world {
	w := &world{t: t, store: store, now: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)}
	w.bank = w.open(r)
	w.job = w.pass(tenant)
	return w
}

// open opens another bank over the same store, as another process does.
func (w *world) open(r memory.Ranker) *memory.Bank {
	b, err := memory.New(w.store, memory.Config{Now: func() time.Time { return w.now }, Ranker: r})
	require.NoError(w.t, err)
	return b
}

func (w *world) pass(tenant string) *memory.Job {
	job, err := w.bank.Background(memory.JobConfig{ID: "pass", Tenant: tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(w.t, err)
	return job
}

func (w *world) run(id string) *memory.Run {
	run, err := w.bank.Start(bg, memory.RunConfig{ID: id, Tenant: tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(w.t, err)
	return run
}

func (w *world) put(text string, tags ...string) memory.Entry {
	e, err := w.job.Put(bg, ref, memory.Draft{Content: text, Tags: tags})
	require.NoError(w.t, err)
	w.now = w.now.Add(time.Second)
	return e
}

// ask returns what the hits say, best first.
func (w *world) ask(q string) []string {
	hits, err := w.bank.Search(bg, tenant, ref, memory.Search{Text: q})
	require.NoError(w.t, err)
	return said(hits)
}

func said(hits []memory.Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Entry.Content)
	}
	return out
}

func TestRecallFindsWhatMatters(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	for _, text := range []string{
		"The lease of the Berlin office ends on 30 June 2027.",
		"Lena prefers calls before noon.",
		"Deploys of billing-api go through ./deploy/run.sh --canary 5.",
		"Der Vertrag mit Müller läuft Ende März aus.",
		"明日の会議は午後三時から始まります。",
		"getUserById returns null for accounts that were closed.",
		"Max has two cats and a dog.",
	} {
		w.put(text)
	}
	w.put("Ask twice before touching production.", "on-call", "rule")
	for question, want := range map[string]string{
		"When do the leases of our offices end?":  "The lease of the Berlin",
		"does lena prefer being called at noon":   "Lena prefers",
		"canary flag of run.sh":                   "Deploys of",
		"wann läuft der vertrag mit Muller aus":   "Der Vertrag",
		"会議は何時ですか":                                "明日の会議",
		"which function returns null, user by id": "getUserById",
		"which pets does Max have, a cat?":        "Max has",
		"on-call rules":                           "Ask twice",
	} {
		got := w.ask(question)
		require.NotEmpty(t, got, question)
		require.Contains(t, got[0], want, question)
	}
	require.Empty(t, w.ask("zeppelin"))
	require.Empty(t, w.ask("?! …"))
	require.Len(t, w.ask(""), 8, "nothing is asked, so it is a list")
	hits, err := w.bank.Search(bg, tenant, ref, memory.Search{Text: "the office lease", Limit: 1})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Equal(t, []string{"offic", "leas"}, hits[0].Terms)
	require.Positive(t, hits[0].Score)
}

// What is asked is answered through the view at hand, and only by what the filters let
// through, before the limit applies.
func TestS1_OnlyWhatAListWouldShow(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	for i := range 50 {
		w.put(fmt.Sprintf("tea %d", i), "many")
	}
	old := w.put("tea, as it was ages ago, in a long text that matches less", "one")
	hits, err := w.bank.Search(bg, tenant, ref, memory.Search{Text: "tea", Tags: []string{"one"}, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{old.Content}, said(hits))
	hits, err = w.bank.Search(bg, tenant, ref, memory.Search{Text: "tea", Since: old.CreatedAt, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{old.Content}, said(hits))
	for _, foreign := range []struct{ tenant, ref string }{{"globex", ref}, {tenant, "other"}, {tenant, "../agent"}, {"acme ", ref}} {
		hits, err := w.bank.Search(bg, foreign.tenant, foreign.ref, memory.Search{Text: "tea"})
		require.NoError(t, err)
		require.Empty(t, hits)
		require.NotNil(t, hits)
	}
	_, err = w.bank.Search(bg, tenant, ref, memory.Search{Text: "tea", Limit: -1})
	require.ErrorIs(t, err, memory.ErrValidation)
	none, err := memory.New(inmem.New(), memory.Config{})
	require.NoError(t, err)
	_, err = none.Search(bg, tenant, ref, memory.Search{Text: "tea", Rank: "lexical"})
	require.ErrorIs(t, err, memory.ErrNotProvided)
}

// What is not about the subject takes no place among the first.
func TestSearchAboutASubject(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	_, err := w.job.Put(bg, ref, memory.Draft{Content: "Lena drinks tea in the office", Subjects: []string{"lena"}})
	require.NoError(t, err)
	for range 20 {
		w.put("tea tea", "lena")
	}
	hits, err := w.bank.Search(bg, tenant, ref, memory.Search{Text: "tea", Subject: "lena", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"Lena drinks tea in the office"}, said(hits))
	hits, err = w.bank.Search(bg, tenant, ref, memory.Search{Text: "tea", Subject: "len"})
	require.NoError(t, err)
	require.Empty(t, hits)
}

// liar ranks what it wants.
type liar struct{ ids []string }

func (l liar) Version() string { return "liar/1" }
func (l liar) Model() string   { return "" }
func (l liar) Rank(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) {
	var hits []memory.Hit
	for _, id := range l.ids {
		hits = append(hits, memory.Hit{Entry: memory.Entry{ID: id, Content: "made up"}})
	}
	return hits, nil
}

// A ranker cannot show what the view does not.
func TestS1_ARankerCannotLie(t *testing.T) {
	l := &liar{}
	w := newWorld(t, inmem.New(), l)
	mine := w.put("mine", "x")
	foreign, err := w.pass("globex").Put(bg, ref, memory.Draft{Content: "theirs"})
	require.NoError(t, err)
	gone := w.put("gone")
	_, err = w.job.Delete(bg, ref, gone.ID)
	require.NoError(t, err)
	run := w.run("r")
	late := w.put("late")
	l.ids = []string{foreign.ID, gone.ID, "no such", "", mine.ID, mine.ID, late.ID}
	require.Equal(t, []string{"mine", "late"}, w.ask("x"))
	hits, err := run.Search(bg, ref, memory.Search{Text: "x"})
	require.NoError(t, err)
	require.Equal(t, []string{"mine"}, said(hits))
	hits, err = w.bank.Search(bg, tenant, ref, memory.Search{Text: "x", Tags: []string{"y"}})
	require.NoError(t, err)
	require.Empty(t, hits)
}

var vocabulary = strings.Fields("tea coffee lena max berlin lisbon lease invoice deploy canary monday 22:00 v1.2 .env cats dog runs café 会議 明日 -v api getUser")

// step does something random to the memory, and returns what it wrote.
func (w *world) step(r *rand.Rand, written []memory.Entry) []memory.Entry {
	switch k := r.IntN(20); {
	case k < 12 || len(written) == 0:
		var words []string
		for range 1 + r.IntN(6) {
			words = append(words, vocabulary[r.IntN(len(vocabulary))])
		}
		d := memory.Draft{Content: strings.Join(words, " "), Subjects: []string{fmt.Sprint("s", r.IntN(12))}}
		if r.IntN(3) == 0 {
			d.ExpiresAt = w.now.Add(time.Duration(1+r.IntN(60)) * time.Second)
		}
		if r.IntN(3) == 0 {
			d.Tags = []string{vocabulary[r.IntN(len(vocabulary))]}
		}
		e, err := w.job.Put(bg, ref, d)
		require.NoError(w.t, err)
		written = append(written, e)
	case k < 15:
		_, err := w.job.Delete(bg, ref, written[r.IntN(len(written))].ID)
		require.NoError(w.t, err)
	case k < 17:
		a, b := written[r.IntN(len(written))].ID, written[r.IntN(len(written))].ID
		_, _ = w.job.Rewrite(bg, ref, memory.Rewrite{Retire: []memory.Retire{{ID: a, State: memory.Merged, For: b}}})
	case k < 18:
		_, _ = w.job.Rewrite(bg, ref, memory.Rewrite{Restore: []string{written[r.IntN(len(written))].ID}})
	case k < 19:
		_, err := w.bank.Forget(bg, tenant, fmt.Sprint("s", r.IntN(12)))
		require.NoError(w.t, err)
	default:
		_, err := w.bank.Purge(bg, tenant)
		require.NoError(w.t, err)
	}
	w.now = w.now.Add(time.Duration(r.IntN(20)) * time.Second)
	return written
}

// A process that has followed memory for long answers as one that has just begun, for live
// memory, for open runs with writes of their own, and for tokens.
func TestS2_WarmIsAsCold(t *testing.T) {
	seeds := uint64(15)
	if testing.Short() {
		seeds = 5
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 400
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(t, inmem.New(), newRanker(recall.Config{MaxBytes: int64(1 + r.IntN(2)*1<<20)}))
		var written []memory.Entry
		var runs []*memory.Run
		var tokens []memory.Token
		for i := range 60 {
			written = w.step(r, written)
			if r.IntN(8) == 0 {
				runs = append(runs, w.run(fmt.Sprint("r", i)))
			}
			if len(runs) > 0 && r.IntN(3) == 0 {
				run := runs[r.IntN(len(runs))]
				e, err := run.Put(bg, ref, memory.Draft{Content: vocabulary[r.IntN(len(vocabulary))] + " of a run"})
				require.NoError(t, err)
				written = append(written, e)
				token, err := run.Token(t.Context())
				require.NoError(t, err)
				tokens = append(tokens, token)
			}
			q := memory.Search{Text: vocabulary[r.IntN(len(vocabulary))] + " " + vocabulary[r.IntN(len(vocabulary))], Limit: 1 + r.IntN(20)}
			fresh := w.open(newRanker(recall.Config{}))
			got, err := w.bank.Search(bg, tenant, ref, q)
			require.NoError(t, err)
			want, err := fresh.Search(bg, tenant, ref, q)
			require.NoError(t, err)
			require.Equal(t, want, got, "seed %d, step %d", seed, i)
			if len(tokens) > 0 {
				token := tokens[r.IntN(len(tokens))]
				got, err := searchAsOf(w.bank, token, q)
				want, wanted := searchAsOf(fresh, token, q)
				require.Equal(t, wanted, err)
				require.Equal(t, want, got, "seed %d, step %d, token", seed, i)
				reader, err := w.bank.AsOf(bg, tenant, token)
				if err == nil {
					list, err := reader.List(bg, ref, memory.ListOptions{Limit: memory.MaxListLimit})
					if err == nil { // S1
						for _, h := range got {
							require.True(t, slices.ContainsFunc(list, func(e memory.Entry) bool { return e.ID == h.Entry.ID }))
						}
					}
				}
			}
			if len(runs) > 0 {
				run := runs[r.IntN(len(runs))]
				got, err := run.Search(bg, ref, q)
				require.NoError(t, err)
				again, err := run.Search(bg, ref, q)
				require.NoError(t, err)
				require.Equal(t, again, got)
				list, err := run.Memory().List(bg, ref, memory.ListOptions{Limit: memory.MaxListLimit})
				require.NoError(t, err)
				for _, h := range got {
					require.True(t, slices.ContainsFunc(list, func(e memory.Entry) bool { return e.ID == h.Entry.ID }))
				}
			}
		}
	}
}

func searchAsOf(bank *memory.Bank, token memory.Token, q memory.Search) ([]memory.Hit, error) {
	past, err := bank.AsOf(bg, tenant, token)
	if err != nil {
		return nil, err
	}
	return past.Search(bg, ref, q)
}

// The words of one ref do not move the ranking of another.
func TestS4_OtherScopesDoNotMoveIt(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	w.put("tea in Berlin")
	w.put("coffee in Lisbon")
	q := memory.Search{Text: "tea or coffee in Lisbon"}
	before, err := w.bank.Search(bg, tenant, ref, q)
	require.NoError(t, err)
	for i := range 100 {
		_, err := w.job.Put(bg, "other", memory.Draft{Content: fmt.Sprint("coffee coffee Lisbon ", i)})
		require.NoError(t, err)
		_, err = w.pass("globex").Put(bg, ref, memory.Draft{Content: fmt.Sprint("coffee coffee Lisbon ", i)})
		require.NoError(t, err)
	}
	_, err = w.bank.Search(bg, tenant, "other", q)
	require.NoError(t, err)
	_, err = w.bank.Search(bg, "globex", ref, q)
	require.NoError(t, err)
	after, err := w.bank.Search(bg, tenant, ref, q)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// plainStore shows no view and tells no changes.
type plainStore struct{ driver.Adapter }

func (plainStore) As(any) bool { return false }

func TestRecallOverAStoreOfTheFirstStep(t *testing.T) {
	w := newWorld(t, plainStore{inmem.New()}, newRanker(recall.Config{}))
	w.put("tea in Berlin")
	w.put("coffee")
	require.Equal(t, []string{"tea in Berlin"}, w.ask("tea"))
	w.put("tea")
	require.Equal(t, []string{"tea", "tea in Berlin"}, w.ask("tea"))
}

func TestE4_AReplayRecallsWhatTheRunSaw(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	w.put("tea in Berlin")
	run := w.run("r")
	from, err := run.Token(t.Context())
	require.NoError(t, err)
	q := memory.Search{Text: "tea"}
	want, err := run.Search(bg, ref, q)
	require.NoError(t, err)
	to, err := run.Token(t.Context())
	require.NoError(t, err)
	w.put("tea everywhere tea")
	again, err := w.bank.Start(bg, memory.RunConfig{ID: "r2", Tenant: tenant, Redactor: redact.New(redact.Config{}), Replay: &memory.Replay{From: from, To: to}})
	require.NoError(t, err)
	got, err := again.Search(bg, ref, q)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// A question of any length is answered, and does not end the process.
func TestS1_AQuestionOfAnyLength(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	w.put("tea")
	size := 24 << 20
	if testing.Short() {
		size = 4 << 20
	}
	require.Equal(t, []string{"tea"}, w.ask("tea t"+strings.Repeat("y", size)))
}

// A replay does not know at which instant the run asked, only between which two.
func TestE4_AReplayRanksAsTheRunDid(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	for _, days := range []int{1000, 400, 100, 30, 7, 1} {
		_, err := w.job.Put(bg, ref, memory.Draft{Content: fmt.Sprint("tea for ", strings.Repeat("more ", days%7), days), CreatedAt: w.now.AddDate(0, 0, -days)})
		require.NoError(t, err)
	}
	replay := func(wait time.Duration) (recorded, replayed []memory.Hit, err error) {
		run := w.run("r")
		from, err := run.Token(t.Context())
		require.NoError(t, err)
		w.now = w.now.Add(wait)
		q := memory.Search{Text: "more tea"}
		recorded, err = run.Search(bg, ref, q)
		require.NoError(t, err)
		to, err := run.Token(t.Context())
		require.NoError(t, err)
		again, err := w.bank.Start(bg, memory.RunConfig{ID: "r2", Tenant: tenant, Redactor: redact.New(redact.Config{}), Replay: &memory.Replay{From: from, To: to}})
		require.NoError(t, err)
		replayed, err = again.Search(bg, ref, q)
		return recorded, replayed, err
	}
	recorded, replayed, err := replay(90 * 24 * time.Hour)
	require.NoError(t, err)
	require.Equal(t, recorded, replayed)

	// What expires in between moves the ranking of what does not.
	_, err = w.job.Put(bg, ref, memory.Draft{Content: "coffee", ExpiresAt: w.now.Add(time.Hour)})
	require.NoError(t, err)
	recorded, replayed, err = replay(time.Minute)
	require.NoError(t, err)
	require.Equal(t, recorded, replayed)
	_, _, err = replay(2 * time.Hour)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
}

// keeper keeps the view of its last question.
type keeper struct{ view *memory.View }

func (*keeper) Version() string { return "keeper/1" }
func (*keeper) Model() string   { return "" }
func (k *keeper) Rank(_ context.Context, v *memory.View, _ memory.Search) ([]memory.Hit, error) {
	k.view = v
	return nil, nil
}

// A view that a ranker keeps does not move when the replay goes on.
func TestS2_AKeptViewStaysAsItIs(t *testing.T) {
	k, log := new(keeper), new(events.Log)
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: k, Sink: log, WriteEvents: true})
	require.NoError(t, err)
	start := func(c memory.RunConfig) *memory.Run {
		c.Tenant, c.Redactor = tenant, redact.New(redact.Config{})
		run, err := bank.Start(bg, c)
		require.NoError(t, err)
		return run
	}
	run := start(memory.RunConfig{ID: "r"})
	from, err := run.Token(t.Context())
	require.NoError(t, err)
	_, err = run.Put(bg, ref, memory.Draft{Content: "own"})
	require.NoError(t, err)
	to, err := run.Token(t.Context())
	require.NoError(t, err)
	require.NoError(t, run.End(bg))
	again := start(memory.RunConfig{ID: "r2", Replay: &memory.Replay{From: from, To: to, Events: log.Events(tenant, "r")}})
	_, err = again.Search(bg, ref, memory.Search{Text: "own"})
	require.NoError(t, err)
	_, err = again.Put(bg, ref, memory.Draft{Content: "own"})
	require.NoError(t, err)
	for e, err := range k.view.Entries(bg) {
		require.NoError(t, err)
		t.Error("shown:", e.Content)
	}
}

// Bounds finer than a millisecond let the same entries through as a filter does.
func TestS1_BoundsBetweenMilliseconds(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	w.put("tea tea")
	e := w.put("tea, and much that makes it less of a match")
	inside := e.CreatedAt.Add(time.Microsecond)
	for q, want := range map[*memory.Search][]string{
		{Since: inside}: {},
		{Since: e.CreatedAt.Add(-time.Microsecond), Limit: 1}: {e.Content},
		{Until: inside}:      {"tea tea", e.Content},
		{Until: e.CreatedAt}: {"tea tea"},
	} {
		q.Text = "tea"
		hits, err := w.bank.Search(bg, tenant, ref, *q)
		require.NoError(t, err)
		require.ElementsMatch(t, want, said(hits))
		filter := *q
		filter.Text = ""
		found, err := w.bank.Search(bg, tenant, ref, filter)
		require.NoError(t, err)
		require.Len(t, found, len(want))
	}
}

// What several entries say counts a little more than what one says, also where only the first
// is asked for; the output of a compaction does not.
func TestCorroboratedEntriesComeFirst(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	w.put(strings.Repeat("much that is not asked for and makes the others short ", 4))
	derive := func(text string, compacted bool) {
		var sources []string
		for i := range 5 {
			sources = append(sources, w.put(fmt.Sprint("source ", i)).ID)
		}
		_, err := w.job.Rewrite(bg, ref, memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: text}, Sources: sources, Merges: sources, Compacted: compacted}}})
		require.NoError(t, err)
		w.now = w.now.Add(time.Hour) // no neighbours
	}
	derive("tea is served at nine, they all say so", false)
	derive("tea is served at nine", true)
	w.put("tea is served at nine, says he")
	want := []string{"tea is served at nine, they all say so", "tea is served at nine, says he", "tea is served at nine"}
	require.Equal(t, want, w.ask("tea at nine"))
	for n := range 3 {
		require.Equal(t, want[:n+1], said(w.asked(memory.Search{Text: "tea at nine", Limit: n + 1})))
	}
}
