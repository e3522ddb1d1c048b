package boltstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Get returns the entry if it is live at the instant at.
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (e driver.Entry, err error) {
	err = st.view(ctx, func(t *tx) error {
		r := t.find(s, id)
		if r == nil || !r.counts() || !r.entry().LiveAt(at) {
			return driver.ErrNotFound
		}
		e = *r.entry()
		return nil
	})
	return e, err
}

// Put inserts e if the scope has no entry of that id. The same entry again is a success
// that changes nothing, whatever became of it, unless it was erased.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	return st.update(ctx, func(t *tx) error {
		if r := t.find(s, e.ID); r != nil {
			if r.Erased || !r.entry().Equal(&e) {
				return driver.ErrConflict
			}
			return nil
		}
		t.change(s.Tenant, func(a *account) { t.insert(a, s, e) })
		return nil
	})
}

// Delete ends the life of an entry and reports whether it was live.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (live bool, err error) {
	err = st.update(ctx, func(t *tx) error {
		r := t.find(s, id)
		if live = r != nil && r.counts() && r.entry().LiveAt(at); !live {
			return nil
		}
		t.change(s.Tenant, func(a *account) { t.retire(a, r, driver.Deleted, "") })
		return nil
	})
	return live, err
}

// List returns the live entries that q asks for.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) (entries []driver.Entry, err error) {
	err = st.view(ctx, func(t *tx) error {
		entries = t.list(s, t.account(s.Tenant).Version, q, nil)
		return nil
	})
	return entries, err
}

// list returns the entries that were not retired at a version and that q asks for. All
// filters come before the limit: q's own, and match, if there is one.
func (t *tx) list(s driver.Scope, version uint64, q driver.Query, match func(*driver.Entry) bool) (entries []driver.Entry) {
	scope := key(s.Tenant, s.Ref)
	behind := above(scope) // newest first: from there downwards
	if !q.After.IsZero() {
		behind = with(scope, millis(q.After.CreatedAt), q.After.ID)
	}
	c := t.Bucket(byAge).Cursor()
	k, found := c.Seek(behind)
	if k == nil {
		k, found = c.Last()
	} else {
		k, found = c.Prev()
	}
	for ; bytes.HasPrefix(k, scope); k, found = c.Prev() {
		var r record
		if !t.load(records, found, &r) || !r.lived(version) {
			continue
		}
		e := r.entry()
		if !e.LiveAt(q.At) || q.Tag != "" && !slices.Contains(e.Tags, q.Tag) || match != nil && !match(e) {
			continue
		}
		entries = append(entries, *e)
		if len(entries) == q.Limit {
			break
		}
	}
	return entries
}
