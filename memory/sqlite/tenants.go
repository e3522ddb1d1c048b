package sqlite

import (
	"context"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
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

// DropTenant removes what is held of a tenant, about limit rows at a time, and reports
// whether anything is left. Each call makes all versions of the tenant unavailable. The number
// of the last one stays, so that none is given out again. The last call reads the whole file, and
// leaves nothing of the tenant in it but that number.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	return more, st.db.tx(ctx, func(t *tx) error {
		t.dropVersions(tenant)
		more = t.dropSome(tenant, int64(max(1, limit)))
		t.erased = true
		if !more {
			t.emptyUnused()
			t.exec(removeBodies)
			t.zeroAllGaps()
		}
		return nil
	})
}

// dropVersions begins a history of a tenant anew, behind the number that it has come to.
func (t *tx) dropVersions(tenant string) {
	c := &change{tx: t, tenant: tenant}
	c.begin(tenant)
	c.makeVersion(driver.Limits{}, nil)
	t.exec(`DELETE FROM versions WHERE tenant = ? AND version < ?`, tenant, c.version)
	t.exec(`DELETE FROM erased_spans WHERE tenant = ?`, tenant)
}

const (
	dropDocuments = `DELETE FROM documents WHERE rev IN (SELECT rev FROM documents WHERE tenant = ? LIMIT ? + 0) RETURNING rev, body`
	dropEvents    = `DELETE FROM events WHERE number IN (SELECT number FROM events WHERE tenant = ? LIMIT ? + 0)`
	someEntries   = `SELECT ref, id FROM entries WHERE tenant = ? LIMIT ? + 0`
	anyLeft       = `SELECT EXISTS (SELECT 1 FROM documents WHERE tenant = ?1) OR EXISTS (SELECT 1 FROM events WHERE tenant = ?1)
		OR EXISTS (SELECT 1 FROM entries WHERE tenant = ?1)`
)

// dropSome removes documents, events and entries of a tenant, up to limit of them in this
// order, and reports whether any is left.
func (t *tx) dropSome(tenant string, limit int64) (more bool) {
	limit -= int64(len(t.removeDocuments(dropDocuments, tenant, limit)))
	_, events := t.exec(dropEvents, tenant, limit)
	places, _ := collect(t.query, func(rows sqlstore.Row) (l driver.Located, err error) {
		return l, rows.Scan(&l.Ref, &l.ID)
	}, someEntries, tenant, limit-events)
	t.removeEntries(tenant, places)
	first(t.query, []any{&more}, anyLeft, tenant)
	return more
}
