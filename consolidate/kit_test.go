package consolidate

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const ref = "mem://support/agent-7"

// host is a bank over a store with a clock and a log.
type host struct {
	*memory.Bank
	t     testing.TB
	store driver.Versioned
	ms    atomic.Int64
	log   *events.Log
}

func newHost(t testing.TB) *host { return newHostOn(t, inmem.New()) }

func newHostOn(t testing.TB, store driver.Versioned) *host {
	h := &host{t: t, store: store, log: new(events.Log)}
	h.ms.Store(epoch.UnixMilli())
	bank, err := memory.New(store, memory.Config{
		Now: func() time.Time { return time.UnixMilli(h.ms.Load()) }, Sink: h.log, WriteEvents: true,
		MaxUndelivered: 1 << 30,
	})
	require.NoError(t, err)
	h.Bank = bank
	return h
}

func (h *host) advance(d time.Duration) { h.ms.Add(d.Milliseconds()) }

func (h *host) jobOf(tenant, id string, secrets ...string) *memory.Job {
	h.t.Helper()
	r := redact.New(redact.Config{})
	for _, s := range secrets {
		require.NoError(h.t, r.Register("key", []byte(s)))
	}
	j, err := h.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: r})
	require.NoError(h.t, err)
	return j
}

func (h *host) job(id string) *memory.Job { return h.jobOf("acme", id) }

// put writes a note; each is a second younger than the last.
func (h *host) put(d memory.Draft) memory.Entry {
	h.t.Helper()
	h.advance(time.Second)
	e, err := h.job("import").Put(ctx, ref, d)
	require.NoError(h.t, err)
	return e
}

func (h *host) note(content string, tags ...string) memory.Entry {
	return h.put(memory.Draft{Content: content, Tags: tags})
}

func (h *host) live() (ids []string) {
	h.t.Helper()
	for e, err := range h.job("read").Scan(ctx, ref) {
		require.NoError(h.t, err)
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

func (h *host) texts() (texts []string) {
	h.t.Helper()
	for e, err := range h.job("read").Scan(ctx, ref) {
		require.NoError(h.t, err)
		texts = append(texts, e.Content)
	}
	slices.Sort(texts)
	return texts
}

func (h *host) run(c *Consolidator, id string, o ...Options) Result {
	h.t.Helper()
	r, err := c.Run(ctx, h.job(id), ref, append(o, Options{})[0])
	require.NoError(h.t, err)
	return r
}

// passes are the consolidation events in the log, in order.
func (h *host) passes() (evs []events.MemoryConsolidated) {
	h.t.Helper()
	_, err := h.Maintain(ctx)
	require.NoError(h.t, err)
	for _, ev := range h.log.All() {
		if p, ok := ev.Payload.(events.MemoryConsolidated); ok {
			evs = append(evs, p)
		}
	}
	return evs
}

func (h *host) outcome(id string) memory.Outcome {
	h.t.Helper()
	f, err := h.Lineage(ctx, "acme", ref, id)
	require.NoError(h.t, err)
	return f[id]
}

func newConsolidator(t testing.TB, cfg Config) *Consolidator {
	t.Helper()
	c, err := New(cfg)
	require.NoError(t, err)
	return c
}

// planner and merger are functions as the interfaces want them.
type planner struct {
	plan    func(context.Context, []memory.Entry) (Plan, error)
	version string
}

func (p planner) Plan(ctx context.Context, es []memory.Entry) (Plan, error) { return p.plan(ctx, es) }
func (p planner) Version() string                                           { return p.version }

type merger struct {
	merge   func(context.Context, []memory.Entry) (string, error)
	version string
}

func (m merger) Merge(ctx context.Context, es []memory.Entry) (string, error) {
	return m.merge(ctx, es)
}
func (m merger) Version() string { return m.version }

// faulty passes every call to a store on, and can fail before or after it.
type faulty struct {
	driver.Versioned
	mu     sync.Mutex
	calls  int
	failAt int // the call that fails, from 1; 0 for none
	after  bool
	hook   func(call string)
}

var errDisk = errors.New("the disk failed")

func (f *faulty) call(name string, do func() error) error {
	f.mu.Lock()
	f.calls++
	fails, hook := f.calls == f.failAt, f.hook
	f.mu.Unlock()
	if hook != nil {
		hook(name)
	}
	if fails && !f.after {
		return errDisk
	}
	if err := do(); err != nil {
		return err
	}
	if fails {
		return errDisk
	}
	return nil
}

func (f *faulty) Apply(ctx context.Context, tenant string, m driver.Mutation) (v driver.Applied, err error) {
	err = f.call("Apply", func() (err error) { v, err = f.Versioned.Apply(ctx, tenant, m); return err })
	return v, err
}

func (f *faulty) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		var found []driver.Document
		err := f.call("Documents", func() error {
			for d, err := range f.Versioned.Documents(ctx, q) {
				if err != nil {
					return err
				}
				found = append(found, d)
			}
			return nil
		})
		for _, d := range found {
			if !yield(d, nil) {
				return
			}
		}
		if err != nil {
			yield(driver.Document{}, err)
		}
	}
}

func (f *faulty) Lookup(ctx context.Context, s memory.Scope, ids []string) (recs []memory.Record, err error) {
	err = f.call("Lookup", func() (err error) { recs, err = f.Versioned.Lookup(ctx, s, ids); return err })
	return recs, err
}

func (f *faulty) List(ctx context.Context, s memory.Scope, q driver.Query) (es []memory.Entry, err error) {
	err = f.call("List", func() (err error) { es, err = f.Versioned.List(ctx, s, q); return err })
	return es, err
}

func (f *faulty) Version(ctx context.Context, tenant string) (v driver.Version, err error) {
	err = f.call("Version", func() (err error) { v, err = f.Versioned.Version(ctx, tenant); return err })
	return v, err
}

func (f *faulty) Changes(ctx context.Context, s memory.Scope, from, to driver.Version) (set driver.ChangeSet, err error) {
	err = f.call("Changes", func() (err error) {
		set, err = f.Versioned.(driver.Changes).Changes(ctx, s, from, to)
		return err
	})
	return set, err
}

func whyRefused(merged string, sources []string) string {
	why, err := facts.Changed(ctx, merged, sources)
	if err != nil {
		panic(err)
	}
	return why
}

// retired is how many entries a plan retires.
func retired(p Plan) (n int) {
	for _, g := range p {
		n += len(g.Retire)
	}
	return n
}
