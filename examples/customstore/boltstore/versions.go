package boltstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 8. An erased entry has no lives, and leaves gaps, so that what is missing is known even
// when its record is gone. A purge moves the horizon, behind which nothing
// can be read, and what only such reads would have shown is removed, unless it was merged into
// another entry, whose erasure restores it.

// Version returns the version that the tenant's memory has now.
func (st *Store) Version(ctx context.Context, tenant string) (v driver.Version, err error) {
	err = st.view(ctx, func(t *tx) error {
		n := t.account(tenant).Version
		mark, _ := t.mark(st.incarnation, tenant, n)
		v = mark.Version(n)
		return nil
	})
	return v, err
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (intact bool, err error) {
	err = st.view(ctx, func(t *tx) error {
		n, err := st.number(t, s.Tenant, v)
		intact = err == nil
		tenant := key("gap", s.Tenant)
		for k := range t.ascend(tenant) {
			k = k[len(tenant):]
			to, from, ref := binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:]), string(k[16:])
			intact = intact && (n < from || to <= n || ref != s.Ref)
		}
		return err
	})
	return intact, err
}

// Purge makes versions before v unavailable, and removes the records that neither v nor a
// later one can show. Which of them may go, and which are needed still to follow a chain of
// successors, is for [driver.Stored.Purgeable] to say.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (removed int, err error) {
	err = st.update(ctx, func(t *tx) error {
		horizon, err := st.number(t, tenant, v)
		if err != nil {
			return err
		}
		retired := map[driver.Located]bool{} // by the horizon
		stored := driver.Stored{Entries: map[driver.Located]driver.Record{}}
		for _, data := range t.ascend(key("record", tenant)) {
			r := t.record(data)
			place, n := driver.Located{Scope: r.Scope, ID: r.Entry.ID}, len(r.Lives)
			stored.Entries[place] = r.Record
			retired[place] = r.State != driver.Live && n > 0 && r.Lives[n-1].To <= horizon
		}
		a := t.account(tenant)
		for _, l := range stored.Purgeable(func(r *driver.Record) bool { return retired[driver.Located{Scope: r.Scope, ID: r.Entry.ID}] }, at) {
			if r := t.find(l.Scope, l.ID); r != nil { // it is damaged otherwise
				t.bury(&a, r)
				removed++
			}
		}
		a.Horizon = horizon
		t.save(key("tenant", tenant), a)
		versions, gaps := key("version", tenant), key("gap", tenant)
		t.remove(t.keys(versions, with(versions, horizon))...)
		t.remove(t.keys(gaps, with(gaps, horizon+1))...)
		return nil
	})
	return removed, err
}

// bury removes a record.
func (t *tx) bury(a *account, r *record) {
	if !r.Erased {
		if r.State == driver.Live {
			a.Used.Add(&r.Entry, -1)
		}
		t.forget(r)
	}
	t.remove(r.key())
}

// Changes returns the ids of a scope that were touched by the mutations after the version
// from, up to and with the version to: see [driver.Changes].
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (touched driver.ChangeSet, err error) {
	err = st.view(ctx, func(t *tx) error {
		low, err := st.number(t, s.Tenant, from)
		high, failed := st.number(t, s.Tenant, to)
		if err = cmp.Or(err, failed); err != nil || low >= high {
			return err
		}
		var journals [][]byte
		for n := low + 1; n <= high; n++ {
			journals = append(journals, t.Get(with(key("version", s.Tenant), n))[len(driver.Mark{}):])
		}
		return touched.Read(journals, s.Ref)
	})
	return touched, err
}
