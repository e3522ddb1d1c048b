package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

func commitmentEngineLaw() commitmentLaw {
	return commitmentLaw{name: "ENGINE", number: "K2, K3", says: "each firing is claimed once and delivered until it is acknowledged", cases: []commitmentCase{
		{"at-once", "of engines that tick and observe at the same time, one claims each firing", nil, enginesAtOnce},
		{"crash", "whatever call of the store a process dies at, before it took effect or after, the next one completes each firing", nil, crashEverywhere},
	}}
}

var errCrash = errors.New("the process is gone")

// crasher lets a process die at a call: before it does anything, or after it did and
// before the caller knows. Everything after that fails too.
type crasher struct {
	calls int // since the start
	at    int // the call to die at, from 1; 0 is never
	after bool
	dead  bool
}

func (c *crasher) call(do func() error) error {
	if c.dead {
		return errCrash
	}
	if c.calls++; c.calls != c.at {
		return do()
	}
	c.dead = true
	if c.after {
		_ = do()
	}
	return errCrash
}

// claims are the firings that were claimed, by key: how often.
type claims struct {
	mu    sync.Mutex
	times map[string]int
}

// begun are the keys for which a commitment holds a claim that is not acknowledged.
func begun(c commitment.Commitment) map[string]bool {
	keys := map[string]bool{}
	if c.State == commitment.Claimed || c.State == commitment.Delivered {
		keys[c.Key()] = true
	}
	for _, position := range c.Waiting {
		c.Claim.Position = position
		keys[c.Key()] = true
	}
	return keys
}

// watched is the store seen by engines. It notes what is claimed, and crashes. What a
// swap took the place of is known from the call by which the engine read it, as the
// swap names its revision.
type watched struct {
	commitment.Store
	crash  *crasher // nil for none
	claims *claims
	calls  atomic.Int64

	mu   sync.Mutex
	seen map[string]commitment.Commitment // by id and revision
}

func (s *watched) call(do func() error) error {
	if s.calls.Add(1) > endless {
		return errEndless
	}
	if s.crash == nil {
		return do()
	}
	return s.crash.call(do)
}

func revision(c commitment.Commitment) string { return fmt.Sprint(c.Tenant, "/", c.ID, "/", c.Rev) }

func (s *watched) see(c commitment.Commitment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[revision(c)] = c
}

func (s *watched) Get(ctx context.Context, tenant, id string) (c commitment.Commitment, err error) {
	err = s.call(func() (err error) { c, err = s.Store.Get(ctx, tenant, id); return })
	if err == nil {
		s.see(c)
	}
	return c, err
}

func (s *watched) Swap(ctx context.Context, c commitment.Commitment) (rev int64, err error) {
	s.mu.Lock()
	old := s.seen[revision(c)]
	s.mu.Unlock()
	err = s.call(func() (err error) {
		rev, err = s.Store.Swap(ctx, c)
		if err != nil {
			return err
		}
		held := begun(old)
		s.claims.mu.Lock()
		defer s.claims.mu.Unlock()
		for key := range begun(c) {
			if !held[key] {
				s.claims.times[key]++
			}
		}
		return nil
	})
	if err == nil {
		c.Rev = rev
		s.see(c)
	}
	return rev, err
}

func (s *watched) Due(ctx context.Context, now time.Time, limit int) (list []commitment.Commitment, err error) {
	err = s.call(func() (err error) { list, err = s.Store.Due(ctx, now, limit); return })
	for _, c := range list {
		s.see(c)
	}
	return list, err
}

func (s *watched) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
	return func(yield func(commitment.Commitment, error) bool) {
		if err := s.call(func() error { return nil }); err != nil {
			yield(commitment.Commitment{}, err)
			return
		}
		for c, err := range s.Store.OfTenant(ctx, tenant, predicate) {
			s.see(c)
			if !yield(c, err) {
				return
			}
		}
	}
}

// runs is an Enqueuer that keeps its contract: one run for a key.
type runs struct {
	mu    sync.Mutex
	byKey map[string]string
}

