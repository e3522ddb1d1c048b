package memory_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/telemetry"
)

var ctx = context.Background()

// epoch is where every test's clock starts.
var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// seeds is how many random sequences a property tries: half of what is usual with -short.
func seeds(usual uint64) uint64 {
	switch {
	case os.Getenv("AGENTMEMORY_LONG") != "":
		return 50 * usual
	case testing.Short():
		return usual / 2
	}
	return usual
}

// testClock is a clock that a test moves.
type testClock struct{ ms atomic.Int64 }

func newClock() *testClock {
	c := new(testClock)
	c.ms.Store(epoch.UnixMilli())
	return c
}

func (c *testClock) Now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *testClock) Advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// vault is the smallest redactor: it replaces each value by its marker.
type vault struct {
	mu     sync.Mutex
	values map[string]string // id to value
	closed bool
}

func newVault(pairs ...string) *vault {
	v := &vault{values: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		v.values[pairs[i]] = pairs[i+1]
	}
	return v
}

func (v *vault) Redact(text string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return "", fmt.Errorf("vault closed while holding %d values", len(v.values))
	}
	for id, value := range v.values {
		text = strings.ReplaceAll(text, value, "[REDACTED:"+id+"]")
	}
	return text, nil
}

func (v *vault) RedactDerived(text string) (string, error) {
	text, err := v.Redact(text)
	return strings.ReplaceAll(text, "[BYOK:", "[REDACTED:"), err
}

func (v *vault) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	return nil
}

// host is a bank over an in-memory store with a clock and a log.
type host struct {
	*memory.Bank
	t     testing.TB
	store driver.Adapter
	clock *testClock
	log   *events.Log
}

func newHost(t testing.TB, options ...func(*memory.Config)) *host {
	return newHostOn(t, inmem.New(), options...)
}

func newHostOn(t testing.TB, store driver.Adapter, options ...func(*memory.Config)) *host {
	h := &host{t: t, store: store, clock: newClock(), log: new(events.Log)}
	cfg := memory.Config{Now: h.clock.Now, Sink: h.log, WriteEvents: true, Tracer: rudeTracer{t}}
	for _, o := range options {
		o(&cfg)
	}
	bank, err := memory.New(store, cfg)
	require.NoError(t, err)
	h.Bank = bank
	return h
}

func (h *host) run(id, tenant string) *memory.Run {
	h.t.Helper()
	r, err := h.Start(ctx, memory.RunConfig{ID: id, Tenant: tenant, Redactor: newVault()})
	require.NoError(h.t, err)
	return r
}

func (h *host) job(tenant string) *memory.Job {
	h.t.Helper()
	j, err := h.Background(memory.JobConfig{ID: "pass", Tenant: tenant, Redactor: newVault()})
	require.NoError(h.t, err)
	return j
}

// rudeTracer sees to it that every operation ends once, with a known code and with each count that it
// names once, and panics as it ends: so
// every law of the bank is proven with a tracer, and a broken one at that.
type rudeTracer struct{ t testing.TB }

func (r rudeTracer) Start(ctx context.Context, op telemetry.Op) (context.Context, func(telemetry.Result)) {
	var ended atomic.Bool
	return ctx, func(result telemetry.Result) {
		if ended.Swap(true) {
			r.t.Errorf("%v has ended twice", op)
		}
		if strings.Trim(result.Code, "abcdefghijklmnopqrstuvwxyz_") != "" {
			r.t.Errorf("%v ended with the code %q", op, result.Code)
		}
		for i, c := range result.Counts {
			if slices.ContainsFunc(result.Counts[:i], func(o telemetry.Counted) bool { return o.Count == c.Count }) {
				r.t.Errorf("%v names %v twice", op, c.Count)
			}
		}
		panic("the tracer")
	}
}

type putter interface {
	Put(context.Context, string, memory.Draft) (memory.Entry, error)
}

func put(t testing.TB, p putter, ref, content string, subjects ...string) memory.Entry {
	t.Helper()
	e, err := p.Put(ctx, ref, memory.Draft{Content: content, Subjects: subjects})
	require.NoError(t, err)
	return e
}

// contents lists what a reader shows, newest first.
func contents(t testing.TB, r memory.Reader, ref string) []string {
	t.Helper()
	entries, err := r.List(ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Content)
	}
	return out
}

// spy passes every call on and counts it, keeps what was written, and can be told
// to fail.
type spy struct {
	driver.Versioned
	mu     sync.Mutex
	calls  []string
	wrote  []driver.Mutation
	fail   func(call string) error
	lose   func(call string) error // fails after the call was done
	looked atomic.Int64            // ids that were looked up
}

func newSpy() *spy { return &spy{Versioned: inmem.New()} }

func (s *spy) called(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	if s.fail != nil {
		return s.fail(name)
	}
	return nil
}

func (s *spy) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func (s *spy) List(ctx context.Context, sc memory.Scope, q driver.Query) ([]memory.Entry, error) {
	if err := s.called("List"); err != nil {
		return nil, err
	}
	return s.Versioned.List(ctx, sc, q)
}

func (s *spy) Get(ctx context.Context, sc memory.Scope, id string, at time.Time) (memory.Entry, error) {
	if err := s.called("Get"); err != nil {
		return memory.Entry{}, err
	}
	return s.Versioned.Get(ctx, sc, id, at)
}

func (s *spy) Delete(ctx context.Context, sc memory.Scope, id string, at time.Time) (bool, error) {
	if err := s.called("Delete"); err != nil {
		return false, err
	}
	return s.Versioned.Delete(ctx, sc, id, at)
}

func (s *spy) Lookup(ctx context.Context, sc memory.Scope, ids []string) ([]memory.Record, error) {
	s.looked.Add(int64(len(ids)))
	if err := s.called("Lookup"); err != nil {
		return nil, err
	}
	return s.Versioned.Lookup(ctx, sc, ids)
}

func (s *spy) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if err := s.called("Apply"); err != nil {
		return driver.Applied{}, err
	}
	s.mu.Lock()
	s.wrote = append(s.wrote, m)
	s.mu.Unlock()
	made, err := s.Versioned.Apply(ctx, tenant, m)
	if err == nil && s.lose != nil {
		err = s.lose("Apply")
	}
	return made, err
}

func (s *spy) Version(ctx context.Context, tenant string) (driver.Version, error) {
	if err := s.called("Version"); err != nil {
		return "", err
	}
	return s.Versioned.Version(ctx, tenant)
}

func (s *spy) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	if err := s.called("Undelivered"); err != nil {
		return func(yield func(events.Record, error) bool) { yield(events.Record{}, err) }
	}
	return s.Versioned.Undelivered(ctx, tenant, runID)
}

func (s *spy) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[memory.Record, error] {
	if err := s.called("History"); err != nil {
		return func(yield func(memory.Record, error) bool) { yield(memory.Record{}, err) }
	}
	return s.Versioned.History(ctx, tenant, q)
}

func (s *spy) Delivered(ctx context.Context, recs []events.Record) error {
	if err := s.called("Delivered"); err != nil {
		return err
	}
	return s.Versioned.Delivered(ctx, recs)
}

// plainStore hides everything but the four operations.
type plainStore struct{ driver.Adapter }
