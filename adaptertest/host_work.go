package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// worker is a host at work. Two of them do the same: one over the case's store, some of whose calls fail, and
// one over the in-memory store. What both hold then must be the same.
type worker struct {
	*host
	store  driver.Adapter
	tx     driver.Transactor     // nil if the store has none
	fault  atomic.Pointer[Fault] // of the calls that its bank makes
	pass   string                // the id of a pass
	view   *memory.Run           // nil if none was started
	token  memory.Token          // of one of its positions
	answer []string              // to the last question
}

// work is something that a host does in a scope.
type work struct {
	needs []Offer
	// again tells whether a host repeats it after a call has failed, whose outcome it may not know.
	again bool
	do    func(h *worker, s driver.Scope, x int) error
}

var workScopes = []driver.Scope{home, home, at(home.Tenant, "sales"), at("globex", home.Ref)}

// workFacts are what a host is told. Some say the same, or are values of one slot.
var workFacts = []memory.Draft{
	{Content: "Lena prefers e-mail."}, {Content: "Lena prefers  e-mail"}, {Content: "Tomas signs orders.", Tags: []string{"note", "desk"}},
	{Content: "The plan is Starter.", Tags: []string{"slot:plan"}}, {Content: "The plan is Team.", Tags: []string{"slot:plan"}},
	{Content: "Brightwater pays within 30 days.", Tags: []string{"note", "desk"}}, {Content: "Brightwater pays within 60 days.", Tags: []string{"desk", "note"}}, {Content: "The key is " + canary + "."},
}

func customer(x int) string { return fmt.Sprint("customer:", x%3) }

// draft is one of the facts, of a customer or of none.
func (h *worker) draft(x int) memory.Draft {
	d := workFacts[x%len(workFacts)]
	if x /= len(workFacts); x%2 == 0 {
		d.Subjects = []string{customer(x / 2)}
	}
	if x/2%5 == 0 {
		d.ExpiresAt = h.w.now.Add(59 * time.Minute)
	}
	return d
}

