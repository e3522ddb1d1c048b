package mysql

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// nextScope selects the first scope behind another one: the next ref of the tenant or, if there is
// none, the first of the next tenant. Each is a step into an index.
const nextScope = `SELECT tenant, ref FROM (
	(SELECT tenant, ref FROM agentmemory_entries WHERE tenant = $1 AND ref > $2 ORDER BY tenant, ref LIMIT 1)
	UNION ALL
	(SELECT tenant, ref FROM agentmemory_documents WHERE tenant = $1 AND ref > $2 ORDER BY tenant, ref LIMIT 1)
	UNION ALL
	(SELECT tenant, ref FROM agentmemory_entries WHERE tenant > $1 ORDER BY tenant, ref LIMIT 1)
	UNION ALL
	(SELECT tenant, ref FROM agentmemory_documents WHERE tenant > $1 ORDER BY tenant, ref LIMIT 1)
	) s ORDER BY tenant, ref LIMIT 1`

// DropTenant removes what is held of a tenant, about limit rows at a time, and reports whether anything
// is left. Each call makes all versions of the tenant unavailable. Its counters stay, so that no version
// and no revision is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	name := []byte(tenant)
	var version int64
	var documents, kept int
	var entries []driver.Located
	var freed driver.Limits
	limit = max(1, limit)
	c := &sqlstore.Call{}
	rand.Read(c.Mark[:])
	err = st.db.write(ctx, func(b *batch) {
		entries, freed = nil, driver.Limits{}
		b.exec(lockTenant, name)
		b.exec(lockDocuments, name)
		count := func(table string, n *int) {
			b.each(`SELECT COUNT(*) FROM (SELECT 1 FROM `+table+` WHERE tenant = $1 LIMIT $2) x`, []any{name, limit + 1}, func(row sqlstore.Row) error { return row.Scan(n) })
		}
		b.each(`SELECT version FROM agentmemory_tenants WHERE tenant = $1`, []any{name}, func(row sqlstore.Row) error { return row.Scan(&version) })
		count(`agentmemory_documents`, &documents)
		count(`agentmemory_events`, &kept)
		const some = `SELECT ref, id, died = 9223372036854775807, LENGTH(content) FROM agentmemory_entries WHERE tenant = $1 ORDER BY tenant, ref, id LIMIT $2`
		b.each(some, []any{name, limit + 1}, func(row sqlstore.Row) error {
			l := driver.Located{Scope: driver.Scope{Tenant: tenant}}
			var live bool
			var size int64
			err := row.Scan((*sqlstore.Name)(&l.Ref), (*sqlstore.Name)(&l.ID), &live, &size)
			if entries = append(entries, l); live && len(entries) <= limit-min(limit, documents+kept) {
				freed.Entries, freed.Bytes = freed.Entries+1, freed.Bytes+size
			}
			return err
		})
	}, func(b *batch) error {
		addVersion(b, name, strconv.FormatInt(version, 10), 1, c)
		b.exec(`UPDATE agentmemory_tenants SET version = $2, horizon = $2 WHERE tenant = $1`, name, version+1)
		b.exec(`DELETE FROM agentmemory_versions WHERE tenant = $1 AND version <= $2`, name, version)
		b.exec(`DELETE FROM agentmemory_erased_spans WHERE tenant = $1`, name)
		more = documents+kept+len(entries) > limit
		b.exec(`DELETE FROM agentmemory_documents WHERE tenant = $1 LIMIT $2`, name, limit)
		if left := limit - documents; left > 0 {
			b.exec(`DELETE FROM agentmemory_events WHERE tenant = $1 LIMIT $2`, name, left)
		}
		for _, l := range entries[:min(len(entries), max(0, limit-documents-kept))] {
			removeEntry(b, l)
		}
		useLess(b, tenant, freed)
		if !more {
			b.exec(`DELETE FROM agentmemory_runs WHERE tenant = $1`, name)
		}
		return nil
	})
	return more && err == nil, err
}
