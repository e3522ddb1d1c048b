package commitment_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

var ctx = context.Background()

// epoch is a Sunday.
var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type testClock struct{ ms atomic.Int64 }

func newClock() *testClock {
	c := new(testClock)
	c.ms.Store(epoch.UnixMilli())
	return c
}

func (c *testClock) Now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *testClock) Advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// vault is the smallest redactor.
type vault struct {
	secret string
	closed *atomic.Int32
}

func (v vault) Redact(text string) (string, error) {
	if v.secret == "" {
		return text, nil
	}
	return strings.ReplaceAll(text, v.secret, "[REDACTED:s]"), nil
}
func (v vault) RedactDerived(text string) (string, error) { return v.Redact(text) }
func (v vault) Close() error {
	if v.closed != nil {
		v.closed.Add(1)
	}
	return nil
}

// queue is an Enqueuer that keeps its contract: one run for a key.
type queue struct {
	mu    sync.Mutex
	runs  map[string]string
	calls []commitment.Firing
	fail  func(f commitment.Firing) error // before the run starts
	lose  func(f commitment.Firing) error // after it
}

func newQueue() *queue { return &queue{runs: map[string]string{}} }

func (q *queue) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, f)
	if q.fail != nil {
		if err := q.fail(f); err != nil {
			return "", err
		}
	}
	if q.runs[f.Key] == "" {
		q.runs[f.Key] = fmt.Sprintf("run-%d", len(q.runs)+1)
	}
	if q.lose != nil {
		if err := q.lose(f); err != nil {
			return "", err
		}
	}
	return q.runs[f.Key], nil
}

// store is what an engine needs of one.
type store interface {
	driver.Versioned
	driver.Scheduler
}

// host is a bank with an engine over a store.
type host struct {
	t     testing.TB
	store store
	clock *testClock
	log   *events.Log
	queue *queue
	bank  *memory.Bank
	*commitment.Engine
}

type option func(*commitment.Config)

func newHost(t testing.TB, options ...option) *host {
	return newHostOn(t, newAudit(inmem.New()), options...)
}

func newHostOn(t testing.TB, s store, options ...option) *host {
	h := &host{t: t, store: s, clock: newClock(), log: new(events.Log), queue: newQueue()}
	h.restart(options...)
	return h
}

// restart is a new process over the same store.
func (h *host) restart(options ...option) {
	h.t.Helper()
	h.restartWith(memory.Config{Sink: h.log}, options...)
}

func (h *host) restartWith(bank memory.Config, options ...option) {
	h.t.Helper()
	bank.Now = h.clock.Now
	var err error
	h.bank, err = memory.New(h.store, bank)
	require.NoError(h.t, err)
	cfg := commitment.Config{
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return vault{}, nil },
		Enqueuer:  h.queue,
		Predicate: func(_, name string) bool { return name != "unregistered" },
		Schedule:  readSchedule,
	}
	for _, o := range options {
		o(&cfg)
	}
	h.Engine, err = commitment.New(h.bank, cfg)
	require.NoError(h.t, err)
}

func (h *host) job(tenant string) *memory.Job {
	h.t.Helper()
	j, err := h.bank.Background(memory.JobConfig{ID: "pass", Tenant: tenant, Redactor: vault{secret: "hunter2-hunter2"}})
	require.NoError(h.t, err)
	return j
}

// note writes an entry of acme and returns it as a source.
func (h *host) note(content string, tags ...string) commitment.Source {
	h.t.Helper()
	e, err := h.job("acme").Put(ctx, "ref", memory.Draft{Content: content, Tags: tags})
	require.NoError(h.t, err)
	return commitment.Source{Ref: "ref", MemoryID: e.ID}
}

func (h *host) arm(s commitment.Source, a commitment.Arm) commitment.Commitment {
	h.t.Helper()
	c, err := h.Arm(ctx, h.job("acme"), s, a)
	require.NoError(h.t, err)
	return c
}

func (h *host) tick() commitment.Ticked {
	h.t.Helper()
	done, err := h.Tick(ctx)
	require.NoError(h.t, err)
	return counts(h.t, done)
}

// counts are the numbers of a tick, after a look at its events: one for each firing.
func counts(t testing.TB, done commitment.Ticked) commitment.Ticked {
	t.Helper()
	require.Len(t, done.Events, done.Fired)
	for _, ev := range done.Events {
		require.NoError(t, ev.Validate())
		require.IsType(t, events.CommitmentFired{}, ev.Payload)
	}
	done.Events = nil
	return done
}

func (h *host) get(c commitment.Commitment) commitment.Commitment {
	h.t.Helper()
	got, err := find(h.store, c.Tenant, c.ID)
	require.NoError(h.t, err)
	require.NotZero(h.t, got.Rev)
	return got
}

func (h *host) observe(position int64, state string, holds bool) int {
	h.t.Helper()
	n, err := h.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: position, State: []byte(state), Holds: holds})
	require.NoError(h.t, err)
	return len(n)
}

// fired returns the commitment.fired events, by id.
func fired(log *events.Log) map[string]events.CommitmentFired {
	out := map[string]events.CommitmentFired{}
	for _, ev := range log.All() {
		if p, ok := ev.Payload.(events.CommitmentFired); ok {
			out[ev.ID] = p
		}
	}
	return out
}