// What hosts do without an engine.
var (
	putWork = work{nil, false, func(h *worker, s driver.Scope, x int) error {
		d := h.draft(x)
		h.w.did("put %s in %s", short(d.Content), describeScope(s))
		_, err := h.job("pass", s.Tenant).Put(h.w.ctx, s.Ref, d)
		return err
	}}
	deleteWork = work{nil, false, func(h *worker, s driver.Scope, x int) error {
		return h.ofOne(s, x, "delete", func(e driver.Entry) error {
			_, err := h.job("pass", s.Tenant).Delete(h.w.ctx, s.Ref, e.ID)
			return err
		})
	}}
	mergeWork = work{[]Offer{Transactor}, false, func(h *worker, s driver.Scope, x int) error {
		return h.ofOne(s, x, "merge with the newest", func(e driver.Entry) error {
			both := []string{e.ID, h.live(s)[0].ID}
			_, err := h.job("pass", s.Tenant).Rewrite(h.w.ctx, s.Ref, memory.Rewrite{Derive: []memory.Derived{{
				Draft: memory.Draft{Content: "both " + e.Content}, Sources: both, Merges: both,
			}}})
			return err
		})
	}}
	forgetWork = work{[]Offer{Transactor}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("forget %s of %s", customer(x), short(s.Tenant))
		_, err := h.bank.Forget(h.w.ctx, s.Tenant, customer(x))
		return err
	}}
	scrubWork = work{[]Offer{Transactor}, true, func(h *worker, s driver.Scope, x int) error {
		secrets := redact.New(redact.Config{})
		h.w.must(secrets.Register("k", []byte(canary)))
		h.w.did("scrub %s of a secret", short(s.Tenant))
		_, err := h.bank.Scrub(h.w.ctx, s.Tenant, secrets)
		return err
	}}
	maintainWork = work{[]Offer{Transactor, Tenants}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("maintain memory by two rounds")
		for range 2 { // one that failed has left its place for the next
			if _, err := h.bank.Maintain(h.w.ctx); err != nil {
				return err
			}
		}
		return nil
	}}
	dropWork = work{[]Offer{Transactor, Tenants}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("drop the tenant globex")
		return h.bank.DropTenant(h.w.ctx, "globex")
	}}
	startRunWork = work{[]Offer{Transactor, Versioned}, false, func(h *worker, s driver.Scope, x int) error {
		if x%2 == 0 {
			h.token = ""
		}
		h.w.did("start a run, from a token of the last one: %t", h.token != "")
		view, err := h.bank.Start(h.w.ctx, memory.RunConfig{ID: h.pass, Tenant: home.Tenant, Resume: h.token, Redactor: redact.New(redact.Config{})})
		h.view = view
		return err
	}}
	putInRunWork = work{[]Offer{Transactor, Versioned}, false, func(h *worker, s driver.Scope, x int) error {
		if h.view == nil {
			return nil
		}
		h.w.did("the run puts an entry in %s, and takes a token", short(s.Ref))
		if _, err := h.view.Put(h.w.ctx, s.Ref, h.draft(x)); err != nil {
			return err
		}
		token, err := h.view.Token(h.w.ctx)
		h.token = token
		return err
	}}
	searchWork = work{nil, false, func(h *worker, s driver.Scope, x int) error {
		q := memory.Search{Text: workFacts[x%len(workFacts)].Content, Rank: []string{"lexical", "semantic", ""}[x%3], Limit: memory.MaxListLimit}
		if h.tx == nil {
			q.Rank = ""
		}
		h.w.did("search %s for %s by rank %q", describeScope(s), short(q.Text), q.Rank)
		hits, err := h.bank.Search(h.w.ctx, s.Tenant, s.Ref, q)
		h.w.must(err)
		again, err := h.w.worker(h.store).bank.Search(h.w.ctx, s.Tenant, s.Ref, q)
		h.w.must(err)
		h.w.check(slices.EqualFunc(hits, again, func(a, b memory.Hit) bool { return a.Entry.ID == b.Entry.ID && a.Score == b.Score }),
			"the same answer from a process that has just begun", "%d and %d hits", len(hits), len(again))
		h.answer = textsFound(hits)
		return nil
	}}
)

// plainWork is what a host does of which every engine must take notice.
var plainWork = []work{putWork, putWork, putWork, putWork, deleteWork, mergeWork, forgetWork, scrubWork, maintainWork, dropWork, startRunWork, putInRunWork}

// textsFound are the contents that a search has found, in the order of the alphabet.
func textsFound(hits []memory.Hit) (texts []string) {
	for _, hit := range hits {
		texts = append(texts, hit.Entry.Content)
	}
	slices.Sort(texts)
	return texts
}

// live are the entries that live in a scope.
func (h *worker) live(s driver.Scope) []driver.Entry {
	return h.w.live(h.bank.Reader(s.Tenant), s.Ref)
}

// ofOne does something with a live entry, if there is one.
func (h *worker) ofOne(s driver.Scope, x int, what string, do func(e driver.Entry) error) error {
	live := h.live(s)
	if len(live) < 2 {
		return nil
	}
	e := live[1+x%(len(live)-1)]
	h.w.did("%s: %s of %s", what, short(e.Content), describeScope(s))
	return do(e)
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

// worker is a process over a store that finds by words, and by meaning if the store can keep vectors.
func (w *world) worker(store driver.Adapter) *worker {
	if w.level == LevelAdapter {
		store = struct{ driver.Adapter }{store}
	}
	h := &worker{store: store}
	var cfg recall.Config
	if h.tx, _ = driver.As[driver.Transactor](store); h.tx != nil {
		cfg.Embedder, cfg.Redactor = letters{}, noSecrets
	}
	ranker, err := recall.New(cfg)
	w.must(err)
	h.host = w.hostOn(Inject(store, func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if fault := h.fault.Load(); fault != nil {
			return (*fault)(ctx, c, next)
		}
		return next(ctx)
	}), memory.Config{Ranker: ranker})
	return h
}

