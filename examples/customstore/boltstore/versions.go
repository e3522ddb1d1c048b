package boltstore

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 8. An erased entry leaves gaps, so that what is missing is known even
// when its record is gone. A purge moves the horizon, behind which nothing
// can be read, and what only such reads would have shown is removed, unless it was merged into
// another entry, whose erasure restores it.

// Version returns the version that the tenant's memory has now.
func (st *Store) Version(ctx context.Context, tenant string) (v driver.Version, err error) {
	err = st.view(ctx, func(t *tx) { v = t.version(tenant, t.account(tenant).Version) })
	return v, err
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (intact bool, err error) {
	err = st.view(ctx, func(t *tx) {
		n, tenant := t.number(s.Tenant, v), key("gap", s.Tenant)
		intact = t.err == nil
		for k := range t.under(tenant) {
			k = k[len(tenant):]
			gap := life{To: binary.BigEndian.Uint64(k), From: binary.BigEndian.Uint64(k[8:])}
			intact = intact && !(string(k[16:]) == s.Ref && lives{gap}.include(n))
		}
	})
	return intact, err
}

// Purge makes versions before v unavailable, and removes the records that neither v nor a
// later one can show. Which of them may go, and which are needed still to follow a chain of
// successors, is for [driver.Stored.Purgeable] to say.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (removed int, err error) {
	err = st.update(ctx, func(t *tx) {
		horizon, recs := t.number(tenant, v), map[driver.Located]*record{}
		stored := driver.Stored{Entries: map[driver.Located]driver.Record{}}
		for k := range t.under(key("record", tenant)) {
			r := t.record(k)
			recs[r.Located()], stored.Entries[r.Located()] = r, r.Record
		}
		if t.err != nil {
			return
		}
		a := t.account(tenant)
		retired := func(r *driver.Record) bool { return recs[r.Located()].Lives.last().To <= horizon }
		for _, l := range stored.Purgeable(retired, at) {
			t.bury(&a, recs[l])
			removed++
		}
		t.moveHorizon(tenant, a, horizon)
	})
	return removed, err
}

// moveHorizon keeps an account whose older versions are unavailable, and removes what tells of them.
func (t *tx) moveHorizon(tenant string, a account, horizon uint64) {
	a.Horizon = horizon
	t.save(key("tenant", tenant), a)
	versions, gaps := key("version", tenant), key("gap", tenant)
	t.remove(slices.Collect(t.ascend(versions, with(versions, horizon)))...)
	t.remove(slices.Collect(t.ascend(gaps, with(gaps, horizon+1)))...)
}

// bury removes a record.
func (t *tx) bury(a *account, r *record) {
	if r.State == driver.Live && !r.Erased {
		a.Used.Add(&r.Entry, -1)
	}
	if !r.Erased {
		t.discardMadeOf(r.Located())
	}
	t.remove(r.age(), recordKey(r.Located()))
}
