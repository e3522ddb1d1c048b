package boltstore

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 6. An erased entry leaves a gap, so that what is missing is known even when its record is gone.
// A purge moves the horizon, behind which nothing can be read, and what only such reads would have
// shown is removed, unless it was merged into another entry, whose erasure restores it. Beside reads
// at a version the store tells what has changed between two, for what follows memory (CHANGES). And it
// says whose memory it holds, and lets go of it: a name may be used anew after that, and an old
// version must not show the new memory (TENANT).

// Version returns the version that the tenant's memory has now.
func (st *Store) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return view(ctx, st, func(t *tx) driver.Version { return t.account(tenant).version() })
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	return view(ctx, st, func(t *tx) bool {
		n, gaps := t.number(s.Tenant, v), key("gap", s.Tenant)
		for k := range t.ascend(with(gaps, n+1), above(gaps)) {
			if r := t.record(k); r.Scope == s && r.Lives.include(n) {
				return false
			}
		}
		return t.err == nil
	})
}

// Purge makes versions before v unavailable, and removes the records that neither v nor a
// later one can show. Which of them may go, and which are needed still to follow a chain of
// successors, is for [driver.Stored.Purgeable] to say.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (removed int, err error) {
	err = st.update(ctx, func(t *tx) {
		horizon, stored := t.number(tenant, v), driver.Stored{Entries: map[driver.Located]driver.Record{}}
		for k := range t.under(key("record", tenant)) {
			r := t.record(k).Record
			stored.Entries[r.Located()] = r
		}
		later := func(version uint64) bool { return version > horizon }
		retired := func(r *driver.Record) bool {
			return r.State != driver.Live && !slices.ContainsFunc(t.find(r.Located()).Lives, later)
		}
		a := t.account(tenant)
		for _, l := range stored.Purgeable(retired, at) {
			t.bury(&a, t.find(l))
			removed++
		}
		t.moveHorizon(tenant, a, horizon)
	})
	return removed, err
}

// moveHorizon keeps an account, and makes the versions before the horizon unavailable.
func (t *tx) moveHorizon(tenant string, a account, horizon uint64) {
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

// Changes returns the ids of a scope that were touched by the mutations after the version
// from, up to and with the version to: see [driver.Changes].
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	return view(ctx, st, func(t *tx) (touched driver.ChangeSet) {
		versions := key("version", s.Tenant)
		low, high := with(versions, t.number(s.Tenant, from)), with(versions, t.number(s.Tenant, to))
		var journals [][]byte
		for k := range t.ascend(low, high) {
			journals = append(journals, t.Get(k))
		}
		t.note(touched.Read(journals, s.Ref))
		return touched
	})
}

// Scopes yields the scopes that hold a record or a document, behind the scope after: see
// [driver.Tenants].
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return all(ctx, st, func(t *tx) (scopes []driver.Scope) {
		for _, kind := range []string{"record", "document"} {
			c, s := t.Cursor(), after
			for {
				k, _ := c.Seek(above(key(kind, s.Tenant, s.Ref))) // behind all that the scope holds
				names := strings.Split(string(k), "\x00")
				if names[0] != kind {
					break
				}
				s = driver.Scope{Tenant: names[1], Ref: names[2]}
				scopes = append(scopes, s)
			}
		}
		slices.SortFunc(scopes, func(a, b driver.Scope) int { return bytes.Compare(key(a.Tenant, a.Ref), key(b.Tenant, b.Ref)) })
		return slices.Compact(scopes)
	})
}

// DropTenant removes what is held of a tenant, at most limit records, documents and events
// at a time. The number of its last version stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	err = st.update(ctx, func(t *tx) {
		t.change(tenant, new(driver.Plan))
		a, left := t.account(tenant), max(1, limit)
		drop := func(kind string, remove func(k []byte)) {
			for _, k := range slices.Collect(t.under(key(kind, tenant))) {
				if left--; left >= 0 {
					remove(k)
				}
			}
		}
		drop("document", func(k []byte) { t.discard(t.document(k)) })
		drop("event", func(k []byte) { t.remove(k) })
		drop("record", func(k []byte) { t.bury(&a, t.record(k)) })
		more = left < 0
		t.moveHorizon(tenant, a, a.Version)
	})
	return more, err
}
