package sqlite

import (
	"context"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// Purge makes versions before v unavailable and removes what no later one can show
// at the instant at or after it, from the file too. It works scope by scope, each in
// a transaction, and stops between two of them when the context is done; the rest
// goes with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	n, err := st.db.advance(ctx, tenant, v)
	if err != nil {
		return 0, err
	}
	removed, err := 0, error(nil)
	for s, failed := range st.Scopes(ctx, driver.Scope{Tenant: tenant}) {
		if err = failed; err != nil || s.Tenant != tenant {
			break
		}
		var gone int
		if gone, err = st.db.purge(ctx, s, n, at); err != nil {
			break
		}
		removed += gone
	}
	if cleaned := st.db.tx(background, func(t *tx) error { return t.removeUnused(removed > 0) }); err == nil {
		err = cleaned
	}
	return removed, err
}

// advance moves the horizon to a version that is available, and returns its number.
func (db *DB) advance(ctx context.Context, tenant string, v driver.Version) (n int64, err error) {
	var held bool
	check, n, err := db.dialect.CheckVersion(ctx, tenant, v, &held)
	if err != nil {
		return 0, err
	}
	return n, db.tx(ctx, func(t *tx) error {
		if err := t.query(check.Row, check.Text, check.Args...); err != nil {
			return err
		}
		switch {
		case !held:
			return driver.ErrSnapshotUnavailable
		case n == 0: // there is nothing before it
			return errUnchanged
		}
		t.exec(`UPDATE versions SET journal = NULL WHERE tenant = ? AND version = ?`, tenant, n)
		t.exec(`DELETE FROM versions WHERE tenant = ? AND version < ?`, tenant, n)
		t.exec(`DELETE FROM erased_spans WHERE tenant = ? AND until <= ?`, tenant, n)
		return nil
	})
}

// unusedAtLeast is how many bodies that belong to no document are worth a transaction.
const unusedAtLeast = 256

// removeBodies removes bodies that belong to no document.
const removeBodies = `DELETE FROM bodies WHERE value IS NULL RETURNING body`

// removeUnused ends a purge: it removes bodies that belong to no document, if anything else
// was removed or they are many, and has the log emptied.
func (t *tx) removeUnused(removed bool) error {
	unused, _ := collect(t.query, scanKey, removeBodies)
	if !removed && len(unused) < unusedAtLeast {
		return errUnchanged
	}
	t.zeroGapsBeside("bodies", "value", unused)
	t.erased = true
	return nil
}

// findPurgeable selects the entries that are over, and those that are retired.
const findPurgeable = `
	SELECT id, successor, state, expires, died FROM entries INDEXED BY entries_past
		WHERE tenant = ?1 AND ref = ?2 AND died < 9223372036854775807
	UNION ALL
	SELECT id, successor, state, expires, died FROM entries INDEXED BY entries_live
		WHERE tenant = ?1 AND ref = ?2 AND died = 9223372036854775807 AND expires <= ?3`

// purge removes what version v and the later ones do not show of a ref.
func (db *DB) purge(ctx context.Context, s driver.Scope, v int64, at time.Time) (removed int, err error) {
	err = db.tx(ctx, func(t *tx) error {
		died := map[string]int64{}
		ended := driver.Stored{Entries: map[driver.Located]driver.Record{}}
		t.query(func(rows sqlstore.Row) (bool, error) {
			r := driver.Record{Scope: s}
			var expires, end int64
			err := rows.Scan(&r.Entry.ID, &r.For, &r.State, &expires, &end)
			if expires != never {
				r.Entry.ExpiresAt = sqlstore.Instant(expires)
			}
			r.Erased, died[r.Entry.ID] = end == 0, end
			ended.Entries[driver.Located{Scope: s, ID: r.Entry.ID}] = r
			return true, err
		}, findPurgeable, s.Tenant, s.Ref, at.UnixMilli())
		gone := ended.Purgeable(func(r *driver.Record) bool { return died[r.Entry.ID] <= v }, at)
		if removed = len(gone); removed == 0 {
			return errUnchanged
		}
		t.removeEntries(s.Tenant, gone)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

const (
	getHeads      = `SELECT e.ref, e.id, e.entry, e.died, e.created, x.head, octet_length(x.content) FROM ` + named + withText
	removeEntries = `DELETE FROM entries WHERE tenant = ?1 AND (ref, id) IN (SELECT ` + name0 + `, ` + name1 + ` FROM json_each(?2) j)`
	removeTexts   = `DELETE FROM texts WHERE entry IN (SELECT value FROM json_each(?)) RETURNING entry`

	useLess = `UPDATE versions SET entries = entries - ?2, bytes = bytes - ?3
		WHERE tenant = ?1 AND version = (SELECT max(version) FROM versions WHERE tenant = ?1)`
)

// removeEntries takes entries of a tenant out of all tables, and leaves nothing of their text.
func (t *tx) removeEntries(tenant string, places []driver.Located) {
	var entries []*row
	var freed driver.Limits
	names := placesIn(places)
	t.query(func(rows sqlstore.Row) (bool, error) {
		var r row
		var head []byte
		var created, size int64
		err := rows.Scan(&r.Ref, &r.Entry.ID, &r.key, &r.life[1], &created, &head, &size)
		r.Erased, r.Entry.CreatedAt = r.life[1] == 0, sqlstore.Instant(created)
		if err == nil && !r.Erased && !readHead(&r.Entry, head) { // rows of the index would stay
			return false, fail(damaged, nil)
		}
		if r.life[1] == never {
			freed.Entries, freed.Bytes = freed.Entries+1, freed.Bytes+size
		}
		entries = append(entries, &r)
		return true, err
	}, getHeads, tenant, names)
	t.removeMade(tenant, entries)
	t.exec(removeLabels, labelsOf(tenant, entries...))
	t.exec(useLess, tenant, freed.Entries, freed.Bytes)
	t.exec(removeEntries, tenant, names)
	keys, _ := collect(t.query, scanKey, removeTexts, keysOf(entries))
	t.erased = true
	t.zeroGapsBeside("texts", "content", keys)
}
