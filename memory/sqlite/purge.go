package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	p, err := pointOf(ctx, s.Tenant, v)
	if err != nil {
		return false, err
	}
	var scarred bool
	err = st.db.get(ctx, []any{&scarred}, `SELECT ?3 < ifnull((SELECT until FROM scars WHERE tenant = ?1 AND ref = ?2 AND since <= ?3
		ORDER BY since DESC LIMIT 1), 0)`, s.Tenant, s.Ref, p.n)
	if err == nil {
		err = st.db.available(st.db.queries(ctx), p)
	}
	return err == nil && !scarred, err
}

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
	removed, err := st.db.purgeAll(ctx, p, at.UnixMilli())
	if swept := st.db.write(background, func(t *tx) error { return t.removeUnusedBodies(removed > 0) }); err == nil {
		err = swept
	}
	return removed, err
}

// spentAtLeast is how many bodies that belong to no document are worth a transaction.
const spentAtLeast = 256

// removeBodies removes bodies that belong to no document.
const removeBodies = `DELETE FROM bodies WHERE value IS NULL RETURNING body`

// removeUnusedBodies ends a purge: it removes bodies that belong to no document, if anything else
// was removed or they are many, and has the log emptied.
func (t *tx) removeUnusedBodies(removed bool) error {
	spent, err := collect(t.query, scanKey, removeBodies)
	if err == nil && !removed && len(spent) < spentAtLeast {
		err = errUnchanged
	}
	if err == nil {
		err = t.zeroGapsBeside("bodies", spent)
	}
	t.erased = true
	return err
}

func (db *DB) purgeAll(ctx context.Context, p point, at int64) (removed int, err error) {
	for from := ""; ; {
		var ref string
		err := db.get(ctx, []any{&ref}, `SELECT ref FROM entries WHERE tenant = ? AND ref > ? ORDER BY ref LIMIT 1`, p.tenant, from)
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
	return db.write(ctx, func(t *tx) error {
		if err := db.available(t.query, p); err != nil {
			return err
		}
		if p.n == 0 { // there is nothing before it
			return errUnchanged
		}
		if _, err := t.exec(`UPDATE tenants SET horizon = ? WHERE tenant = ?`, p.n, p.tenant); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM versions WHERE tenant = ? AND version < ?`, p.tenant, p.n); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM scars WHERE tenant = ? AND until <= ?`, p.tenant, p.n)
		return err
	})
}

// findPurgeable selects the entries that have ended, and those that are retired.
const findPurgeable = `
	SELECT entry, id, successor, state, erased OR expires <= ?4, died <= ?3 FROM entries INDEXED BY entries_past
		WHERE tenant = ?1 AND ref = ?2 AND died < 9223372036854775807
	UNION ALL
	SELECT entry, id, successor, state, 1, 0 FROM entries INDEXED BY entries_live
		WHERE tenant = ?1 AND ref = ?2 AND died = 9223372036854775807 AND expires <= ?4`

func (db *DB) purge(ctx context.Context, s driver.Scope, v, at int64) (removed int, err error) {
	err = db.write(ctx, func(t *tx) error {
		var candidates []driver.Relic
		keys := map[string]int64{}
		err := t.query(func(r *sql.Rows) (bool, error) {
			var candidate driver.Relic
			var key int64
			err := r.Scan(&key, &candidate.ID, &candidate.For, &candidate.State, &candidate.Ended, &candidate.Retired)
			candidates, keys[candidate.ID] = append(candidates, candidate), key
			return true, wrap(readFailed, err)
		}, findPurgeable, s.Tenant, s.Ref, v, at)
		if err != nil {
			return err
		}
		purgeable := driver.Condemn(candidates)
		if len(purgeable) == 0 {
			return errUnchanged
		}
		removed = len(purgeable)
		gone := make([]int64, removed)
		for i, id := range purgeable {
			gone[i] = keys[id]
		}
		if err := t.removeEntries(s.Tenant, keyList(gone)); err != nil {
			return err
		}
		return t.zeroGapsBeside("texts", gone)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// removeEntries takes entries out of all tables.
func (t *tx) removeEntries(tenant, keys string) error {
	labels := map[int64][]string{}
	err := t.query(func(rows *sql.Rows) (bool, error) {
		var key int64
		var head sql.RawBytes
		if err := rows.Scan(&key, &head); err != nil {
			return false, wrap(readFailed, err)
		}
		var e driver.Entry
		if !readHead(&e, head) { // rows of the index would stay, and the key is used again
			return false, &failure{damaged, nil}
		}
		labels[key] = e.Subjects
		return true, nil
	}, `SELECT entry, head FROM texts WHERE head IS NOT NULL AND entry IN (SELECT value FROM json_each(?))`, keys)
	if err != nil {
		return err
	}
	for key, subjects := range labels {
		if err := t.unlabel(tenant, key, subjects); err != nil {
			return err
		}
	}
	if err := t.removeMadeOf(keys); err != nil {
		return err
	}
	return t.execAll(keys, `DELETE FROM former WHERE entry IN (SELECT value FROM json_each(?))`,
		`DELETE FROM entries WHERE entry IN (SELECT value FROM json_each(?))`,
		`DELETE FROM texts WHERE entry IN (SELECT value FROM json_each(?))`)
}