// waysToFail are what becomes of the n-th call.
var waysToFail = []struct {
	says string
	make func(n int) Fault
}{
	{"fails before the store hears of it", func(n int) Fault { return At(n, Fail(errInjected)) }},
	{"succeeds, and its acknowledgement is lost", func(n int) Fault { return At(n, LoseAnswer(errInjected)) }},
	{"does not reach the store, and no later one does", func(n int) Fault { return From(n, Fail(errInjected)) }},
}

// errInjected is what a call fails with that the kit makes fail.
var errInjected = errors.New("injected by adaptertest")

// tries does something whose n-th call fails in some way, and tells whether there was such a call.
func (h *worker) tries(x work, s driver.Scope, arg, n, way int) (failed bool) {
	if !x.again || way >= len(waysToFail) {
		h.w.must(x.do(h, s, arg))
		return false
	}
	how, calls := waysToFail[way], atomic.Int64{}
	fault := how.make(n)
	counted := Fault(func(ctx context.Context, c *Call, next func(context.Context) error) error {
		calls.Add(1)
		return fault(ctx, c, next)
	})
	h.fault.Store(&counted)
	err := x.do(h, s, arg)
	h.fault.Store(nil)
	if calls.Load() < int64(n) {
		h.w.must(err)
		return false
	}
	h.w.did("call %d of that %s", n, how.says)
	return true
}

// turn is one work of two hosts in a scope. That of the store fails at a call of it in one of some ways, if there
// are so many calls and ways.
type turn struct{ work, scope, arg, call, way int }

// workCase lets two hosts do random work, the given above all.
func workCase(name, proves string, needs []Offer, often ...work) testCase {
	return testCase{name, proves, needs, func(w *world) {
		works := slices.DeleteFunc(slices.Concat(plainWork, often, often, often), func(x work) bool {
			return len(w.found.missing(x.needs)) > 0 || !slices.Contains(w.found.levelsFrom(levelOf(x.needs)), w.level)
		})
		for i := range w.size(4, 10) {
			rng := rand.New(rand.NewPCG(w.seed, w.part+uint64(i)))
			turns := make([]turn, 40)
			for k := range turns {
				turns[k] = turn{rng.IntN(len(works)), rng.IntN(len(workScopes)), rng.IntN(1 << 20), 1 + rng.IntN(25), rng.IntN(2 * len(waysToFail))}
			}
			if failed := w.playWork(works, turns); failed != nil {
				shortest(w, i, failed, func(t []turn) *failure { return w.playWork(works, t) }, turns[:w.played], nil)
			}
		}
	}}
}

// playWork lets two hosts work, on fresh stores.
func (w *world) playWork(works []work, turns []turn) (failed *failure) {
	w.play(func() {
		w.restart()
		mine, other, start := w.worker(w.store), w.worker(inmem.New()), w.now
		for i, t := range turns {
			w.played = i + 1
			x, scope, arg := works[t.work], workScopes[t.scope], t.arg
			start = start.Add(time.Duration(1+arg%3) * 10 * time.Minute) // nothing expires or falls due while both are at it
			w.now = start
			mine.pass = fmt.Sprint("pass-", i)
			other.pass = mine.pass
			for again, way := true, t.way; again; way = len(waysToFail) {
				began := w.now
				again = mine.tries(x, scope, arg, t.call, way)
				w.now = began
				w.silently(func() { w.must(x.do(other, scope, arg)) })
				if again {
					w.now = w.now.Add(2 * time.Minute) // leases have ended
					w.did("the host does it again")
				}
			}
			if i%4 == 3 || i == len(turns)-1 {
				w.silently(func() { w.sameLines(mine.holds(), other.holds()) })
			}
		}
	}, &failed)
	return failed
}

