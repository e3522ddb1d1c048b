package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Purge makes versions before v unavailable and removes what no later one can show
// at the instant at or after it, from the file too. It works scope by scope, each in
// a transaction, and stops between two of them when the context is done; the rest
// goes with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	p, err := pointOf(ctx, tenant, v)
	if err != nil {
		return 0, err
	}
	if err := st.db.advance(ctx, p); err != nil {
		return 0, err
	}
	removed, err := st.db.purgeAll(ctx, p, at)
	if swept := st.db.tx(background, func(t *tx) error { return t.removeUnusedBodies(removed > 0) }); err == nil {
		err = swept
	}
	return removed, err
}

// unusedAtLeast is how many bodies that belong to no document are worth a transaction.
const unusedAtLeast = 256

// removeBodies removes bodies that belong to no document.
const removeBodies = `DELETE FROM bodies WHERE value IS NULL RETURNING body`

// removeUnusedBodies ends a purge: it removes bodies that belong to no document, if anything else
// was removed or they are many, and has the log emptied.
func (t *tx) removeUnusedBodies(removed bool) error {
	unused, err := collect(t.query, scanKey, removeBodies)
	if err == nil && !removed && len(unused) < unusedAtLeast {
		err = errUnchanged
	}
	if err == nil {
		err = t.zeroGapsBeside("bodies", unused)
	}
	t.erased = true
	return err
}

func (db *DB) purgeAll(ctx context.Context, p point, at time.Time) (removed int, err error) {
	for from := ""; ; {
		var ref string
		err := first(db.reads(ctx), []any{&ref}, `SELECT ref FROM entries WHERE tenant = ? AND ref > ? ORDER BY ref LIMIT 1`, p.tenant, from)
		if errors.Is(err, sql.ErrNoRows) {
			return removed, nil
		}
		if err == nil {
			var count int
			count, err = db.purge(ctx, driver.Scope{Tenant: p.tenant, Ref: ref}, p.n, at)
			removed += count
		}
		if err != nil {
			return removed, err
		}
		from = ref
	}
}

// advance moves the horizon to a point that is available.
func (db *DB) advance(ctx context.Context, p point) error {
	return db.tx(ctx, func(t *tx) error {
		if err := db.available(t.query, p); err != nil {
			return err
		}
		if p.n == 0 { // there is nothing before it
			return errUnchanged
		}
		for _, text := range []string{`UPDATE versions SET journal = NULL WHERE tenant = ? AND version = ?`,
			`DELETE FROM versions WHERE tenant = ? AND version < ?`, `DELETE FROM erased_spans WHERE tenant = ? AND until <= ?`} {
			if _, err := t.exec(text, p.tenant, p.n); err != nil {
				return err
			}
		}
		return nil
	})
}

// findPurgeable selects the entries that are over, and those that are retired.
const findPurgeable = `
	SELECT entry, id, successor, state, expires, died FROM entries INDEXED BY entries_past
		WHERE tenant = ?1 AND ref = ?2 AND died < 9223372036854775807
	UNION ALL
	SELECT entry, id, successor, state, expires, died FROM entries INDEXED BY entries_live
		WHERE tenant = ?1 AND ref = ?2 AND died = 9223372036854775807 AND expires <= ?3`

// purge removes what version v and the later ones do not show of a ref.
func (db *DB) purge(ctx context.Context, s driver.Scope, v int64, at time.Time) (removed int, err error) {
	err = db.tx(ctx, func(t *tx) error {
		rows := map[string]row{}
		recs, err := collect(t.query, func(rs *sql.Rows) (driver.Record, error) {
			var r row
			var expires int64
			if err := rs.Scan(&r.key, &r.Entry.ID, &r.For, &r.State, &expires, &r.life[1]); err != nil {
				return r.Record, wrap(readFailed, err)
			}
			if expires != never {
				r.Entry.ExpiresAt = instant(expires)
			}
			r.Erased = r.life[1] == 0
			rows[r.Entry.ID] = r
			return r.Record, nil
		}, findPurgeable, s.Tenant, s.Ref, at.UnixMilli())
		if err != nil {
			return err
		}
		retired := func(r *driver.Record) bool { return rows[r.Entry.ID].life[1] <= v }
		var gone []int64
		for _, id := range driver.Purgeable(recs, retired, at) {
			gone = append(gone, rows[id].key)
		}
		if removed = len(gone); removed == 0 {
			return errUnchanged
		}
		return t.removeEntries(s.Tenant, gone)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

const (
	getHeads = `SELECT e.entry, x.head, octet_length(x.content), e.died = 9223372036854775807
		FROM json_each(?) j CROSS JOIN entries e ON e.entry = j.value CROSS JOIN texts x ON x.entry = e.entry WHERE x.head IS NOT NULL`

	useLess = `UPDATE versions SET entries = entries - ?2, bytes = bytes - ?3
		WHERE tenant = ?1 AND version = (SELECT max(version) FROM versions WHERE tenant = ?1)`
)

// removeEntries takes entries of a tenant out of all tables, and leaves nothing of their text.
func (t *tx) removeEntries(tenant string, keys []int64) error {
	var labelled []*row
	var freed driver.Limits
	err := t.query(func(rows *sql.Rows) (bool, error) {
		var r row
		var head sql.RawBytes
		var size int64
		var live bool
		if err := rows.Scan(&r.key, &head, &size, &live); err != nil {
			return false, wrap(readFailed, err)
		}
		if !readHead(&r.Entry, head) { // rows of the index would stay, and the key is used again
			return false, fail(damaged, nil)
		}
		if live {
			freed.Entries, freed.Bytes = freed.Entries+1, freed.Bytes+size
		}
		labelled = append(labelled, &r)
		return true, nil
	}, getHeads, inJSON(keys))
	if err != nil {
		return err
	}
	if _, err := t.removeMadeOf(inJSON(keys)); err != nil {
		return err
	}
	if err := t.execAll(labelsOf(tenant, labelled), removeLabels); err != nil {
		return err
	}
	if _, err := t.exec(useLess, tenant, freed.Entries, freed.Bytes); err != nil {
		return err
	}
	err = t.execAll(inJSON(keys), `DELETE FROM entries WHERE entry IN (SELECT value FROM json_each(?))`,
		`DELETE FROM texts WHERE entry IN (SELECT value FROM json_each(?))`)
	if err != nil {
		return err
	}
	t.erased = true
	return t.zeroGapsBeside("texts", keys)
}