func (r *runs) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[f.Key] == "" {
		r.byKey[f.Key] = fmt.Sprint("run-", len(r.byKey)+1)
	}
	return r.byKey[f.Key], nil
}

// fleet are processes with engines over one memory and the case's store.
type fleet struct {
	w      *commitmentWorld
	mem    *plainMemory
	log    *events.Log
	runs   *runs
	claims *claims
	crash  *crasher
	notes  int // that were written
}

func (w *commitmentWorld) fleet() *fleet {
	return &fleet{w: w, mem: newPlainMemory(), log: new(events.Log), runs: &runs{byKey: map[string]string{}}, claims: &claims{times: map[string]int{}}}
}

// process is one of a fleet.
type process struct {
	*commitment.Engine
	bank *memory.Bank
	job  *memory.Job
}

func (f *fleet) start() *process {
	w := f.w
	bank, err := memory.NewBank(f.mem, memory.Config{Now: func() time.Time { return w.now }, Sink: f.log})
	w.must(err)
	open := func() *redact.SecretRegistry { return redact.NewSecretRegistry(redact.Config{}) }
	engine, err := commitment.New(bank, commitment.Config{
		Store:     &watched{Store: w.store, crash: f.crash, claims: f.claims, seen: map[string]commitment.Commitment{}},
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return open(), nil },
		Enqueuer:  f.runs,
		Predicate: func(string, string) bool { return true },
	})
	w.must(err)
	job, err := bank.Background(memory.JobConfig{RunID: "pass", Tenant: home.Tenant, Redactor: open()})
	w.must(err)
	return &process{engine, bank, job}
}

// arm writes an entry and arms it. The entry goes past the bank, which would give it a
// random id: the ids of commitments, and so their order, follow from those of entries.
func (f *fleet) arm(p *process, content string, a commitment.Arm) memory.Entry {
	f.notes++
	e := memory.Entry{ID: fmt.Sprint("note-", f.notes), Content: content, Tags: []string{}, CreatedAt: f.w.now, RunID: "pass"}
	f.w.must(f.mem.Put(f.w.ctx, home, e))
	_, err := p.Arm(f.w.ctx, p.job, commitment.Source{Ref: home.Ref, MemoryID: e.ID}, a)
	f.w.must(err)
	return e
}

// settled checks what K2 and K3 promise once nothing is under way any more.
func (f *fleet) settled(firings int) {
	w := f.w
	for key, times := range sorted(f.claims.times) {
		w.check(times == 1, "each firing claimed once", "%s was claimed %d times", key, times)
	}
	fired := map[string]string{}
	for _, e := range f.log.All() {
		if p, ok := e.Payload.(events.CommitmentFired); ok {
			w.check(fired[e.ID] == "", "each event once", "%s twice", e.ID)
			fired[e.ID] = p.EnqueuedRunID
		}
	}
	w.check(len(f.runs.byKey) == firings, fmt.Sprint(firings, " runs"), "%d", len(f.runs.byKey))
	w.check(len(fired) == firings, fmt.Sprint(firings, " events"), "%d", len(fired))
	for key, run := range sorted(f.runs.byKey) {
		w.check(fired[key] == run, "an event with the run of each firing", "%q for %s, whose run is %q", fired[key], key, run)
		w.check(f.claims.times[key] == 1, "a claim for each firing", "none for %s", key)
	}
	for c, err := range w.store.OfTenant(w.ctx, home.Tenant, "") {
		w.must(err)
		switch c.State {
		case commitment.Claimed, commitment.Delivered, commitment.Dead:
			w.fail("nothing under way and nothing given up", fmt.Sprintf("%s is %s", c.ID, c.State))
		}
	}
}

