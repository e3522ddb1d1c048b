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

// host is a bank with an engine over stores of their own.
type host struct {
	t     testing.TB
	mem   memory.Adapter
	store commitment.Store
	clock *testClock
	log   *events.Log
	queue *queue
	bank  *memory.Bank
	*commitment.Engine
}

type option func(*commitment.Config)

func newHost(t testing.TB, options ...option) *host {
	return newHostOn(t, inmem.New(), newAudit(commitment.NewInMemory()), options...)
}

func newHostOn(t testing.TB, mem memory.Adapter, store commitment.Store, options ...option) *host {
	h := &host{t: t, mem: mem, store: store, clock: newClock(), log: new(events.Log), queue: newQueue()}
	h.restart(options...)
	return h
}

// restart is a new process over the same stores.
func (h *host) restart(options ...option) {
	h.t.Helper()
	var err error
	h.bank, err = memory.NewBank(h.mem, memory.Config{Now: h.clock.Now, Sink: h.log})
	require.NoError(h.t, err)
	cfg := commitment.Config{
		Store:     h.store,
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return vault{}, nil },
		Enqueuer:  h.queue,
		Predicate: func(_, name string) bool { return name != "unregistered" },
	}
	for _, o := range options {
		o(&cfg)
	}
	h.Engine, err = commitment.New(h.bank, cfg)
	require.NoError(h.t, err)
}

func (h *host) job(tenant string) *memory.Job {
	h.t.Helper()
	j, err := h.bank.Background(memory.JobConfig{RunID: "pass", Tenant: tenant, Redactor: vault{secret: "hunter2-hunter2"}})
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
	return done
}

func (h *host) get(c commitment.Commitment) commitment.Commitment {
	h.t.Helper()
	got, err := h.store.Get(ctx, c.Tenant, c.ID)
	require.NoError(h.t, err)
	return got
}

func (h *host) observe(position int64, state string, holds bool) int {
	h.t.Helper()
	n, err := h.Observe(ctx, "acme", "signed", position, []byte(state), holds)
	require.NoError(h.t, err)
	return n
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

// audit watches that no key is ever claimed twice (K2).
type audit struct {
	commitment.Store
	mu      sync.Mutex
	claimed map[string]bool
	twice   []string
	swaps   int
	due     int
}

func newAudit(s commitment.Store) *audit { return &audit{Store: s, claimed: map[string]bool{}} }

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

func (a *audit) Swap(ctx context.Context, c commitment.Commitment) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.swaps++
	old, _ := a.Store.Get(context.Background(), c.Tenant, c.ID)
	rev, err := a.Store.Swap(ctx, c)
	if err != nil {
		return rev, err
	}
	held := map[string]bool{}
	for _, key := range claims(old) {
		held[key] = true
	}
	for _, key := range claims(c) {
		if held[key] {
			continue
		}
		if a.claimed[key] {
			a.twice = append(a.twice, key)
		}
		a.claimed[key] = true
	}
	return rev, nil
}

func (a *audit) Due(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
	a.mu.Lock()
	a.due++
	a.mu.Unlock()
	return a.Store.Due(ctx, now, limit)
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
	if c == nil {
		return do()
	}
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

// crashing is a commitment store seen by a process that may die.
type crashing struct {
	commitment.Store
	c *crasher
}

func (s crashing) Get(ctx context.Context, tenant, id string) (out commitment.Commitment, err error) {
	err = s.c.call(func() (err error) { out, err = s.Store.Get(ctx, tenant, id); return })
	return
}

func (s crashing) Swap(ctx context.Context, c commitment.Commitment) (rev int64, err error) {
	err = s.c.call(func() (err error) { rev, err = s.Store.Swap(ctx, c); return })
	return
}

func (s crashing) Due(ctx context.Context, now time.Time, limit int) (out []commitment.Commitment, err error) {
	err = s.c.call(func() (err error) { out, err = s.Store.Due(ctx, now, limit); return })
	return
}

func (s crashing) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
	return func(yield func(commitment.Commitment, error) bool) {
		if err := s.c.call(func() error { return nil }); err != nil {
			yield(commitment.Commitment{}, err)
			return
		}
		s.Store.OfTenant(ctx, tenant, predicate)(yield)
	}
}

// crashingMemory is the memory's store seen by such a process.
type crashingMemory struct {
	memory.Versioned
	c *crasher
}

func (s crashingMemory) Get(ctx context.Context, sc memory.Scope, id string, at time.Time) (e memory.Entry, err error) {
	err = s.c.call(func() (err error) { e, err = s.Versioned.Get(ctx, sc, id, at); return })
	return
}

func (s crashingMemory) Lookup(ctx context.Context, sc memory.Scope, id string) (r memory.Record, err error) {
	err = s.c.call(func() (err error) { r, err = s.Versioned.Lookup(ctx, sc, id); return })
	return
}

func (s crashingMemory) Apply(ctx context.Context, tenant string, m memory.Mutation) (v memory.Version, err error) {
	err = s.c.call(func() (err error) { v, err = s.Versioned.Apply(ctx, tenant, m); return })
	return
}

func (s crashingMemory) Undelivered(ctx context.Context, q memory.OutboxQuery) (out []events.Record, err error) {
	err = s.c.call(func() (err error) { out, err = s.Versioned.Undelivered(ctx, q); return })
	return
}

func (s crashingMemory) Delivered(ctx context.Context, recs []events.Record) error {
	return s.c.call(func() error { return s.Versioned.Delivered(ctx, recs) })
}
