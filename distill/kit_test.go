package distill_test

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

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
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
	t         testing.TB
	store     memory.Adapter
	bank      *memory.Bank
	log       *events.Log
	archives  distill.ArchiveStore
	workspace distill.Workspace
	ms        atomic.Int64
	passes    int
	secrets   map[string]string
}

func newHost(t testing.TB) *host { return newHostOn(t, inmem.New()) }

func newHostOn(t testing.TB, store memory.Adapter) *host {
	h := &host{t: t, store: store, log: new(events.Log), archives: distill.NewMemoryStore(), secrets: map[string]string{}}
	h.workspace = distill.NewMemoryWorkspace(h.log)
	h.ms.Store(epoch.UnixMilli())
	h.reopen()
	return h
}

// reopen is a new process over the same stores.
func (h *host) reopen() {
	var err error
	h.bank, err = memory.NewBank(h.store, memory.Config{Now: h.now, Sink: h.log, WriteEvents: true})
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
	r := redact.NewSecretRegistry(redact.Config{})
	for id, value := range h.secrets {
		require.NoError(h.t, r.Register(id, []byte(value), redact.LevelTenant))
	}
	j, err := h.bank.Background(memory.JobConfig{RunID: id, Tenant: tenant, Redactor: r})
	require.NoError(h.t, err)
	return j
}

// runner is one over the host's stores.
func (h *host) runner(options ...func(*distill.Config)) *distill.Runner {
	h.t.Helper()
	cfg := distill.Config{Archives: h.archives, Workspace: h.workspace}
	for _, o := range options {
		o(&cfg)
	}
	r, err := distill.NewRunner(cfg)
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
	_, err := h.bank.Relay(ctx)
	require.NoError(h.t, err)
	for _, ev := range h.log.All() {
		if p, ok := ev.Payload.(events.MemoryCompacted); ok {
			out = append(out, p)
		}
	}
	return out
}

func (h *host) updates() (n int) {
	for _, ev := range h.log.All() {
		if ev.Payload.EventType() == events.TypeWorkspaceUpdated {
			n++
		}
	}
	return n
}

func (h *host) bytesOf(address distill.Digest) []byte {
	h.t.Helper()
	data, err := h.archives.Load(ctx, scope, address)
	require.NoError(h.t, err)
	return data
}

func (h *host) kept() (n int) {
	for _, err := range h.archives.Archives(ctx, scope) {
		require.NoError(h.t, err)
		n++
	}
	return n
}

func (h *host) distill(r *distill.Runner, o distill.Options) distill.Result {
	h.t.Helper()
	j := h.job()
	res, err := r.Distill(ctx, j, ref, o)
	require.NoError(h.t, err)
	require.NoError(h.t, res.IndexErr)
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

func (m *model) Name() string { return m.name }
func (m *model) Summarize(_ context.Context, req distill.Request) ([]distill.Item, error) {
	return m.say(m.calls.Add(1), req)
}

// parrot says another thing each time.
func parrot() *model {
	return &model{name: "parrot/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		return []distill.Item{{Text: fmt.Sprintf("Summary number %d.", call), Sources: []string{req.Sources[0].ID}}}, nil
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
	case *memory.Transactor:
		*t = c
	case *memory.Versioned:
		*t = c
	default:
		return false
	}
	return true
}

func (c crashStore) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	return guard(c.fuse, func() (memory.Entry, error) { return c.Store.Get(ctx, s, id, at) })
}

func (c crashStore) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	return guard(c.fuse, func() ([]memory.Entry, error) { return c.Store.ListAt(ctx, s, v, q) })
}

func (c crashStore) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	return guard(c.fuse, func() (memory.Version, error) { return c.Store.Apply(ctx, tenant, m) })
}

func (c crashStore) Cell(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
	return guard(c.fuse, func() ([]byte, error) { return c.Store.Cell(ctx, s, name) })
}

func (c crashStore) Version(ctx context.Context, tenant string) (memory.Version, error) {
	return guard(c.fuse, func() (memory.Version, error) { return c.Store.Version(ctx, tenant) })
}

func (c crashStore) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	if acts, answers := c.pass(); !acts || !answers {
		return func(yield func(memory.Record, error) bool) { yield(memory.Record{}, errCrash) }
	}
	return c.Store.History(ctx, tenant, q)
}

// crashArchives fails the calls of an archive store.
type crashArchives struct {
	distill.ArchiveStore
	*fuse
}

func (c crashArchives) Find(ctx context.Context, s memory.Scope, key distill.Digest) (distill.Digest, error) {
	return guard(c.fuse, func() (distill.Digest, error) { return c.ArchiveStore.Find(ctx, s, key) })
}

func (c crashArchives) Keep(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
	return guard(c.fuse, func() (distill.Digest, error) { return c.ArchiveStore.Keep(ctx, s, key, data, at) })
}

func (c crashArchives) Load(ctx context.Context, s memory.Scope, a distill.Digest) ([]byte, error) {
	return guard(c.fuse, func() ([]byte, error) { return c.ArchiveStore.Load(ctx, s, a) })
}

func (c crashArchives) Drop(ctx context.Context, s memory.Scope, a distill.Digest, before time.Time) error {
	_, err := guard(c.fuse, func() (struct{}, error) { return struct{}{}, c.ArchiveStore.Drop(ctx, s, a, before) })
	return err
}

// crashWorkspace fails the calls of a workspace.
type crashWorkspace struct {
	distill.Workspace
	*fuse
}

func (c crashWorkspace) ReadFile(ctx context.Context, tenant, path string) (distill.File, error) {
	return guard(c.fuse, func() (distill.File, error) { return c.Workspace.ReadFile(ctx, tenant, path) })
}

func (c crashWorkspace) WriteFile(ctx context.Context, w distill.Write) (distill.File, error) {
	return guard(c.fuse, func() (distill.File, error) { return c.Workspace.WriteFile(ctx, w) })
}
