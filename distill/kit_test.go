package distill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

var ctx = context.Background()

const (
	tenant = "acme"
	ref    = "mem://acme/support"
)

var scope = memory.Scope{Tenant: tenant, Ref: ref}

var epoch = time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)

// host is all that a host owns, in memory.
type host struct {
	t       testing.TB
	raw     *inmem.Store // the store, without what a test puts around it
	bank    *memory.Bank
	log     *events.Log
	ms      atomic.Int64
	passes  int
	secrets map[string]string
}

func newHost(t testing.TB) *host {
	store := inmem.New()
	return newHostOn(t, store, store)
}

// newHostOn is a host whose bank stands on what a test has put around the store.
func newHostOn(t testing.TB, raw *inmem.Store, around driver.Adapter) *host {
	h := &host{t: t, raw: raw, log: new(events.Log), secrets: map[string]string{}}
	h.ms.Store(epoch.UnixMilli())
	h.reopen(around)
	return h
}

// reopen is a new process over the same store.
func (h *host) reopen(store driver.Adapter) {
	var err error
	h.bank, err = memory.New(store, memory.Config{Now: h.now, Sink: h.log, WriteEvents: true})
	require.NoError(h.t, err)
}

func (h *host) now() time.Time          { return time.UnixMilli(h.ms.Load()).UTC() }
func (h *host) advance(d time.Duration) { h.ms.Add(d.Milliseconds()) }

func (h *host) job() *memory.Job {
	h.t.Helper()
	h.passes++
	return h.jobOf(fmt.Sprintf("pass-%d", h.passes))
}

func (h *host) jobOf(id string) *memory.Job {
	h.t.Helper()
	r := redact.New(redact.Config{})
	for id, value := range h.secrets {
		require.NoError(h.t, r.Register(id, []byte(value)))
	}
	j, err := h.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: r})
	require.NoError(h.t, err)
	return j
}

func (h *host) runner(options ...func(*distill.Config)) *distill.Runner {
	h.t.Helper()
	var cfg distill.Config
	for _, o := range options {
		o(&cfg)
	}
	r, err := distill.New(cfg)
	require.NoError(h.t, err)
	return r
}

func (h *host) put(texts ...string) []memory.Entry {
	h.t.Helper()
	j := h.job()
	var out []memory.Entry
	for _, text := range texts {
		h.advance(time.Second)
		e, err := j.Put(ctx, ref, memory.Draft{Content: text, Tags: []string{"note"}})
		require.NoError(h.t, err)
		out = append(out, e)
	}
	return out
}

func (h *host) live() []memory.Entry {
	h.t.Helper()
	entries, err := h.bank.Reader(tenant).List(ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
	require.NoError(h.t, err)
	return entries
}

func (h *host) outputs() (out []memory.Entry) {
	for _, e := range h.live() {
		if strings.HasPrefix(e.Tags[0], "compacted-from:") {
			out = append(out, e)
		}
	}
	return out
}

// compacted are the payloads that reached the log.
func (h *host) compacted() (out []events.MemoryCompacted) {
	h.t.Helper()
	_, err := h.bank.Maintain(ctx)
	require.NoError(h.t, err)
	for _, ev := range h.log.All() {
		if p, ok := ev.Payload.(events.MemoryCompacted); ok {
			out = append(out, p)
		}
	}
	return out
}

// updates are the versions that workspace.updated has announced, in the order of the log.
func (h *host) updates() (versions []int64) {
	h.t.Helper()
	_, err := h.bank.Maintain(ctx)
	require.NoError(h.t, err)
	for _, ev := range h.log.All() {
		if p, ok := ev.Payload.(events.WorkspaceUpdated); ok {
			require.Equal(h.t, distill.IndexPath, p.Path)
			versions = append(versions, p.Version)
		}
	}
	return versions
}

// documents are those of a kind, in every ref of the tenant.
func (h *host) documents(kind string) (all []driver.Document) {
	h.t.Helper()
	for d, err := range h.raw.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Kind: kind}) {
		require.NoError(h.t, err)
		all = append(all, d)
	}
	return all
}

// archives are the addresses of what is kept.
func (h *host) archives() (all []string) {
	for _, d := range h.documents("distill/archive") {
		require.Equal(h.t, distill.DigestOf(d.Value), d.Group)
		require.Equal(h.t, driver.Content, d.Class)
		all = append(all, d.Group)
	}
	return all
}

func (h *host) bytesOf(address string) []byte {
	h.t.Helper()
	for _, d := range h.documents("distill/archive") {
		if d.Group == address {
			return d.Value
		}
	}
	require.Fail(h.t, "no such archive")
	return nil
}

// index is what the runner renders now, at the version that the head then has.
func (h *host) index() distill.Index {
	h.t.Helper()
	x, version, err := h.runner().Index(ctx, h.job())
	require.NoError(h.t, err)
	require.Equal(h.t, h.version(), version)
	return x
}

// version is the one that the head of the index is at.
func (h *host) version() int64 {
	h.t.Helper()
	all := h.documents("distill/index")
	if len(all) == 0 {
		return 0
	}
	require.Len(h.t, all, 1)
	require.Equal(h.t, driver.Machinery, all[0].Class)
	var head struct{ Format, Version int64 }
	require.NoError(h.t, json.Unmarshal(all[0].Value, &head))
	require.EqualValues(h.t, 1, head.Format)
	return head.Version
}

