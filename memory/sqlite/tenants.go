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
			err := st.db.get(ctx, []any{&s.Tenant, &s.Ref}, nextScope, s.Tenant, s.Ref)
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
// whether anything is left. Each call makes all versions of the tenant unavailable. Its
// counter stays, so that none is given out again. The last call reads the whole file, and
// leaves nothing of the tenant in it but that counter.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	err = st.db.write(ctx, func(t *tx) error {
		if err := t.dropVersions(tenant); err != nil {
			return err
		}
		if more, err = t.dropSome(tenant, max(1, limit)); err != nil {
			return err
		}
		t.moved, t.erased = true, !more
		if more {
			return nil
		}
		t.gapPages = allPages
		_, err = t.exec(removeBodies)
		return err
	})
	return more, err
}

// dropVersions begins a history of a tenant anew, at the number that it has come to and with
// another mark.
func (t *tx) dropVersions(tenant string) error {
	err := t.execAll(tenant, `DELETE FROM versions WHERE tenant = ?`, `DELETE FROM scars WHERE tenant = ?`,
		`INSERT INTO tenants (tenant, version, horizon) VALUES (?, 1, 1) ON CONFLICT DO UPDATE SET horizon = 1`)
	if err != nil {
		return err
	}
	mark := driver.NewMark()
	_, err = t.exec(`INSERT INTO versions (tenant, version, mark) SELECT tenant, version, ? FROM tenants WHERE tenant = ?`, mark[:], tenant)
	return err
}

// ofTenant select what a tenant has, by its keys: documents with their bodies, events,
// logged ones, and entries.
var ofTenant = [4]string{
	`SELECT rev, body FROM documents WHERE tenant = ?`,
	`SELECT seq, NULL FROM outbox WHERE tenant = ?`,
	`SELECT rowid, NULL FROM run_events WHERE tenant = ?`,
	`SELECT entry, NULL FROM entries WHERE tenant = ?`,
}

// dropSome removes documents, events, logged ones too, and entries of a tenant, up to limit of
// them in this order, and reports whether any is left.
func (t *tx) dropSome(tenant string, limit int) (more bool, err error) {
	var documents []storedDocument
	var keys [len(ofTenant)][]int64
	for i, text := range ofTenant {
		err := t.query(func(rows *sql.Rows) (bool, error) {
			if more = limit == 0; more {
				return false, nil
			}
			limit--
			d, err := scanStoredDocument(rows)
			if keys[i] = append(keys[i], d.rev); i == 0 {
				documents = append(documents, d)
			}
			return true, err
		}, text, tenant)
		if err != nil {
			return false, err
		}
	}
	for _, d := range documents {
		if err := t.removeText(d); err != nil {
			return false, err
		}
	}
	if err := t.execAll(keyList(keys[1]), `DELETE FROM outbox WHERE seq IN (SELECT value FROM json_each(?))`); err != nil {
		return false, err
	}
	if err := t.execAll(keyList(keys[2]), `DELETE FROM run_events WHERE rowid IN (SELECT value FROM json_each(?))`); err != nil {
		return false, err
	}
	return more, t.removeEntries(tenant, keyList(keys[3]))
}
