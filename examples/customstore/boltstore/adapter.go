package boltstore

import (
	"bytes"
	"context"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 4. What is easily got wrong, and the law by which the kit tells: a delete that removes
// the entry, so that its id is free again (IDEMPOTENCE); a clock of the store's own in place of
// the instant of the call (TTL); a limit that cuts before a filter, or a page that ends among
// entries of one instant (ORDER); a put that changes nothing and makes a version (VIEW).

// Get returns the entry if it is live at the instant at.
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (e driver.Entry, err error) {
	err = st.view(ctx, func(t *tx) error {
		r := t.find(s, id)
		if r == nil || !r.current() || !r.Entry.LiveAt(at) {
			return driver.ErrNotFound
		}
		e = r.Entry
		return nil
	})
	return e, err
}

// Put inserts e if the scope has no entry of that id. The same entry again is a success
// that changes nothing, whatever became of it; but an erased one is no longer the same.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	return st.update(ctx, func(t *tx) error {
		r := t.find(s, e.ID)
		switch {
		case r == nil:
			t.change(s.Tenant, func(a *account) { t.insert(a, s, e) })
		case r.Erased || !r.Entry.Equal(&e):
			return driver.ErrConflict
		}
		return nil
	})
}

// Delete ends the life of an entry and reports whether it was live.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (live bool, err error) {
	err = st.update(ctx, func(t *tx) error {
		r := t.find(s, id)
		if live = r != nil && r.current() && r.Entry.LiveAt(at); live {
			t.change(s.Tenant, func(a *account) { t.retire(a, r, driver.Deleted, "") })
		}
		return nil
	})
	return live, err
}

// List returns the live entries that q asks for.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) (entries []driver.Entry, err error) {
	err = st.view(ctx, func(t *tx) error {
		entries = t.list(s, t.account(s.Tenant).Version, q.After, q.Limit, q.Matches)
		return nil
	})
	return entries, err
}

// Search returns the live entries that q asks for, newest first. It is not one of the four
// operations (see [driver.Searcher]), but here no more than another filter.
func (st *Store) Search(ctx context.Context, s driver.Scope, q driver.Search) (entries []driver.Entry, err error) {
	err = st.view(ctx, func(t *tx) error {
		entries = t.list(s, t.account(s.Tenant).Version, driver.Cursor{}, q.Limit, q.Matches)
		return nil
	})
	return entries, err
}

// list returns the entries behind a position that were not retired at a version and that
// match: from the newest downwards, and the limit after all filters.
func (t *tx) list(s driver.Scope, version uint64, after driver.Cursor, limit int, matches func(*driver.Entry) bool) (entries []driver.Entry) {
	scope := key("age", s.Tenant, s.Ref)
	behind := above(scope)
	if !after.IsZero() {
		behind = append(with(scope, millis(after.CreatedAt)), after.ID...)
	}
	c := t.Cursor()
	c.Seek(behind) // which is never the end: "meta" stands behind "age"
	for k, found := c.Prev(); bytes.HasPrefix(k, scope); k, found = c.Prev() {
		r := t.record(t.Get(found))
		if !r.lived(version) || !matches(&r.Entry) {
			continue
		}
		if entries = append(entries, r.Entry); len(entries) == limit {
			break
		}
	}
	return entries
}
