package mcp

import (
	"context"
	"fmt"
	"sync"

	"github.com/openwop/agentmemory/memory"
)

// access is what the tools read and write.
type access interface {
	Get(ctx context.Context, id string) (memory.Entry, error)
	List(ctx context.Context, o memory.ListOptions) ([]memory.Entry, error)
	// Hides reports whether an entry that List returns must not be shown.
	Hides(id string) bool
	Search(ctx context.Context, q memory.Search) ([]memory.Hit, error)
	Put(ctx context.Context, d memory.Draft) (memory.Entry, error)
	Delete(ctx context.Context, id string) (bool, error)
}

// live is memory as it is at each call.
type live struct {
	bank *memory.Bank
	job  *memory.Job
	ref  string
}

func (l *live) Get(ctx context.Context, id string) (memory.Entry, error) {
	return l.job.Get(ctx, l.ref, id)
}

func (l *live) List(ctx context.Context, o memory.ListOptions) ([]memory.Entry, error) {
	return l.bank.Reader(l.job.Tenant()).List(ctx, l.ref, o)
}

func (l *live) Hides(string) bool { return false }

func (l *live) Search(ctx context.Context, q memory.Search) ([]memory.Hit, error) {
	return l.bank.Search(ctx, l.job.Tenant(), l.ref, q)
}

func (l *live) Put(ctx context.Context, d memory.Draft) (memory.Entry, error) {
	return l.job.Put(ctx, l.ref, d)
}

func (l *live) Delete(ctx context.Context, id string) (bool, error) {
	return l.job.Delete(ctx, l.ref, id)
}

// view is what one run sees, without what it has deleted: a run goes on seeing the entries of
// others that it deletes, and a client must not be shown again what it was told is gone.
type view struct {
	run *memory.Run
	ref string

	mu   sync.Mutex
	gone map[string]bool
}

func newView(run *memory.Run, ref string) *view {
	return &view{run: run, ref: ref, gone: map[string]bool{}}
}

func (v *view) Hides(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.gone[id]
}

func (v *view) Get(ctx context.Context, id string) (memory.Entry, error) {
	if v.Hides(id) {
		return memory.Entry{}, fmt.Errorf("mcp: it was deleted: %w", memory.ErrNotFound)
	}
	return v.run.Memory().Get(ctx, v.ref, id)
}

func (v *view) List(ctx context.Context, o memory.ListOptions) ([]memory.Entry, error) {
	return v.run.Memory().List(ctx, v.ref, o)
}

func (v *view) Search(ctx context.Context, q memory.Search) ([]memory.Hit, error) {
	v.mu.Lock()
	hidden := len(v.gone)
	v.mu.Unlock()
	limit := q.Limit
	q.Limit = min(limit+hidden, memory.MaxListLimit)
	hits, err := v.run.Search(ctx, v.ref, q)
	var seen []memory.Hit
	for _, h := range hits {
		if len(seen) < limit && !v.Hides(h.Entry.ID) {
			seen = append(seen, h)
		}
	}
	return seen, err
}

func (v *view) Put(ctx context.Context, d memory.Draft) (memory.Entry, error) {
	return v.run.Put(ctx, v.ref, d)
}

func (v *view) Delete(ctx context.Context, id string) (bool, error) {
	if v.Hides(id) {
		return false, nil
	}
	existed, err := v.run.Delete(ctx, v.ref, id)
	if err == nil {
		v.mu.Lock()
		v.gone[id] = true
		v.mu.Unlock()
	}
	return existed, err
}
