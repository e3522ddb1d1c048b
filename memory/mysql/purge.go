package mysql

import (
	"context"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// Purge makes versions before v unavailable and removes what no later one can show at the instant at or
// after it. It works ref by ref, each in a transaction of its own; if it fails the rest goes with the
// next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (removed int, err error) {
	horizon, err := st.db.advance(ctx, tenant, v)
	if err != nil {
		return 0, err
	}
	for s, err := range st.Scopes(ctx, driver.Scope{Tenant: tenant}) {
		if err != nil || s.Tenant != tenant {
			return removed, err
		}
		gone, err := st.db.purge(ctx, s, horizon, at)
		if removed += gone; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// advance moves the horizon to a version that can be read, and returns its number.
func (db *DB) advance(ctx context.Context, tenant string, v driver.Version) (int64, error) {
	held := false
	check, n, err := db.dialect.CheckVersion(ctx, tenant, v, &held)
	if err != nil {
		return 0, err
	}
	name := []byte(tenant)
	err = db.write(ctx, func(b *batch) {
		b.each(`SELECT 1 FROM agentmemory_tenants WHERE tenant = $1 FOR UPDATE`, []any{name}, func(sqlstore.Row) error { return nil })
		b.query(check.Text, check.Args, check.Row)
	}, func(b *batch) error {
		if !held {
			return driver.ErrSnapshotUnavailable
		}
		b.exec(`UPDATE agentmemory_tenants SET horizon = $2 WHERE tenant = $1`, name, n)
		b.exec(`DELETE FROM agentmemory_versions WHERE tenant = $1 AND version < $2`, name, n)
		b.exec(`DELETE FROM agentmemory_erased_spans WHERE tenant = $1 AND died <= $2`, name, n)
		return nil
	})
	return n, err
}

// endedRecord is a record that may have something to remove.
type endedRecord struct {
	driver.Record
	died int64
	size *int64 // nil if it does not count in what the tenant has
}

const findEnded = `
	SELECT id, successor, state, expires_at, died, NULL FROM agentmemory_entries FORCE INDEX (entries_died)
	WHERE tenant = $1 AND ref = $2 AND died < 9223372036854775807
	UNION ALL
	SELECT id, successor, state, expires_at, died, LENGTH(content) FROM agentmemory_entries FORCE INDEX (entries_expiring)
	WHERE tenant = $1 AND ref = $2 AND expires_at <= $3 AND died = 9223372036854775807`

// loadEnded adds what reads the records of a ref that may have something to remove.
func loadEnded(b *batch, s driver.Scope, at time.Time, ended map[driver.Located]endedRecord) {
	clear(ended)
	b.each(findEnded, []any{[]byte(s.Tenant), []byte(s.Ref), at.UnixMilli()}, func(row sqlstore.Row) error {
		r := endedRecord{Record: driver.Record{Scope: s}}
		var state uint8
		var expires int64
		err := row.Scan((*sqlstore.Name)(&r.Entry.ID), (*sqlstore.Name)(&r.For), &state, &expires, &r.died, &r.size)
		r.State, r.Erased = driver.State(state), r.died == 0
		if expires != never {
			r.Entry.ExpiresAt = sqlstore.Instant(expires)
		}
		ended[r.Located()] = r
		return err
	})
}

// purge removes what is to be removed of one ref, with the documents made of it, and those of the whole
// ref if anything goes that was not erased before. A ref that has nothing is looked at without a lock.
func (db *DB) purge(ctx context.Context, s driver.Scope, horizon int64, at time.Time) (removed int, err error) {
	ended := map[driver.Located]endedRecord{}
	if err := db.read(ctx, func(b *batch) { loadEnded(b, s, at, ended) }); err != nil || len(ended) == 0 {
		return 0, err
	}
	err = db.write(ctx, func(b *batch) {
		b.exec(lockTenant, []byte(s.Tenant))
		loadEnded(b, s, at, ended)
	}, func(b *batch) error {
		stored := driver.Stored{Entries: map[driver.Located]driver.Record{}}
		for l, r := range ended {
			stored.Entries[l] = r.Record
		}
		gone := stored.Purgeable(func(r *driver.Record) bool { return ended[r.Located()].died <= horizon }, at)
		removed = len(gone)
		var freed driver.Limits
		for _, l := range gone {
			r := ended[l]
			if r.size != nil {
				freed.Entries, freed.Bytes = freed.Entries+1, freed.Bytes+*r.size
			}
			removeEntry(b, l)
			if !r.Erased {
				removeWhole(b, []driver.Located{l})
			}
		}
		useLess(b, s.Tenant, freed)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// removeEntry adds the removal of an entry, of what is about it, and of the documents made of it.
func removeEntry(b *batch, l driver.Located) {
	removeAbout(b, l)
	b.exec(`DELETE FROM agentmemory_entries WHERE`+ofEntry, at(l)...)
}

// useLess adds that the tenant has less now.
func useLess(b *batch, tenant string, freed driver.Limits) {
	if freed != (driver.Limits{}) {
		b.exec(`UPDATE agentmemory_tenants SET entries = entries - $2, bytes = bytes - $3 WHERE tenant = $1`, []byte(tenant), freed.Entries, freed.Bytes)
	}
}
