package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// Purge makes versions before v unavailable and removes what no later one can show at
// the instant at or after it. It works ref by ref, each in a transaction of its own,
// and holds a line for each record of a ref that may go; if it fails the rest goes
// with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	horizon, err := st.db.advance(ctx, tenant, v)
	if err != nil {
		return 0, err
	}
	refs, err := st.db.removeOldVersions(ctx, tenant, horizon, at)
	removed := 0
	for _, ref := range refs {
		if err != nil {
			break
		}
		var gone int
		gone, err = st.db.purgeRef(ctx, tenant, ref, horizon, at)
		removed += gone
	}
	return removed, err
}

// lockTenant takes the row of the tenant. Behind it everything is read as it is.
const lockTenant = `SELECT FROM agentmemory.tenants WHERE tenant = $1 FOR UPDATE`

// advance moves the horizon to a version that can be read, and returns its number.
func (db *DB) advance(ctx context.Context, tenant string, v driver.Version) (int64, error) {
	const move = `
		UPDATE agentmemory.tenants t SET horizon = $2 WHERE t.tenant = $1 AND t.horizon < $2
			AND EXISTS (SELECT FROM agentmemory.versions v WHERE v.tenant = $1 AND v.version = $2 AND v.mark = $3)`
	held := false
	check, n, err := db.dialect.CheckVersion(ctx, tenant, v, &held)
	if err != nil {
		return 0, err
	}
	err = db.write(ctx, tenantSetting(tenant), func(b *pgx.Batch) {
		b.Queue(move, check.Args[:3]...)
		queueRead(b, check)
	})
	if err == nil && !held {
		err = driver.ErrSnapshotUnavailable
	}
	return n, err
}

// removeOldVersions removes what was kept about versions before the horizon, and returns the refs
// that may have something to remove.
func (db *DB) removeOldVersions(ctx context.Context, tenant string, horizon int64, at time.Time) (refs []string, err error) {
	const find = `
		SELECT ref FROM agentmemory.entries WHERE tenant = $1 AND (died < 9223372036854775807 OR erased)
		UNION SELECT ref FROM agentmemory.entries
		WHERE tenant = $1 AND expires_at < 9223372036854775807 AND expires_at <= $2`
	err = db.write(ctx, tenantSetting(tenant), func(b *pgx.Batch) {
		b.Queue(`DELETE FROM agentmemory.versions WHERE tenant = $1 AND version < $2`, []byte(tenant), horizon)
		b.Queue(`DELETE FROM agentmemory.erased_spans WHERE tenant = $1 AND died <= $2`, []byte(tenant), horizon)
		b.Queue(find, []byte(tenant), at.UnixMilli()).
			Query(rowsInto(&refs, scanName))
	})
	return refs, err
}

// purgeRef removes what is to be removed of one ref, with the documents made of it, and those of the
// whole ref if anything goes that was not erased before.
func (db *DB) purgeRef(ctx context.Context, tenant, ref string, horizon int64, at time.Time) (removed int, err error) {
	var ended []endedRecord
	load := func(b *pgx.Batch) {
		b.Queue(lockTenant, []byte(tenant))
		b.Queue(findEnded, []byte(tenant), []byte(ref), at.UnixMilli()).Query(rowsInto(&ended, scanEnded))
	}
	remove := func(b *pgx.Batch) error {
		stored, byID := driver.Stored{Entries: map[driver.Located]driver.Record{}}, map[string]endedRecord{}
		for _, r := range ended {
			r.Scope = driver.Scope{Tenant: tenant, Ref: ref}
			byID[r.Entry.ID], stored.Entries[r.Located()] = r, r.Record
		}
		gone := stored.Purgeable(func(r *driver.Record) bool { return byID[r.Entry.ID].died <= horizon }, at)
		if removed = len(gone); removed == 0 {
			return nil
		}
		var used driver.Limits
		whole := false
		for _, l := range gone {
			r := byID[l.ID]
			whole = whole || !r.Erased
			if r.size != nil {
				used.Entries, used.Bytes = used.Entries+1, used.Bytes+*r.size
			}
		}
		db.removeAbout(b, tenant, gone, "former", "subjects", "entries")
		if whole {
			removeWhole(b, tenant, gone)
		}
		if used != (driver.Limits{}) {
			b.Queue(`UPDATE agentmemory.versions SET entries = entries - $2, bytes = bytes - $3 WHERE tenant = $1 AND version = `+current,
				[]byte(tenant), used.Entries, used.Bytes)
		}
		return nil
	}
	err = repeat(ctx, idempotent, func() error {
		return db.withPoolConn(ctx, func(conn *pgxpool.Conn) error { return db.exchange(ctx, conn, tenant, load, remove) })
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// endedRecord is a record that may have something to remove.
type endedRecord struct {
	driver.Record
	died int64
	size *int64 // nil if it does not count in what the tenant has
}

const findEnded = `
	SELECT id, successor, state, erased, expires_at, died, NULL::integer FROM agentmemory.entries
	WHERE tenant = $1 AND ref = $2 AND (died < 9223372036854775807 OR erased)
	UNION
	SELECT id, successor, state, erased, expires_at, died, ` + counted + ` FROM agentmemory.entries
	WHERE tenant = $1 AND ref = $2 AND expires_at < 9223372036854775807 AND expires_at <= $3
		AND died = 9223372036854775807 AND NOT erased`

func scanEnded(row pgx.Row, r *endedRecord) error {
	var state int16
	var expires int64
	err := row.Scan((*name)(&r.Entry.ID), (*name)(&r.For), &state, &r.Erased, &expires, &r.died, &r.size)
	r.State = driver.State(state)
	if expires != never {
		r.Entry.ExpiresAt = sqlstore.Instant(expires)
	}
	return err
}

// counted is the size of an entry that counts in what its tenant has, NULL of any other.
const counted = `CASE WHEN died = 9223372036854775807 AND NOT erased THEN octet_length(content) END`
