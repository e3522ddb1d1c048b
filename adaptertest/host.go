package adaptertest

import (
	"context"
	"errors"
	"fmt"
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
	down       bool // it refuses everything
}

func (r *runs) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return "", errInjected
	}
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
	e, err := commitment.New(h.bank, commitment.Config{
		Redactor: noSecrets, Enqueuer: h.queue, Predicate: func(string, string) bool { return true },
		GiveUpAfter: time.Second, // two tries
	})
	h.w.must(err)
	return e
}

// job opens a background pass. It never needs ending: its registry belongs to the
// case.
func (h *host) job(id, tenant string) *memory.Job {
	j, err := h.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: redact.New(redact.Config{})})
	h.w.must(err)
	return j
}

// note puts an entry, a millisecond after the last.
func (h *host) note(j *memory.Job, content string) driver.Entry {
	h.w.now = h.w.now.Add(time.Millisecond)
	e, err := j.Put(h.w.ctx, home.Ref, memory.Draft{Content: content})
	h.w.must(err)
	return e
}

// live are the entries that a reader shows in a ref, newest first.
func (w *world) live(r memory.Reader, ref string) []driver.Entry {
	entries, err := r.List(w.ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
	w.must(err)
	return entries
}

func contentsOf(entries []driver.Entry) []string {
	texts := []string{}
	for _, e := range entries {
		texts = append(texts, e.Content)
	}
	return texts
}
