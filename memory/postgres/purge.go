package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
)

// Purge makes versions before v unavailable and removes what no later one can show at
// the instant at or after it. It works ref by ref, each in a transaction of its own,
// and holds a line for each record of a ref that may go; if it fails the rest goes
// with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	horizon, err := availabilityOf(v)
	if err != nil {
		return 0, err
	}
	if err := st.db.advance(ctx, tenant, horizon); err != nil {
		return 0, err
	}
	refs, err := st.db.removeOldVersions(ctx, tenant, horizon.n, at)
	removed := 0
	for _, ref := range refs {
		if err != nil {
			break
		}
		var gone int
		gone, err = st.db.purgeRef(ctx, tenant, ref, horizon.n, at)
		removed += gone
	}
	return removed, err
}

// lockTenant takes the row of the tenant. Behind it everything is read as it is.
const lockTenant = `SELECT FROM agentmemory.tenants WHERE tenant = $1 FOR UPDATE`

// change runs f in a transaction that has the row of the tenant. f may be run several
// times.
func (db *DB) change(ctx context.Context, tenant string, f func(ctx context.Context, tx pgx.Tx) error) error {
	return repeat(ctx, idempotent, func() error {
		return db.withPoolConn(ctx, func(conn *pgxpool.Conn) error {
			ctx := db.withoutCancelIfPooled(ctx)
			return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
				b := new(pgx.Batch)
				db.checkSchema(b)
				db.prelude(b, tenantSetting(tenant))
				b.Queue(lockTenant, []byte(tenant))
				if err := tx.SendBatch(ctx, b).Close(); err != nil {
					return err
				}
				return f(ctx, tx)
			})
		})
	})
}

// advance moves the horizon to a version that can be read.
func (db *DB) advance(ctx context.Context, tenant string, v *availability) error {
	return db.change(ctx, tenant, func(ctx context.Context, tx pgx.Tx) error {
		b := new(pgx.Batch)
		v.queue(b, db, tenant)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if err := v.err(); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE agentmemory.tenants SET horizon = $2 WHERE tenant = $1`, []byte(tenant), v.n)
		return err
	})
}

// removeOldVersions removes what was kept about versions before the horizon, and returns the refs
// that may have something to remove.
func (db *DB) removeOldVersions(ctx context.Context, tenant string, horizon int64, at time.Time) (refs []string, err error) {
	const find = `
		SELECT COALESCE(long_ref, ref) FROM agentmemory.entries WHERE tenant = $1 AND (died < 9223372036854775807 OR erased)
		UNION SELECT COALESCE(long_ref, ref) FROM agentmemory.entries
		WHERE tenant = $1 AND expires_at < 9223372036854775807 AND expires_at <= $2`
	err = db.write(ctx, tenantSetting(tenant), idempotent, func(b *pgx.Batch) {
		b.Queue(`DELETE FROM agentmemory.versions WHERE tenant = $1 AND version < $2`, []byte(tenant), horizon)
		b.Queue(`DELETE FROM agentmemory.erased_spans WHERE tenant = $1 AND died <= $2`, []byte(tenant), horizon)
		b.Queue(find, []byte(tenant), at.UnixMilli()).
			Query(rowsInto(&refs, func(row pgx.Row, ref *string) error { return row.Scan((*name)(ref)) }))
	})
	return refs, err
}

// purgeRef removes what is to be removed of one ref, with the documents made of it.
func (db *DB) purgeRef(ctx context.Context, tenant, ref string, horizon int64, at time.Time) (removed int, err error) {
	err = db.change(ctx, tenant, func(ctx context.Context, tx pgx.Tx) error {
		ids, used, whole, err := findPurgeable(ctx, tx, tenant, ref, horizon, at)
		removed = len(ids)
		if err != nil || len(ids) == 0 {
			return err
		}
		b := new(pgx.Batch)
		db.removeAbout(b, tenant, ref, ids, "former", "subjects", "entries")
		if whole {
			(&writes{tenant: tenant, m: &driver.Mutation{}}).removeWhole(b, ref)
		}
		if used != (driver.Limits{}) {
			b.Queue(`UPDATE agentmemory.versions SET entries = entries - $2, bytes = bytes - $3 WHERE tenant = $1 AND version = `+current,
				[]byte(tenant), used.Entries, used.Bytes)
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// findPurgeable returns the ids of a ref that a purge removes, the usage that goes with them, and
// whether any was not erased before, with which the documents of the whole ref go.
func findPurgeable(ctx context.Context, tx pgx.Tx, tenant, ref string, horizon int64, at time.Time) (ids []string, used driver.Limits, whole bool, err error) {
	const find = `
		SELECT id, successor, state, erased, expires_at, died, NULL::integer FROM agentmemory.entries
		WHERE tenant = $1 AND ref = $2 AND (died < 9223372036854775807 OR erased)
		UNION
		SELECT id, successor, state, erased, expires_at, died, ` + counted + ` FROM agentmemory.entries
		WHERE tenant = $1 AND ref = $2 AND expires_at < 9223372036854775807 AND expires_at <= $3
			AND died = 9223372036854775807 AND NOT erased`
	rows, err := tx.Query(ctx, find, []byte(tenant), keyOf(ref), at.UnixMilli())
	if err != nil {
		return nil, used, false, err
	}
	defer rows.Close()
	var candidates []driver.Record
	sizes, ends, erased := map[string]int64{}, map[string]int64{}, map[string]bool{}
	err = rowsInto(&candidates, func(row pgx.Row, r *driver.Record) error {
		var size *int64
		var state int16
		var expires, died int64
		err := row.Scan((*name)(&r.Entry.ID), (*name)(&r.For), &state, &r.Erased, &expires, &died, &size)
		r.State, ends[r.Entry.ID], erased[r.Entry.ID] = driver.State(state), died, r.Erased
		if expires != never {
			r.Entry.ExpiresAt = instant(expires)
		}
		if size != nil {
			sizes[r.Entry.ID] = *size
		}
		return err
	})(rows)
	if err != nil {
		return nil, used, false, err
	}
	ids = driver.Purgeable(candidates, func(r *driver.Record) bool { return ends[r.Entry.ID] <= horizon }, at)
	for _, id := range ids {
		whole = whole || !erased[id]
		if size, counts := sizes[id]; counts {
			used.Entries++
			used.Bytes += size
		}
	}
	return ids, used, whole, nil
}

// counted is the size of an entry that counts in what its tenant has, NULL of any other.
const counted = `CASE WHEN died = 9223372036854775807 AND NOT erased THEN octet_length(content) END`
