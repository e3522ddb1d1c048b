package inmem

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// List returns the live entries of s that q asks for, at the latest version.
func (st *Store) List(ctx context.Context, s memory.Scope, q memory.Query) ([]memory.Entry, error) {
	for {
		var p pager
		p.start(st, s, q.At.UnixMilli(), positionOf(q.After), q.Limit)
		p.filter.tag = q.Tag
		if entries, err := p.collect(ctx); !overtaken(err) {
			return entries, err
		}
	}
}

// overtaken tells that a purge passed the version which was the latest when a
// read began. It begins again.
func overtaken(err error) bool { return err == error(memory.ErrSnapshotUnavailable) }

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var p pager
	p.start(st, s, q.At.UnixMilli(), positionOf(q.After), q.Limit)
	p.filter.tag = q.Tag
	if err := p.pin(st, s.Tenant, v); err != nil {
		return nil, err
	}
	return p.collect(ctx)
}

// Search returns the live entries that match q by [memory.Search.Matches], newest
// first. A limit of 0 means all.
func (st *Store) Search(ctx context.Context, s memory.Scope, q memory.Search) ([]memory.Entry, error) {
	var behind position
	if !q.Until.IsZero() {
		behind = position{set: true, created: q.Until.UnixMilli()}
	}
	for {
		var p pager
		p.start(st, s, q.At.UnixMilli(), behind, q.Limit)
		p.filter.search = &q
		if entries, err := p.collect(ctx); !overtaken(err) {
			return entries, err
		}
	}
}

// Scan yields what List would return. The body of the loop may use the store. What
// is erased meanwhile is passed over; if [Store.Purge] passes the version that
// the scan began at, the scan stops with [memory.ErrSnapshotUnavailable].
func (st *Store) Scan(ctx context.Context, s memory.Scope, q memory.Query) iter.Seq2[memory.Entry, error] {
	// There is one call of yield, so that the compiler can put a loop's body in its
	// place instead of copying every entry twice.
	return func(yield func(memory.Entry, error) bool) {
		var p pager
		p.start(st, s, q.At.UnixMilli(), positionOf(q.After), q.Limit)
		p.filter.tag = q.Tag
		var buf [pageSize]*record
		for page := p.next(ctx, &buf); len(page) > 0; page = p.next(ctx, &buf) {
			for i := len(page) - 1; i >= 0; i-- {
				if r := page[i]; r.wiped.Load() {
					p.missed()
				} else if !yield(r.entry, p.err) {
					return
				}
			}
		}
	}
}

// Get returns the entry, or [memory.ErrNotFound].
func (st *Store) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return memory.Entry{}, err
	}
	t := st.tenant(s.Tenant)
	if t == nil {
		return memory.Entry{}, memory.ErrNotFound
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r := t.find(s.Ref, id); r != nil && r.liveAt(at.UnixMilli()) {
		return r.entry, nil
	}
	return memory.Entry{}, memory.ErrNotFound
}

// GetAt is Get over the entries that were not retired at v.
func (st *Store) GetAt(ctx context.Context, s memory.Scope, v memory.Version, id string, at time.Time) (memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return memory.Entry{}, err
	}
	p := pager{tenant: st.tenant(s.Tenant)}
	if err := p.pin(st, s.Tenant, v); err != nil {
		return memory.Entry{}, err
	}
	if p.tenant == nil {
		return memory.Entry{}, memory.ErrNotFound
	}
	p.tenant.mu.RLock()
	defer p.tenant.mu.RUnlock()
	if err := p.tenant.available(p.version); err != nil {
		return memory.Entry{}, err
	}
	if r := p.tenant.find(s.Ref, id); r != nil && !r.stub && r.visible(p.version, at.UnixMilli()) {
		return r.entry, nil
	}
	return memory.Entry{}, memory.ErrNotFound
}

// collect copies all that is to be read into a slice.
func (p *pager) collect(ctx context.Context) ([]memory.Entry, error) {
	var entries []memory.Entry
	var buf [pageSize]*record
	for page := p.next(ctx, &buf); len(page) > 0; page = p.next(ctx, &buf) {
		if p.err != nil {
			return nil, p.err
		}
		if entries == nil {
			entries = make([]memory.Entry, 0, p.expect(len(page)))
		}
		n := len(entries)
		entries = slices.Grow(entries, len(page))[:n+len(page)]
		for i := len(page) - 1; i >= 0; i-- {
			if r := page[i]; r.wiped.Load() {
				p.missed()
			} else {
				entries[n] = r.entry // append would copy it twice
				n++
			}
		}
		entries = entries[:n]
	}
	return entries, nil
}
