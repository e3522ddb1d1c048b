package adaptertest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// host is a bank over the case's store, on the kit's clock, with a log for its
// events. Cases use it where a law is about what a bank needs of a store.
type host struct {
	w    *world
	bank *memory.Bank
	log  *events.Log
	// queue has the runs that its commitments started.
	queue *runs
}

func (w *world) host() *host { return w.hostOn((&injector{world: w}).over(w.store)) }

func (w *world) hostOn(store driver.Adapter) *host {
	w.unmirrored()
	h := &host{w: w, log: new(events.Log), queue: &runs{byKey: map[string]string{}}}
	_, transactor := driver.As[driver.Transactor](store)
	bank, err := memory.New(store, memory.Config{
		Now:         func() time.Time { return w.now },
		Sink:        &patience{Log: h.log},
		WriteEvents: transactor,
		Horizon:     time.Millisecond,
	})
	w.must(err)
	h.bank = bank
	return h
}

// patience is a sink that gives up when events come over and over, as they do from
// an outbox that never lets go of any.
type patience struct {
	*events.Log
	came atomic.Int64
}

func (p *patience) Emit(ctx context.Context, recs ...events.Record) error {
	if p.came.Add(int64(len(recs))) > 10_000 {
		return errors.New("the same events came from the outbox over and over")
	}
	return p.Log.Emit(ctx, recs...)
}

// job opens a background pass. It never needs ending: its registry belongs to the
// case.
func (h *host) job(tenant string, secrets *redact.SecretRegistry) *memory.Job {
	if secrets == nil {
		secrets = redact.New(redact.Config{})
	}
	j, err := h.bank.Background(memory.JobConfig{ID: "pass", Tenant: tenant, Redactor: secrets})
	h.w.must(err)
	return j
}

// named opens a background pass of its own.
func (h *host) named(id string) *memory.Job {
	j, err := h.bank.Background(memory.JobConfig{ID: id, Tenant: home.Tenant, Redactor: redact.New(redact.Config{})})
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
func (h *host) merge(j *memory.Job, ref, content string, sources ...driver.Entry) driver.Entry {
	h.w.now = h.w.now.Add(time.Millisecond)
	made, err := j.Rewrite(h.w.ctx, ref, mergeOf(content, sources...))
	h.w.must(err)
	return made.Entries[0]
}

func mergeOf(content string, sources ...driver.Entry) memory.Rewrite {
	return memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: content}, Sources: ids(sources), Merges: ids(sources),
	}}}
}

// contents are what live memory says in a ref, newest first.
func (h *host) contents(tenant, ref string) []string {
	return h.w.contents(h.bank.Reader(tenant), ref)
}

func (w *world) contents(r memory.Reader, ref string) []string {
	entries, err := r.List(w.ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
	w.must(err)
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

func (h *host) relay() {
	_, err := h.bank.Maintain(h.w.ctx)
	h.w.must(err)
}

func (h *host) announcedOnce(kind events.Type) {
	n := h.announced("engine", kind)
	h.w.check(n == 1, "one event of the pass in the log", "%d", n)
	h.w.waiting(home.Tenant, "engine")
}
