package inmem

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

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
		return *r.entry, nil
	}
	return driver.Entry{}, driver.ErrNotFound
}

// GetAt returns those of the entries that were not retired at v and are live at the
// instant at, in the order of the ids.
func (st *Store) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
	t, n, err := st.at(ctx, s.Tenant, v)
	if t == nil {
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
			entries = append(entries, *r.entry)
		}
	}
	return entries, nil
}

// List returns the live entries of s that q asks for, at the latest version.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	r := st.reader(s, q)
	return r.latest(ctx)
}

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
	t, n, err := st.at(ctx, s.Tenant, v)
	if t == nil {
		return nil, err
	}
	r := st.reader(s, q)
	r.pinned, r.version = true, n
	return r.all(ctx)
}

// Search returns the live entries that match q by [driver.Search.Matches], newest
// first. A limit of 0 means all.
func (st *Store) Search(ctx context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
	r := st.reader(s, driver.Query{Limit: q.Limit, At: q.At})
	r.match = q.Matches
	if !q.Until.IsZero() {
		r.after = &driver.Entry{CreatedAt: q.Until}
	}
	if !q.Since.IsZero() {
		r.since = q.Since.UnixMilli()
	}
	return r.latest(ctx)
}

// Scan yields what List would return. The body of the loop may use the store. What
// is erased meanwhile is passed over, but for a page that was read ahead; if
// [Store.Purge] passes the version that the scan began at, the scan stops with
// [driver.ErrSnapshotUnavailable].
func (st *Store) Scan(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
	// There is one call of yield, so that the compiler can put a loop's body in its
	// place instead of copying every entry twice.
	return func(yield func(driver.Entry, error) bool) {
		r := st.reader(s, q)
		var buf [pageSize]*driver.Entry
		for !r.done {
			page, err := r.next(ctx, buf[:0])
			if err != nil {
				page = append(page, &driver.Entry{})
				r.done = true
			}
			for _, e := range page {
				if !yield(*e, err) {
					return
				}
			}
		}
	}
}

// pageSize is the number of entries that a reader finds at a time under the lock.
const pageSize = 128

// reader reads the visible entries of a scope page by page, newest first. The tenant's
// lock is free between pages; all pages are of one version.
type reader struct {
	tenant  *tenant // nil if there is none
	ref     string
	at      int64
	after   *driver.Entry            // behind which the next page begins; nil for the newest
	since   int64                    // no older entries are wanted
	match   func(*driver.Entry) bool // nil lets everything through
	left    int                      // how many entries are wanted still
	pinned  bool                     // at the version; the first page pins a reader to the latest one
	version uint64
	done    bool
}

func (st *Store) reader(s driver.Scope, q driver.Query) reader {
	r := reader{tenant: st.tenant(s.Tenant), ref: s.Ref, at: q.At.UnixMilli(), since: math.MinInt64, left: q.Limit}
	if q.Limit <= 0 {
		r.left = math.MaxInt
	}
	if !q.After.IsZero() {
		r.after = &driver.Entry{CreatedAt: q.After.CreatedAt, ID: q.After.ID}
	}
	if q.Tag != "" {
		r.match = func(e *driver.Entry) bool { return slices.Contains(e.Tags, q.Tag) }
	}
	return r
}

// latest reads all at the latest version. It begins again if a purge passes that one.
func (r reader) latest(ctx context.Context) ([]driver.Entry, error) {
	for {
		fresh := r
		entries, err := fresh.all(ctx)
		if err != error(driver.ErrSnapshotUnavailable) {
			return entries, err
		}
	}
}

func (r *reader) all(ctx context.Context) ([]driver.Entry, error) {
	var entries []driver.Entry
	var buf [pageSize]*driver.Entry
	for !r.done {
		page, err := r.next(ctx, buf[:0])
		if err != nil {
			return nil, err
		}
		n := len(entries)
		entries = slices.Grow(entries, len(page))[:n+len(page)]
		for i, e := range page {
			entries[n+i] = *e // append would copy it twice
		}
	}
	return entries, nil
}

// next appends the next entries that match to page, which has room for them.
func (r *reader) next(ctx context.Context, page []*driver.Entry) ([]*driver.Entry, error) {
	if err := ctx.Err(); err != nil || r.tenant == nil {
		r.done = true
		return nil, err
	}
	room := pageSize
	if r.match == nil {
		room = min(room, r.left)
	}
	page, err := r.read(page, room)
	if err != nil {
		return nil, err
	}
	if r.done = len(page) < room; !r.done {
		r.after = page[room-1]
	}
	if r.match != nil {
		page = r.narrow(page)
	}
	r.left -= len(page)
	r.done = r.done || r.left == 0
	return page, nil
}

// narrow keeps the entries that match, as many as are wanted.
func (r *reader) narrow(page []*driver.Entry) []*driver.Entry {
	kept := page[:0]
	for _, e := range page {
		if len(kept) == r.left || e.CreatedAt.UnixMilli() < r.since {
			r.done = true
			break
		}
		if r.match(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// read appends the next visible entries to page, up to a number of them.
func (r *reader) read(page []*driver.Entry, room int) ([]*driver.Entry, error) {
	t := r.tenant
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !r.pinned {
		r.pinned, r.version = true, t.version
	}
	sc := t.scopes[r.ref]
	if err := t.available(r.version); err != nil || sc == nil {
		return nil, err
	}
	page = r.appendVisible(&sc.live, page, room)
	if sc.lastDied > r.version {
		page = r.appendVisible(&sc.past, page, len(page)+room)
		slices.SortFunc(page, newestFirst)
		page = page[:min(len(page), room)]
	}
	return page, nil
}

// appendVisible appends the next visible entries of one list, until page has a length.
func (r *reader) appendVisible(l *ordered[*record], page []*driver.Entry, length int) []*driver.Entry {
	c, i := l.end()
	if c >= 0 && r.after != nil {
		c, i = l.locate(&record{entry: r.after, created: r.after.CreatedAt.UnixMilli()})
	}
	for ; c >= 0 && len(page) < length; c, i = c-1, chunkSize {
		items := l.chunks[c]
		for j := min(i, len(items)) - 1; j >= 0 && len(page) < length; j-- {
			if rec := items[j]; rec.visible(r.version, r.at) {
				page = append(page, rec.entry)
			}
		}
	}
	return page
}

func newestFirst(a, b *driver.Entry) int {
	if a.Before(b) {
		return -1
	}
	return 1
}
