package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

// Intact reports whether nothing that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, tenant string, v memory.Version) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	n, err := st.db.number(tenant, v)
	if err != nil {
		return false, err
	}
	var scarred bool
	err = st.db.get(ctx, []any{&scarred}, `SELECT ?2 < ifnull((SELECT until FROM scars WHERE tenant = ?1 AND since <= ?2
		ORDER BY since DESC LIMIT 1), 0)`, tenant, n)
	if err == nil {
		err = st.available(ctx, tenant, n)
	}
	return err == nil && !scarred, err
}

// Purge makes versions before v unavailable and removes what no later one can show
// at the instant at or after it, from the file too. It works scope by scope, each in
// a transaction, and stops between two of them when the context is done; the rest
// goes with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v memory.Version, at time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := st.db.number(tenant, v)
	if err != nil {
		return 0, err
	}
	if err := st.db.advance(ctx, tenant, n); err != nil {
		return 0, err
	}
	removed, err := st.db.purgeAll(ctx, tenant, n, at.UnixMilli())
	if removed > 0 { // it reads the whole tables, so once for all refs
		swept := st.db.write(background, func(t *tx) error { t.erased = memoryTables; return nil })
		if err == nil {
			err = swept
		}
	}
	return removed, err
}

func (db *DB) purgeAll(ctx context.Context, tenant string, v, at int64) (removed int, err error) {
	for from := ""; ; {
		var ref string
		err := db.get(ctx, []any{&ref}, `SELECT ref FROM entries WHERE tenant = ? AND ref >= ? ORDER BY ref LIMIT 1`, tenant, from)
		if errors.Is(err, sql.ErrNoRows) {
			return removed, nil
		}
		if err == nil {
			var count int
			count, err = db.purge(ctx, memory.Scope{Tenant: tenant, Ref: ref}, v, at)
			removed += count
		}
		if err != nil {
			return removed, err
		}
		from = ref + "\x00"
	}
}

// advance moves the horizon to v. A tenant that was never written stays unwritten.
func (db *DB) advance(ctx context.Context, tenant string, v int64) error {
	return db.write(ctx, func(t *tx) error {
		moved, err := t.changed(`UPDATE tenants SET horizon = ?1 WHERE tenant = ?2 AND horizon <= ?1 AND version >= ?1`, v, tenant)
		if err != nil {
			return err
		}
		if !moved {
			var version int64
			err := t.get([]any{&version}, `SELECT version FROM tenants WHERE tenant = ?`, tenant)
			if v == 0 && errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err == nil || errors.Is(err, sql.ErrNoRows) {
				err = memory.ErrSnapshotUnavailable
			}
			return err
		}
		_, err = t.exec(`DELETE FROM scars WHERE tenant = ? AND until <= ?`, tenant, v)
		return err
	})
}

// findRelics selects what is over by itself, and what is retired.
const findRelics = `
	SELECT entry, id, successor, subjects, died <= ?3 OR expires <= ?4 FROM entries INDEXED BY entries_past
		WHERE tenant = ?1 AND ref = ?2 AND died < 9223372036854775807
	UNION ALL
	SELECT entry, id, successor, subjects, 1 FROM entries INDEXED BY entries_live
		WHERE tenant = ?1 AND ref = ?2 AND died = 9223372036854775807 AND expires <= ?4`

func (db *DB) purge(ctx context.Context, s memory.Scope, v, at int64) (removed int, err error) {
	err = db.write(ctx, func(t *tx) error {
		type row struct {
			key      int64
			subjects []byte
		}
		var relics []storerules.Relic
		rows := map[string]row{}
		err := t.query(func(r *sql.Rows) (bool, error) {
			var x row
			var relic storerules.Relic
			err := r.Scan(&x.key, &relic.ID, &relic.For, &x.subjects, &relic.Over)
			relics, rows[relic.ID] = append(relics, relic), x
			return true, wrap(readFailed, err)
		}, findRelics, s.Tenant, s.Ref, v, at)
		if err != nil {
			return err
		}
		ids := storerules.Condemn(relics)
		if len(ids) == 0 {
			return errUnchanged
		}
		for _, id := range ids {
			labels, ok := unpack(rows[id].subjects)
			if !ok { // their rows would stay, and the key is used again
				return &failure{damaged, nil}
			}
			if err := t.unlabel(s.Tenant, rows[id].key, labels); err != nil {
				return err
			}
			for _, text := range []string{`DELETE FROM former WHERE entry = ?`, `DELETE FROM entries WHERE entry = ?`} {
				if _, err := t.exec(text, rows[id].key); err != nil {
					return err
				}
			}
		}
		removed = len(ids)
		return nil
	})
	if err == errUnchanged {
		err = nil
	}
	return removed, err
}
