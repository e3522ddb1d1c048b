package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// nextScope selects the first scope behind another one: the next ref of the tenant or, if there
// is none, the first of the next tenant. Each is a step into an index. The bound (tenant, ref) >
// (?1, ?2) would not be: of a row value SQLite takes the rows that are equal for candidates, and
// these are all that the scope holds.
const nextScope = `SELECT * FROM (
	SELECT * FROM (SELECT tenant, ref FROM entries WHERE tenant = ?1 AND ref > ?2 ORDER BY ref LIMIT 1)
	UNION ALL
	SELECT * FROM (SELECT tenant, ref FROM documents WHERE tenant = ?1 AND ref > ?2 ORDER BY ref LIMIT 1)
	UNION ALL
	SELECT * FROM (SELECT tenant, ref FROM entries WHERE tenant > ?1 ORDER BY tenant, ref LIMIT 1)
	UNION ALL
	SELECT * FROM (SELECT tenant, ref FROM documents WHERE tenant > ?1 ORDER BY tenant, ref LIMIT 1)
	) ORDER BY 1, 2 LIMIT 1`

// Scopes yields the scopes that hold entries, ended ones too, or documents, behind the scope
// after, in the byte order of tenant and ref. The body of the loop may use the store. Each
// scope costs four steps into indexes, however much it holds.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return func(yield func(driver.Scope, error) bool) {
		for s := after; ; {
			err := first(st.db.reads(ctx), []any{&s.Tenant, &s.Ref}, nextScope, s.Tenant, s.Ref)
			if errors.Is(err, sql.ErrNoRows) {
				return
			}
			if err != nil {
				yield(driver.Scope{}, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// DropTenant removes what is held of a tenant, about limit rows at a time, and reports
// whether anything is left. Each call makes all versions of the tenant unavailable. The number
// of the last one stays, so that none is given out again. The last call reads the whole file, and
// leaves nothing of the tenant in it but that number.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	return more, st.db.tx(ctx, func(t *tx) error {
		if err := t.dropVersions(tenant); err != nil {
			return err
		}
		t.erased = true
		if more, err = t.dropSome(tenant, max(1, limit)); err != nil || more {
			return err
		}
		if err := t.clearRemoved(); err != nil {
			return err
		}
		if _, err := t.exec(removeBodies); err != nil {
			return err
		}
		return t.zeroAllGaps()
	})
}

// dropVersions begins a history of a tenant anew, behind the number that it has come to.
func (t *tx) dropVersions(tenant string) error {
	var last int64
	mark := driver.NewMark()
	if err := first(t.query, []any{&last}, addVersion, tenant, mark[:], 0, 0, nil); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM versions WHERE tenant = ? AND version < ?`, tenant, last); err != nil {
		return err
	}
	return t.execAll(tenant, `DELETE FROM erased_spans WHERE tenant = ?`)
}

// ofTenant select what a tenant has, by its keys: documents with their bodies, events, and
// entries.
var ofTenant = [3]string{
	`SELECT rev, body FROM documents WHERE tenant = ?`,
	`SELECT number, NULL FROM events WHERE tenant = ?`,
	`SELECT entry, NULL FROM entries WHERE tenant = ?`,
}

// dropSome removes documents, events and entries of a tenant, up to limit of them in this
// order, and reports whether any is left.
func (t *tx) dropSome(tenant string, limit int) (more bool, err error) {
	var keys [len(ofTenant)][]int64
	for i, text := range ofTenant {
		err := t.query(func(rows *sql.Rows) (bool, error) {
			if more = limit == 0; more {
				return false, nil
			}
			limit--
			var key int64
			var body *int64
			err := rows.Scan(&key, &body)
			if keys[i] = append(keys[i], key); i == 0 {
				t.removed(key, body)
			}
			return true, wrap(readFailed, err)
		}, text, tenant)
		if err != nil {
			return false, err
		}
	}
	if err := t.execAll(inJSON(keys[0]), `DELETE FROM documents WHERE rev IN (SELECT value FROM json_each(?))`); err != nil {
		return false, err
	}
	if err := t.execAll(inJSON(keys[1]), `DELETE FROM events WHERE number IN (SELECT value FROM json_each(?))`); err != nil {
		return false, err
	}
	return more, t.removeEntries(tenant, keys[2])
}