func enginesAtOnce(w *commitmentWorld) {
	f := w.fleet()
	first := f.start()
	const timed = 60
	w.did("arm %d instants and a predicate; from 4 engines, tick and observe 5 changes of it", timed)
	for i := range timed {
		f.arm(first, fmt.Sprint("note ", i), commitment.Arm{At: w.now.Add(time.Hour + time.Duration(i)*time.Millisecond)})
	}
	f.arm(first, "a note", commitment.Arm{Predicate: "signed"})
	w.now = w.now.Add(2 * time.Hour)
	all := []*process{f.start(), f.start(), f.start(), f.start()}
	w.parallel(len(all), func(i int) {
		for n := range int64(5) {
			_, err := all[i].Tick(w.ctx)
			w.must(err)
			_, err = all[i].Observe(w.ctx, home.Tenant, "signed", n, []byte{byte(n)}, true)
			w.must(err)
		}
	})
	for range 8 {
		w.now = w.now.Add(2 * time.Minute)
		_, err := first.Tick(w.ctx)
		w.must(err)
	}
	_, err := first.bank.Relay(w.ctx)
	w.must(err)
	// A change may pass unseen if an engine was told of a later one first.
	n := len(f.runs.byKey)
	w.check(n > timed && n <= timed+5, fmt.Sprintf("%d to %d runs", timed+1, timed+5), "%d", n)
	f.settled(n)
}

// crashEverywhere plays one story as often as it has calls of the store, twice.
func crashEverywhere(w *commitmentWorld) {
	calls := w.crashStory(0, false)
	for at := 1; at <= calls; at++ {
		for _, after := range []bool{false, true} {
			n := w.stepCount()
			w.crashStory(at, after)
			w.unnote(n)
		}
	}
}

// crashStory has a process die at a call of the store and others go on, and returns
// how many calls there were. One instant, one for two entries that were merged, three
// of an interval and two edges of a predicate fire; an entry that was deleted does not.
func (w *commitmentWorld) crashStory(at int, after bool) int {
	w.fresh()
	w.now = epoch
	when := "before it takes effect"
	if after {
		when = "after it took effect"
	}
	w.did("a process dies at call %d of the store, %s", at, when)
	f := w.fleet()
	f.crash = new(crasher)
	p := f.start()
	in := func(d time.Duration) commitment.Arm { return commitment.Arm{At: epoch.Add(d)} }
	f.arm(p, "x", in(time.Hour))
	merged, head := f.arm(p, "m", in(2*time.Hour)), f.arm(p, "m", in(2*time.Hour))
	f.arm(p, "y", commitment.Arm{Every: time.Hour})
	f.arm(p, "z", commitment.Arm{Predicate: "signed"})
	gone := f.arm(p, "gone", in(time.Hour))
	_, err := p.job.Delete(w.ctx, home.Ref, gone.ID)
	w.must(err)
	_, err = p.job.Rewrite(w.ctx, home.Ref, memory.Rewrite{Retire: []memory.Retire{{ID: merged.ID, State: memory.Merged, For: head.ID}}})
	w.must(err)

	*f.crash = crasher{at: at, after: after}
	alive := func(do func() error) {
		err := do()
		for f.crash.dead {
			w.check(errors.Is(err, errCrash), "the error of the store, wrapped", "%s", describeError(err))
			f.crash.dead = false
			if w.again != nil {
				w.reopen()
			}
			w.now = w.now.Add(2 * time.Minute) // the lease of the dead one ends
			p = f.start()
			err = do()
		}
		w.must(err)
	}
	tick := func() error { _, err := p.Tick(w.ctx); return err }
	for hour := range int64(3) {
		w.now = w.now.Add(time.Hour - 4*time.Minute)
		alive(func() error {
			_, err := p.Observe(w.ctx, home.Tenant, "signed", hour, []byte{byte(hour)}, hour != 1)
			return err
		})
		w.now = epoch.Add(time.Duration(hour+1) * time.Hour)
		for range 3 {
			alive(tick)
			w.now = w.now.Add(30 * time.Second)
		}
	}
	w.now = w.now.Add(2 * time.Minute)
	alive(tick)
	_, err = p.bank.Relay(w.ctx)
	w.must(err)
	f.settled(7)
	return f.crash.calls
}
