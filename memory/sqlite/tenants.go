package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// nextScope selects the first scope behind another one, by a step into each of two indexes.
const nextScope = `SELECT * FROM (
	SELECT * FROM (SELECT tenant, ref FROM entries WHERE (tenant, ref) > (?1, ?2) ORDER BY tenant, ref LIMIT 1)
	UNION ALL
	SELECT * FROM (SELECT tenant, ref FROM documents WHERE (tenant, ref) > (?1, ?2) ORDER BY tenant, ref LIMIT 1)
	) ORDER BY 1, 2 LIMIT 1`

// Scopes yields the scopes that hold entries, ended ones too, or documents, behind the scope
// after, in the byte order of tenant and ref. The body of the loop may use the store. Each
// scope costs two steps into an index, however much it holds.
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
		if err := t.dropSome(tenant, max(1, limit)); err != nil {
			return err
		}
		err := t.get([]any{&more}, `SELECT EXISTS (SELECT 1 FROM documents WHERE tenant = ?1)
			OR EXISTS (SELECT 1 FROM outbox WHERE tenant = ?1) OR EXISTS (SELECT 1 FROM run_events WHERE tenant = ?1) OR EXISTS (SELECT 1 FROM entries WHERE tenant = ?1)`, tenant)
		if err != nil {
			return err
		}
		t.moved, t.erased = true, !more
		if more {
			return nil
		}
		t.sweeps = allPages
		_, err = t.exec(`DELETE FROM bodies WHERE value IS NULL`)
		return err
	})
	return more, err
}

// dropVersions begins a history of a tenant anew, behind all numbers that were given out.
func (t *tx) dropVersions(tenant string) error {
	err := t.execAll(tenant, `DELETE FROM versions WHERE tenant = ?`, `DELETE FROM scars WHERE tenant = ?`,
		`INSERT INTO tenants (tenant, version, horizon) VALUES (?, 1, 1)
			ON CONFLICT DO UPDATE SET version = version + 1, horizon = version + 1`)
	if err != nil {
		return err
	}
	mark := driver.NewMark()
	_, err = t.exec(`INSERT INTO versions (tenant, version, mark) SELECT tenant, version, ? FROM tenants WHERE tenant = ?`, mark[:], tenant)
	return err
}

// dropSome removes documents, events, logged ones too, and entries of a tenant, up to limit of them and the
// documents that were made of those entries.
func (t *tx) dropSome(tenant string, limit int) error {
	gone, err := collect(t.query, scanShelved, `SELECT rev, body FROM documents WHERE tenant = ? LIMIT ? + 0`, tenant, limit)
	for _, d := range gone {
		if err == nil {
			err = t.discard(d)
		}
	}
	if err != nil {
		return err
	}
	limit -= len(gone)
	for _, text := range []string{
		`DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE tenant = ? LIMIT ? + 0)`,
		`DELETE FROM run_events WHERE rowid IN (SELECT rowid FROM run_events WHERE tenant = ? LIMIT ? + 0)`,
	} {
		removed, err := t.exec(text, tenant, limit)
		if err != nil {
			return err
		}
		n, err := removed.RowsAffected()
		if err != nil {
			return wrap(writeFailed, err)
		}
		limit -= int(n)
	}
	keys, err := collect(t.query, scanKey, `SELECT entry FROM entries WHERE tenant = ? LIMIT ? + 0`, tenant, limit)
	if err != nil || len(keys) == 0 {
		return err
	}
	return t.removeEntries(tenant, keyList(keys))
}