// find reads a commitment in a store; its Rev is 0 if there is none.
func find(s driver.Transactor, tenant, id string) (commitment.Commitment, error) {
	for d, err := range s.Documents(ctx, driver.DocumentQuery{Tenant: tenant, Kind: commitment.DocumentKind, Key: id}) {
		if err != nil {
			return commitment.Commitment{}, err
		}
		return commitment.FromDocument(&d)
	}
	return commitment.Commitment{}, nil
}

// audit watches that no key is ever claimed twice (K2), but for one that was given up and is taken up again (K3).
type audit struct {
	store
	mu      sync.Mutex
	claimed map[string]bool
	twice   []string
	applied int
	due     int
}

func newAudit(s store) *audit { return &audit{store: s, claimed: map[string]bool{}} }

// claims are the keys that a commitment has claimed and not acknowledged.
func claims(c commitment.Commitment) []string {
	var out []string
	if c.State == commitment.Claimed || c.State == commitment.Delivered {
		out = append(out, c.Key())
	}
	for _, p := range c.Waiting {
		c.Claim.Position = p
		out = append(out, c.Key())
	}
	return out
}

func (a *audit) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.applied++
	held := map[string]bool{}
	var now []string
	for i := range m.Documents {
		if d := &m.Documents[i]; d.Kind == commitment.DocumentKind && d.Act == driver.Set {
			old, err := find(a.store, tenant, d.Key)
			if errors.Is(err, commitment.ErrNewerFormat) {
				old, err = commitment.Commitment{}, nil
			}
			if err != nil {
				return driver.Applied{}, err
			}
			for _, key := range claims(old) {
				held[key] = true
			}
			if old.GivenUp != (commitment.Claim{}) {
				old.Claim = old.GivenUp
				held[old.Key()] = true
			}
			c, err := commitment.FromDocument(&d.Document)
			if err != nil {
				return driver.Applied{}, err
			}
			now = append(now, claims(c)...)
		}
	}
	made, err := a.store.Apply(ctx, tenant, m)
	if err != nil {
		return made, err
	}
	for _, key := range now {
		if held[key] {
			continue
		}
		if a.claimed[key] {
			a.twice = append(a.twice, key)
		}
		a.claimed[key] = true
	}
	return made, nil
}

func (a *audit) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	a.mu.Lock()
	a.due++
	a.mu.Unlock()
	return a.store.Due(ctx, kind, at, limit)
}

var errCrash = errors.New("the process is gone")

// crasher lets a process die at a call: before it does anything, or after it did and
// before the caller knows. Everything after that fails too.
type crasher struct {
	mu    sync.Mutex
	calls int // since the start
	at    int // the call to die at, from 1; 0 is never
	after bool
	dead  bool
}

// set lets the process die at a call from now on.
func (c *crasher) set(at int, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.at, c.after, c.dead = 0, at, after, false
}

func (c *crasher) call(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// crashing is a store seen by a process that may die.
type crashing struct {
	store
	c *crasher
}

func (s crashing) Get(ctx context.Context, sc driver.Scope, id string, at time.Time) (e driver.Entry, err error) {
	err = s.c.call(func() (err error) { e, err = s.store.Get(ctx, sc, id, at); return })
	return
}

func (s crashing) Lookup(ctx context.Context, sc driver.Scope, ids []string) (r []driver.Record, err error) {
	err = s.c.call(func() (err error) { r, err = s.store.Lookup(ctx, sc, ids); return })
	return
}

func (s crashing) Apply(ctx context.Context, tenant string, m driver.Mutation) (made driver.Applied, err error) {
	err = s.c.call(func() (err error) { made, err = s.store.Apply(ctx, tenant, m); return })
	return
}

func (s crashing) Due(ctx context.Context, kind string, at time.Time, limit int) (out []driver.Document, err error) {
	err = s.c.call(func() (err error) { out, err = s.store.Due(ctx, kind, at, limit); return })
	return
}

func (s crashing) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return crashingSeq(s.c, s.store.Documents(ctx, q))
}

func (s crashing) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return crashingSeq(s.c, s.store.Undelivered(ctx, tenant, runID))
}

func (s crashing) Delivered(ctx context.Context, recs []events.Record) error {
	return s.c.call(func() error { return s.store.Delivered(ctx, recs) })
}

// crashingSeq is a walk of which the first step may be the last.
func crashingSeq[T any](c *crasher, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := c.call(func() error { return nil }); err != nil {
			var none T
			yield(none, err)
			return
		}
		seq(yield)
	}
}

// lookups counts what is looked up.
type lookups struct {
	store
	calls int
}

func (s *lookups) Lookup(ctx context.Context, sc driver.Scope, ids []string) ([]driver.Record, error) {
	s.calls++
	return s.store.Lookup(ctx, sc, ids)
}

// forgetful loses what the store says of one change: it happened, and the process goes on
// with an error.
type forgetful struct {
	store
	calls, at int
}

func (s *forgetful) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	made, err := s.store.Apply(ctx, tenant, m)
	if s.calls++; s.calls == s.at && err == nil {
		return driver.Applied{}, driver.ErrOutcomeUnknown.With("", nil)
	}
	return made, err
}
