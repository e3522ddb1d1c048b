package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

// Purge makes versions before v unavailable and removes what no later one can show at
// the instant at or after it. It works ref by ref, each in a transaction of its own,
// and holds a line for each record of a ref that may go; if it fails the rest goes
// with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v memory.Version, at time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, refs, err := st.db.advance(ctx, tenant, v, at)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, ref := range refs {
		gone, err := st.db.purgeRef(ctx, tenant, ref, n, at)
		removed += gone
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// lockTenant takes the row of the tenant. Behind it everything is read as it is.
const lockTenant = `SELECT FROM agentmemory.tenants WHERE tenant = $1 FOR UPDATE`

// change runs f in a transaction. f may be run several times.
func (db *DB) change(ctx context.Context, tenant string, f func(tx pgx.Tx) error) error {
	return repeat(ctx, idempotent, func() error {
		return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			b := new(pgx.Batch)
			if db.prelude(b, tenantSetting(tenant)); b.Len() > 0 {
				if err := tx.SendBatch(ctx, b).Close(); err != nil {
					return err
				}
			}
			return f(tx)
		})
	})
}

// advance moves the horizon to v, and returns its number and the refs that may have
// something to remove.
func (db *DB) advance(ctx context.Context, tenant string, v memory.Version, at time.Time) (n int64, refs [][]byte, err error) {
	err = db.change(ctx, tenant, func(tx pgx.Tx) error {
		refs = nil
		var c counters
		if _, err := tx.Exec(ctx, lockTenant, []byte(tenant)); err != nil {
			return err
		}
		err := c.scan(tenant)(tx.QueryRow(ctx, selectCounters, []byte(tenant)))
		if err != nil {
			return err
		}
		if n, err = c.number(v); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE agentmemory.tenants SET horizon = $2 WHERE tenant = $1`, []byte(tenant), n); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM agentmemory.scars WHERE tenant = $1 AND died <= $2`, []byte(tenant), n); err != nil {
			return err
		}
		const find = `
			SELECT ref FROM agentmemory.entries WHERE tenant = $1 AND (died < 9223372036854775807 OR erased)
			UNION SELECT ref FROM agentmemory.entries WHERE tenant = $1 AND expires_at < 9223372036854775807 AND expires_at <= $2`
		rows, err := tx.Query(ctx, find, []byte(tenant), at.UnixMilli())
		if err != nil {
			return err
		}
		refs, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err
	})
	return n, refs, err
}

// purgeRef removes what is to be removed of one ref.
func (db *DB) purgeRef(ctx context.Context, tenant string, ref []byte, n int64, at time.Time) (removed int, err error) {
	err = db.change(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockTenant, []byte(tenant)); err != nil {
			return err
		}
		ids, err := condemned(ctx, tx, tenant, ref, n, at)
		removed = len(ids)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, table := range []string{"former", "subjects", "entries"} {
			sql := `DELETE FROM agentmemory.` + table + ` WHERE tenant = $1 AND ref = $2 AND id = ANY ($3::bytea[])`
			if _, err := tx.Exec(ctx, sql, []byte(tenant), ref, ids); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// condemned are the ids of a ref that a purge removes.
func condemned(ctx context.Context, tx pgx.Tx, tenant string, ref []byte, n int64, at time.Time) ([][]byte, error) {
	const find = `
		SELECT id, heir, erased OR expires_at <= $3 OR died <= $4 FROM agentmemory.entries
		WHERE tenant = $1 AND ref = $2 AND (died < 9223372036854775807 OR erased)
		UNION
		SELECT id, heir, true FROM agentmemory.entries
		WHERE tenant = $1 AND ref = $2 AND expires_at < 9223372036854775807 AND expires_at <= $3`
	rows, err := tx.Query(ctx, find, []byte(tenant), ref, at.UnixMilli(), n)
	if err != nil {
		return nil, err
	}
	relics, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (storerules.Relic, error) {
		var id, heir name
		var over bool
		err := row.Scan(&id, &heir, &over)
		return storerules.Relic{ID: string(id), For: string(heir), Over: over}, err
	})
	if err != nil {
		return nil, err
	}
	return names(storerules.Condemn(relics)), nil
}
