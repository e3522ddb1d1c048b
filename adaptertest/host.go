package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// host is a bank over a store, on the kit's clock, with a log for its events. Cases use
// it where a law is about what a bank or an engine needs of a store.
type host struct {
	w    *world
	bank *memory.Bank
	log  *events.Log
	// queue has the runs that its commitments started.
	queue *runs
}

func (w *world) host() *host { return w.hostOn(w.store, memory.Config{Horizon: time.Millisecond}) }

// errEndless is what calls fail with after far more of them than any host needs: banks and
// engines repeat what conflicts, and erase until they find nothing left.
var errEndless = errors.New("the store was called 100,000 times and there was no end")

func (w *world) hostOn(store driver.Adapter, cfg memory.Config) *host {
	w.unmirrored()
	store = Inject(store, From(100_000, Fail(errEndless)), recovered)
	h := &host{w: w, log: new(events.Log), queue: &runs{byKey: map[string]string{}}}
	cfg.Now, cfg.Sink = func() time.Time { return w.now }, h.log
	_, cfg.WriteEvents = driver.As[driver.Transactor](store)
	var err error
	h.bank, err = memory.New(store, cfg)
	w.must(err)
	return h
}

// recovered makes a panic of the store an error of the call: an engine makes some of its
// calls in goroutines of its own, in which no other call would catch it.
func recovered(ctx context.Context, _ *Call, next func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a panic: %v", r)
		}
	}()
	return next(ctx)
}

// runs is an Enqueuer that keeps its contract: one run for a key.
type runs struct {
	mu         sync.Mutex
	byKey      map[string]string
	deliveries int
}

func (r *runs) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries++
	if r.byKey[f.Key] == "" {
		r.byKey[f.Key] = fmt.Sprint("run-", len(r.byKey)+1)
	}
	return r.byKey[f.Key], nil
}

// noSecrets is a redactor of a tenant that has none.
func noSecrets(context.Context, string) (memory.Redactor, error) {
	return redact.New(redact.Config{}), nil
}

// engine is one that a new process has over the host's bank.
func (h *host) engine() *commitment.Engine {
	e, err := commitment.New(h.bank, commitment.Config{Redactor: noSecrets, Enqueuer: h.queue, Predicate: func(string, string) bool { return true }})
	h.w.must(err)
	return e
}

// job opens a background pass. It never needs ending: its registry belongs to the
// case.
func (h *host) job(tenant string, secrets *redact.SecretRegistry) *memory.Job {
	return h.named("pass", tenant, secrets)
}

// named opens a background pass of its own.
func (h *host) named(id, tenant string, secrets *redact.SecretRegistry) *memory.Job {
	if secrets == nil {
		secrets = redact.New(redact.Config{})
	}
	j, err := h.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: secrets})
	h.w.must(err)
	return j
}

func (h *host) run(tenant, id string, resume memory.Token) *memory.Run {
	r, err := h.bank.Start(h.w.ctx, memory.RunConfig{ID: id, Tenant: tenant, Resume: resume, Redactor: redact.New(redact.Config{})})
	h.w.must(err)
	return r
}

// putter is a run or a job.
type putter interface {
	Put(ctx context.Context, ref string, d memory.Draft) (driver.Entry, error)
}

// put writes one entry, a millisecond after the last.
func (h *host) put(p putter, ref string, d memory.Draft) driver.Entry {
	h.w.now = h.w.now.Add(time.Millisecond)
	e, err := p.Put(h.w.ctx, ref, d)
	h.w.must(err)
	return e
}

func (h *host) note(p putter, ref, content string, subjects ...string) driver.Entry {
	return h.put(p, ref, memory.Draft{Content: content, Subjects: subjects})
}

// merge puts an entry in the place of others.
func (h *host) merge(j *memory.Job, ref, content string, sources ...driver.Entry) {
	h.w.now = h.w.now.Add(time.Millisecond)
	_, err := j.Rewrite(h.w.ctx, ref, memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: content}, Sources: ids(sources), Merges: ids(sources),
	}}})
	h.w.must(err)
}

// contents are what live memory says in a ref, newest first.
func (h *host) contents(tenant, ref string) []string {
	return h.w.contents(h.bank.Reader(tenant), ref)
}

func (w *world) contents(r memory.Reader, ref string) []string {
	entries, err := r.List(w.ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
	w.must(err)
	return contentsOf(entries)
}

func contentsOf(entries []driver.Entry) []string {
	texts := []string{}
	for _, e := range entries {
		texts = append(texts, e.Content)
	}
	return texts
}

// sameTexts compares in any order.
func (w *world) sameTexts(got []string, want ...string) {
	w.came(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))...)
}
