package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 8. A version is a number of a tenant with a random mark. To read at one is to compare it
// with the lives of each entry (VIEW); an erased entry has none, and leaves scars, so that the
// gap is known even when its record is gone. A purge moves the horizon, behind which nothing
// can be read, and what only such reads would have shown is removed, unless it was merged into
// another entry, whose erasure restores it.

// mark returns the mark of a version: none if there is no such version, or none any more.
func (st *Store) mark(t *tx, tenant string, n uint64) (m driver.Mark, held bool) {
	if n == 0 {
		return driver.FirstMark(st.incarnation, tenant), true
	}
	return m, copy(m[:], t.Get(with(key("mark", tenant), n))) > 0
}

// number returns the number of a version that can be read. The mark tells whether it is a
// version of this tenant, file and history: after a backup was restored, say, the same
// numbers are given to other versions.
func (st *Store) number(t *tx, tenant string, v driver.Version) (uint64, error) {
	n, mark, err := v.Parse()
	if err != nil {
		return 0, err
	}
	if own, held := st.mark(t, tenant, n); !held || own != mark || n < t.account(tenant).Horizon {
		return 0, driver.ErrSnapshotUnavailable
	}
	return n, nil
}

// at reads, for which v is the version of the number n.
func (st *Store) at(ctx context.Context, tenant string, v driver.Version, f func(t *tx, n uint64)) error {
	return st.view(ctx, func(t *tx) error {
		n, err := st.number(t, tenant, v)
		if err == nil {
			f(t, n)
		}
		return err
	})
}

// Version returns the version that the tenant's memory has now.
func (st *Store) Version(ctx context.Context, tenant string) (v driver.Version, err error) {
	err = st.view(ctx, func(t *tx) error {
		n := t.account(tenant).Version
		mark, _ := st.mark(t, tenant, n)
		v = mark.Version(n)
		return nil
	})
	return v, err
}

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) (entries []driver.Entry, err error) {
	err = st.at(ctx, s.Tenant, v, func(t *tx, n uint64) { entries = t.list(s, n, q.After, q.Limit, q.Matches) })
	return entries, err
}

// Scan yields what List would return: see [driver.Scanner]. It reads at the version at which
// it began, and stops with [driver.ErrSnapshotUnavailable] if a purge passes that one.
func (st *Store) Scan(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
	type position struct {
		driver.Query
		v    driver.Version
		seen int
	}
	return loop(ctx, st, position{Query: q}, func(t *tx, at *position) (e driver.Entry, found bool, err error) {
		n := t.account(s.Tenant).Version
		if mark, _ := st.mark(t, s.Tenant, n); at.v == "" {
			at.v = mark.Version(n)
		}
		if n, err = st.number(t, s.Tenant, at.v); err != nil || q.Limit > 0 && at.seen == q.Limit {
			return e, false, err
		}
		for _, e = range t.list(s, n, at.After, 1, at.Matches) {
			at.After, found = e.Cursor(), true
			at.seen++
		}
		return e, found, nil
	})
}

// GetAt returns those of the entries that were not retired at v and are live at the instant
// at, in the order of the ids.
func (st *Store) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) (entries []driver.Entry, err error) {
	err = st.at(ctx, s.Tenant, v, func(t *tx, n uint64) {
		for _, id := range ids {
			if r := t.find(s, id); r != nil && r.lived(n) && r.Entry.LiveAt(at) {
				entries = append(entries, r.Entry)
			}
		}
	})
	return entries, err
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (intact bool, err error) {
	err = st.at(ctx, s.Tenant, v, func(t *tx, n uint64) {
		intact = true
		tenant := key("scar", s.Tenant)
		for k := range t.ascend(tenant, with(tenant, n+1)) { // what ended later
			from, ref := binary.BigEndian.Uint64(k[len(tenant)+8:]), k[len(tenant)+16:]
			intact = intact && (n < from || string(ref) != s.Ref)
		}
	})
	return intact, err
}

// Purge makes versions before v unavailable, and removes the records that neither v nor a
// later one can show. Which of them may go, and which are needed still to follow a chain of
// successors, is for [driver.Condemn] to say.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (removed int, err error) {
	err = st.update(ctx, func(t *tx) error {
		horizon, err := st.number(t, tenant, v)
		if err != nil {
			return err
		}
		relics := map[driver.Scope][]driver.Relic{}
		all := key("record", tenant)
		for _, data := range t.ascend(all, all) {
			r := t.record(data)
			ended := r.Erased || !r.Entry.LiveAt(at)
			if ended || r.State != driver.Live {
				relics[r.Scope] = append(relics[r.Scope], driver.Relic{
					ID: r.Entry.ID, For: r.For, State: r.State, Ended: ended,
					Retired: !ended && r.Lives[len(r.Lives)-1].To <= horizon,
				})
			}
		}
		a := t.account(tenant)
		for s, some := range relics {
			for _, id := range driver.Condemn(some) {
				t.bury(&a, t.find(s, id))
				removed++
			}
		}
		a.Horizon = horizon
		t.save(key("tenant", tenant), a)
		marks, scars, journal := key("mark", tenant), key("scar", tenant), key("journal", tenant)
		t.remove(t.keys(marks, with(marks, horizon))...)
		t.remove(t.keys(scars, with(scars, horizon+1))...)
		t.remove(t.keys(journal, with(journal, horizon+1))...)
		return nil
	})
	return removed, err
}

// bury removes a record.
func (t *tx) bury(a *account, r *record) {
	if !r.Erased {
		t.forget(a, r)
	}
	t.remove(r.key(), key("heir", r.Tenant, r.Ref, r.For, r.Entry.ID))
}

// Changes returns the ids of a scope that were touched by the mutations after the version
// from, up to and with the version to: see [driver.Changes].
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	ids := map[byte][]string{}
	err := st.at(ctx, s.Tenant, from, func(t *tx, low uint64) {
		high, err := st.number(t, s.Tenant, to)
		t.note(err)
		tenant, ref := key("journal", s.Tenant), key(s.Ref)
		seen := map[string]bool{} // what happened, and the id
		for k := range t.ascend(tenant, with(tenant, low+1)) {
			if binary.BigEndian.Uint64(k[len(tenant):]) > high {
				break
			}
			what, place := k[len(tenant)+8], k[len(tenant)+9:]
			if id, ours := bytes.CutPrefix(place, ref); ours && !seen[string(what)+string(id)] {
				seen[string(what)+string(id)] = true
				ids[what] = append(ids[what], string(id[:len(id)-1]))
			}
		}
	})
	return driver.ChangeSet{Put: ids['p'], Retired: ids['d'], Restored: ids['r'], Erased: ids['e']}, err
}
