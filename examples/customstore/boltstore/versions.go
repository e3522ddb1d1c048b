package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

var _ driver.Versioned = (*Store)(nil)

// markOf returns the mark of a version of a tenant, if there is such a version still.
func (st *Store) markOf(t *tx, tenant string, n uint64) (m driver.Mark, held bool) {
	if n == 0 {
		return driver.FirstMark(st.incarnation, tenant), true
	}
	return m, copy(m[:], t.get(marks, with(key(tenant), n, ""))) > 0
}

// Version returns the version that the tenant's memory has now.
func (st *Store) Version(ctx context.Context, tenant string) (v driver.Version, err error) {
	err = st.view(ctx, func(t *tx) error {
		n := t.account(tenant).Version
		mark, _ := st.markOf(t, tenant, n)
		v = mark.Version(n)
		return nil
	})
	return v, err
}

// number returns the number of a version that can be read. The mark tells whether it is one
// of this file and its history: a number alone would also fit another one.
func (st *Store) number(t *tx, tenant string, v driver.Version) (uint64, error) {
	n, mark, err := v.Parse()
	if err != nil {
		return 0, err
	}
	if own, held := st.markOf(t, tenant, n); !held || own != mark || n < t.account(tenant).Horizon {
		return 0, driver.ErrSnapshotUnavailable
	}
	return n, nil
}

// viewAt reads in a transaction, for which v is the version of that number.
func (st *Store) viewAt(ctx context.Context, tenant string, v driver.Version, f func(t *tx, n uint64)) error {
	return st.view(ctx, func(t *tx) error {
		n, err := st.number(t, tenant, v)
		if err == nil {
			f(t, n)
		}
		return err
	})
}

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) (entries []driver.Entry, err error) {
	err = st.viewAt(ctx, s.Tenant, v, func(t *tx, n uint64) { entries = t.list(s, n, q, nil) })
	return entries, err
}

// GetAt returns those of the entries that were not retired at v and are live at the instant
// at, in the order of the ids.
func (st *Store) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) (entries []driver.Entry, err error) {
	err = st.viewAt(ctx, s.Tenant, v, func(t *tx, n uint64) {
		for _, id := range ids {
			if r := t.find(s, id); r != nil && r.lived(n) && r.entry().LiveAt(at) {
				entries = append(entries, *r.entry())
			}
		}
	})
	return entries, err
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (intact bool, err error) {
	err = st.viewAt(ctx, s.Tenant, v, func(t *tx, n uint64) {
		own, ref := key(s.Tenant), key(s.Ref)
		intact = true
		for k := range t.ascend(scars, own, with(own, n+1, "")) { // what ended later
			from := k[len(own)+8:]
			intact = intact && (binary.BigEndian.Uint64(from) > n || !bytes.Equal(from[8:], ref))
		}
	})
	return intact, err
}

// Purge makes versions before v unavailable, and removes the records that neither v nor a
// later one can show. Which of them may go, and which are needed to follow a chain of
// successors, is for [driver.Condemn] to say.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (removed int, err error) {
	err = st.update(ctx, func(t *tx) error {
		horizon, err := st.number(t, tenant, v)
		if err != nil {
			return err
		}
		own, relics := key(tenant), map[string][]driver.Relic{} // by ref
		for _, data := range t.ascend(records, own, own) {
			var r record
			t.decode(data, &r)
			over := r.Erased || !r.entry().LiveAt(at) || r.State != driver.Live && r.Lives[len(r.Lives)-1].To <= horizon
			if over || r.State != driver.Live {
				relics[r.Ref] = append(relics[r.Ref], driver.Relic{ID: r.Entry.ID, For: r.For, Over: over})
			}
		}
		a := t.account(tenant)
		a.Horizon = horizon
		for ref, some := range relics {
			for _, id := range driver.Condemn(some) {
				t.bury(&a, t.find(driver.Scope{Tenant: tenant, Ref: ref}, id))
				removed++
			}
		}
		t.save(tenants, own, a)
		t.removeAll(marks, own, with(own, horizon, ""))
		t.removeAll(scars, own, with(own, horizon+1, ""))
		t.removeAll(journal, own, with(own, horizon+1, ""))
		return nil
	})
	return removed, err
}

// bury removes a record.
func (t *tx) bury(a *account, r *record) {
	if !r.Erased {
		t.forget(a, r)
	}
	t.remove(byHeir, key(r.Tenant, r.Ref, r.For, r.Entry.ID))
	t.remove(records, r.key())
}
