package inmem

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// List returns the live entries of s that q asks for, at the latest version.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return st.reader(s, q).latest(ctx)
}

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
	t, n, err := st.at(ctx, s.Tenant, v)
	if err != nil || t == nil {
		return nil, err
	}
	r := st.reader(s, q)
	r.pinned, r.version = true, n
	return r.collect(ctx)
}

// Search returns the live entries that match q by [driver.Search.Matches], newest
// first. A limit of 0 means all.
func (st *Store) Search(ctx context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
	r := st.reader(s, driver.Query{Limit: q.Limit, At: q.At})
	r.match = q.Matches
	if !q.Until.IsZero() {
		r.behind = position{set: true, created: q.Until.UnixMilli()}
	}
	if !q.Since.IsZero() {
		r.since = q.Since.UnixMilli()
	}
	return r.latest(ctx)
}

// Scan yields what List would return. The body of the loop may use the store. What
// is erased meanwhile is passed over; if [Store.Purge] passes the version that
// the scan began at, the scan stops with [driver.ErrSnapshotUnavailable].
func (st *Store) Scan(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		r := st.reader(s, q)
		page := make([]driver.Entry, 0, r.pageSize())
		for {
			entries, err := r.next(ctx, page)
			if err != nil {
				yield(driver.Entry{}, err)
				return
			}
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if r.done {
				return
			}
		}
	}
}

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return driver.Entry{}, err
	}
	t := st.tenant(s.Tenant)
	if t == nil {
		return driver.Entry{}, driver.ErrNotFound
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r := t.find(s.Ref, id); r != nil && r.liveAt(at.UnixMilli()) {
		return r.entry, nil
	}
	return driver.Entry{}, driver.ErrNotFound
}

// GetAt returns those of the entries that were not retired at v and are live at the
// instant at, in the order of the ids.
func (st *Store) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
	t, n, err := st.at(ctx, s.Tenant, v)
	if err != nil || t == nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.available(n); err != nil {
		return nil, err
	}
	var entries []driver.Entry
	for _, id := range ids {
		if r := t.find(s.Ref, id); r != nil && !r.erased && r.visible(n, at.UnixMilli()) {
			entries = append(entries, r.entry)
		}
	}
	return entries, nil
}

// position is a place in a list; the zero value is before the first entry.
type position struct {
	set     bool
	created int64
	id      string
}

// pageSize is the number of entries that a reader copies at a time under the lock.
const pageSize = 128

// reader reads the visible entries of a scope page by page. The tenant's lock is free
// between pages; all pages are of one version.
type reader struct {
	tenant  *tenant // nil if there is none
	ref     string
	at      int64
	behind  position
	since   int64                    // older entries are out of range
	match   func(*driver.Entry) bool // nil lets everything through
	left    int                      // how many entries are wanted still
	pinned  bool                     // version is set: if not, the first page takes the latest one
	version uint64
	done    bool
}

func (st *Store) reader(s driver.Scope, q driver.Query) *reader {
	r := &reader{tenant: st.tenant(s.Tenant), ref: s.Ref, at: q.At.UnixMilli(), since: -never, left: q.Limit}
	if q.Limit <= 0 {
		r.left = never
	}
	if !q.After.IsZero() {
		r.behind = position{true, q.After.CreatedAt.UnixMilli(), q.After.ID}
	}
	if q.Tag != "" {
		r.match = func(e *driver.Entry) bool { return slices.Contains(e.Tags, q.Tag) }
	}
	return r
}

func (r *reader) pageSize() int { return min(r.left, pageSize) }

// latest reads all at the latest version. It begins again if a purge passes that one.
func (r *reader) latest(ctx context.Context) ([]driver.Entry, error) {
	for {
		again := *r
		entries, err := again.collect(ctx)
		if err != error(driver.ErrSnapshotUnavailable) {
			return entries, err
		}
	}
}

func (r *reader) collect(ctx context.Context) ([]driver.Entry, error) {
	var entries []driver.Entry
	for !r.done {
		n := len(entries)
		entries = slices.Grow(entries, r.pageSize())
		page, err := r.next(ctx, entries[n:n])
		if err != nil {
			return nil, err
		}
		entries = entries[:n+len(page)]
	}
	return entries, nil
}

// next appends the next page to dst, which has room for it.
func (r *reader) next(ctx context.Context, dst []driver.Entry) ([]driver.Entry, error) {
	if err := ctx.Err(); err != nil || r.tenant == nil {
		r.done = true
		return nil, err
	}
	t := r.tenant
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !r.pinned {
		r.pinned, r.version = true, t.version
	}
	if err := t.available(r.version); err != nil {
		return nil, err
	}
	sc := t.scopes[r.ref]
	if sc == nil {
		r.done = true
		return nil, nil
	}
	w := sc.walk(r)
	for seen, want := 0, r.pageSize(); seen < pageSize && len(dst) < want; seen++ {
		rec := w.next()
		if rec == nil || rec.created < r.since {
			r.done = true
			break
		}
		r.behind = position{true, rec.created, rec.entry.ID}
		if r.match == nil || r.match(&rec.entry) {
			dst = append(dst, rec.entry)
		}
	}
	r.left -= len(dst)
	r.done = r.done || r.left == 0
	return dst, nil
}

// walk goes over the records of a scope that a version shows, newest first.
type walk struct {
	version    uint64
	at         int64
	live, past cursor
	a, b       *record // next of each
}

func (sc *scope) walk(r *reader) walk {
	w := walk{version: r.version, at: r.at, live: sc.live.below(r.behind)}
	w.a = w.live.next(w.version, w.at)
	if sc.past.lastDied > r.version {
		w.past = sc.past.below(r.behind)
		w.b = w.past.next(w.version, w.at)
	}
	return w
}

func (w *walk) next() *record {
	if w.b == nil || w.a != nil && w.b.before(w.a.created, w.a.entry.ID) {
		r := w.a
		if r != nil {
			w.a = w.live.next(w.version, w.at)
		}
		return r
	}
	r := w.b
	w.b = w.past.next(w.version, w.at)
	return r
}