// sameLines compares lines in any order.
func (w *world) sameLines(got, want []string) {
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return
	}
	without := func(lines, others []string) string {
		lines = slices.Clone(lines)
		for _, line := range others {
			if i := slices.Index(lines, line); i >= 0 {
				lines = slices.Delete(lines, i, i+1)
			}
		}
		return strings.Join(append(lines, "and all that both have"), "\n")
	}
	w.fail(without(want, got), without(got, want))
}

// holds tells all that a host holds and has announced, in words without issued ids.
func (h *worker) holds() (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, s := range workScopes[1:] {
		say("in %s live: %s", describeScope(s), describe(contentsOf(h.live(s))))
	}
	say("the last answer: %s", describe(h.answer))
	if h.view != nil {
		for _, ref := range []string{home.Ref, "sales"} {
			say("the run sees in %s: %s", ref, describe(contentsOf(h.w.live(h.view.Memory(), ref))))
			hits, err := h.view.Search(h.w.ctx, ref, memory.Search{Text: "plan", Rank: "lexical"})
			h.w.must(err)
			say("the run finds in %s: %s", ref, describe(textsFound(hits)))
		}
	}
	if h.token != "" {
		as, err := h.bank.AsOf(h.w.ctx, home.Tenant, h.token)
		h.w.must(err)
		for _, ref := range []string{home.Ref, "sales"} {
			entries, err := as.List(h.w.ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
			say("as of the token there are in %s: %s, unavailable %t", ref, describe(contentsOf(entries)), errors.Is(err, driver.ErrSnapshotUnavailable))
		}
	}
	if h.tx != nil {
		h.records(say)
	}
	return lines
}

// records tells what has become of entries, what is made of them, what was announced, and what is armed.
func (h *worker) records(say func(format string, args ...any)) {
	announced := map[eventName]bool{}
	announce := func(e events.Record) {
		name := eventName{e.Tenant, e.RunID, e.ID}
		if e.Payload.EventType() != events.TypeMemoryWritten { // a pass with nothing to do announces that each time
			name.id = string(e.Payload.EventType())
		}
		if !announced[name] {
			say("announced %s of run %s of %s", e.Payload.EventType(), issued.ReplaceAllString(e.RunID, "id"), e.Tenant)
		}
		announced[name] = true
	}
	for _, e := range h.log.All() {
		announce(e.Record)
	}
	for e, err := range h.tx.Undelivered(h.w.ctx, "", "") {
		h.w.must(err)
		announce(e)
	}
	for _, tenant := range []string{home.Tenant, "globex"} {
		said := map[string]string{}
		for rec, err := range h.tx.History(h.w.ctx, tenant, driver.HistoryQuery{}) {
			h.w.must(err)
			said[rec.Entry.ID] = rec.Entry.Content
		}
		for rec, err := range h.tx.History(h.w.ctx, tenant, driver.HistoryQuery{}) {
			h.w.must(err)
			say("%s %s, erased %t: %q for %q", describeScope(rec.Scope), rec.State, rec.Erased, rec.Entry.Content, said[rec.For])
		}
		for d, err := range h.tx.Documents(h.w.ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Bare: true}) {
			h.w.must(err)
			for _, id := range d.Of {
				say("%s: a document %s made of %q", describeScope(d.Scope), d.Kind, said[id])
			}
		}
		if _, schedules := driver.As[driver.Scheduler](h.store); !schedules {
			continue // nothing can be armed
		}
		for c, err := range h.engine().Commitments(h.w.ctx, tenant) {
			h.w.must(err)
			if c.State == commitment.Claimed || c.State == commitment.Delivered || c.GivenUp.Tries > 0 {
				say("a commitment of %s is %s, given up: %t", tenant, c.State, c.GivenUp.Tries > 0)
			}
		}
	}
	say("%d runs were started", len(h.queue.byKey))
}