func (h *host) load(mem memory.Reader) []distill.IndexLine {
	h.t.Helper()
	lines, err := h.runner().LoadIndex(ctx, h.job(), mem, ref)
	require.NoError(h.t, err)
	return lines
}

func (h *host) distill(r *distill.Runner, o distill.Options) distill.Result {
	h.t.Helper()
	j := h.job()
	res, err := r.Distill(ctx, j, ref, o)
	require.NoError(h.t, err)
	require.NoError(h.t, j.End(ctx))
	return res
}

// notes are n different notes of an agent.
func notes(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("Customer %d of branch %d ordered %d boxes on 2026-02-%02d. The invoice goes to desk %d.", i, i%7, 3*i+1, i%28+1, i%5))
	}
	return out
}

// model is a summarizer that a test scripts.
type model struct {
	name  string
	calls atomic.Int64
	say   func(call int64, req distill.Request) ([]distill.Item, error)
}

func (m *model) Version() string { return m.name }
func (m *model) Summarize(_ context.Context, req distill.Request) ([]distill.Item, error) {
	return m.say(m.calls.Add(1), req)
}

// parrot repeats the newest source, each time another number of its first words.
func parrot() *model {
	return &model{name: "parrot/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		words := strings.Fields(req.Sources[0].Text)
		n := len(words) - int(call-1)%len(words)
		return []distill.Item{{Text: strings.Join(words[:n], " "), Sources: []string{req.Sources[0].ID}}}, nil
	}}
}

// errCrash is what every store call returns once the process is down.
var errCrash = errors.New("the process is down")

// fuse lets a number of calls through and then fails all, before or after the call
// that it burns on took effect.
type fuse struct {
	mu    sync.Mutex
	left  int
	after bool
	off   bool
}

// pass reports whether a call takes effect and whether its answer arrives.
func (f *fuse) pass() (acts, answers bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off {
		return true, true
	}
	f.left--
	return f.left >= 0 || f.left == -1 && f.after, f.left >= 0
}

func guard[T any](f *fuse, call func() (T, error)) (T, error) {
	var zero T
	acts, answers := f.pass()
	if !acts {
		return zero, errCrash
	}
	v, err := call()
	if !answers {
		return zero, errCrash
	}
	return v, err
}

// crashStore fails what a pass calls of a store.
type crashStore struct {
	*inmem.Store
	*fuse
}

func (c crashStore) As(target any) bool {
	switch t := target.(type) {
	case *driver.Transactor:
		*t = c
	case *driver.Versioned:
		*t = c
	default:
		return false
	}
	return true
}

func (c crashStore) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	return guard(c.fuse, func() (memory.Entry, error) { return c.Store.Get(ctx, s, id, at) })
}

func (c crashStore) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	return guard(c.fuse, func() ([]memory.Entry, error) { return c.Store.List(ctx, s, q) })
}

func (c crashStore) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	return guard(c.fuse, func() (driver.Applied, error) { return c.Store.Apply(ctx, tenant, m) })
}

func (c crashStore) Lookup(ctx context.Context, s memory.Scope, ids []string) ([]memory.Record, error) {
	return guard(c.fuse, func() ([]memory.Record, error) { return c.Store.Lookup(ctx, s, ids) })
}

func (c crashStore) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return guard(c.fuse, func() (driver.Version, error) { return c.Store.Version(ctx, tenant) })
}

func (c crashStore) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[memory.Record, error] {
	if acts, answers := c.pass(); !acts || !answers {
		return func(yield func(memory.Record, error) bool) { yield(memory.Record{}, errCrash) }
	}
	return c.Store.History(ctx, tenant, q)
}

func (c crashStore) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	if acts, answers := c.pass(); !acts || !answers {
		return func(yield func(driver.Document, error) bool) { yield(driver.Document{}, errCrash) }
	}
	return c.Store.Documents(ctx, q)
}

// meter counts what is asked of a store and what it returns.
type meter struct {
	*inmem.Store
	calls, entries, documents int64
}

func (m *meter) As(target any) bool {
	switch t := target.(type) {
	case *driver.Transactor:
		*t = m
	case *driver.Versioned:
		*t = m
	default:
		return false
	}
	return true
}

func (m *meter) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	m.calls++
	m.entries++
	return m.Store.Get(ctx, s, id, at)
}

func (m *meter) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	found, err := m.Store.List(ctx, s, q)
	m.calls++
	m.entries += int64(len(found))
	return found, err
}

func (m *meter) Apply(ctx context.Context, tenant string, mutation driver.Mutation) (driver.Applied, error) {
	m.calls++
	return m.Store.Apply(ctx, tenant, mutation)
}

func (m *meter) Lookup(ctx context.Context, s memory.Scope, ids []string) ([]memory.Record, error) {
	found, err := m.Store.Lookup(ctx, s, ids)
	m.calls++
	m.entries += int64(len(found))
	return found, err
}

func (m *meter) Version(ctx context.Context, tenant string) (driver.Version, error) {
	m.calls++
	return m.Store.Version(ctx, tenant)
}

func (m *meter) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[memory.Record, error] {
	m.calls++
	return counted(m.Store.History(ctx, tenant, q), &m.entries)
}

func (m *meter) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	m.calls++
	return counted(m.Store.Documents(ctx, q), &m.documents)
}

func counted[T any](all iter.Seq2[T, error], n *int64) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for x, err := range all {
			*n++
			if !yield(x, err) {
				return
			}
		}
	}
}
