package boltstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 3. What is easily got wrong, and the law by which the kit tells: a delete that removes
// the entry, so that its id is free again (IDEMPOTENCE); a clock of the store's own in place of
// the instant of the call (TTL); a limit that cuts before a filter, or a page that ends among
// entries of one instant (ORDER); a put that changes nothing and makes a version (VIEW).

// Get returns the entry if it is live at the instant at.
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	return view(ctx, st, func(t *tx) driver.Entry {
		r := t.find(driver.Located{Scope: s, ID: id})
		if r.Entry.ID != "" && r.State == driver.Live && !r.Erased && r.Entry.LiveAt(at) {
			return r.Entry
		}
		t.note(driver.ErrNotFound)
		return driver.Entry{}
	})
}

// Put inserts e if the scope has no entry of that id. The same entry again is a success
// that changes nothing, in any state; but an erased one is no longer the same.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	return st.commit(ctx, s.Tenant, &driver.Mutation{Put: []driver.Placed{{Scope: s, Entry: e}}})
}

// Delete ends the life of an entry and reports whether it was live.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	end := driver.Retirement{Located: driver.Located{Scope: s, ID: id}, State: driver.Deleted}
	err := st.commit(ctx, s.Tenant, &driver.Mutation{At: at, Retire: []driver.Retirement{end}})
	if errors.Is(err, driver.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// commit commits a mutation of entries. One that only puts what is there changes nothing.
func (st *Store) commit(ctx context.Context, tenant string, m *driver.Mutation) error {
	return st.update(ctx, func(t *tx) {
		if plan := t.plan(m, m.Needs()); t.err == nil && !plan.Empty() {
			t.change(tenant, &plan)
		}
	})
}

// List returns the entries that q asks for, live or at its version: from the newest
// downwards, and the limit after all filters.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return view(ctx, st, func(t *tx) (entries []driver.Entry) {
		version, scope := t.number(s.Tenant, q.Version), key("age", s.Tenant, s.Ref)
		behind := above(scope)
		if !q.After.IsZero() {
			behind = append(with(scope, millis(q.After.CreatedAt)), q.After.ID...)
		}
		wanted := func() bool { return t.err == nil && (q.Limit <= 0 || len(entries) < q.Limit) }
		c := t.Cursor()
		c.Seek(behind) // which is never the end: "meta" stands behind "age"
		for k, found := c.Prev(); bytes.HasPrefix(k, scope) && wanted(); k, found = c.Prev() {
			if r := t.record(found); r.Lives.include(version) && q.Matches(&r.Entry) {
				entries = append(entries, r.Entry)
			}
		}
		return entries
	})
}
