package postgres

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// namesPage is how many tenants, or refs of one, are read at a time.
const namesPage = 256

const (
	// nextTenants steps through two indexes from tenant to tenant. A tenant with entries, content
	// or host text has a row in tenants; one with nothing but machinery has documents only.
	nextTenants = `
		WITH RECURSIVE t (tenant) AS (
			(SELECT tenant FROM (` + tenantFrom + ` >= $1` + firstTenant + `) UNION ALL ` + documentsFrom + ` >= $1` + firstTenant + `)) f
				ORDER BY tenant LIMIT 1)
			UNION ALL
			SELECT n.tenant FROM t, LATERAL (
				SELECT tenant FROM (` + tenantFrom + ` > t.tenant` + firstTenant + `) UNION ALL ` + documentsFrom + ` > t.tenant` + firstTenant + `)) f
				ORDER BY tenant LIMIT 1) n
		) SELECT tenant FROM t LIMIT $2`
	// nextOnNodes asks all nodes of a cluster at once, which cannot step from one to another.
	nextOnNodes = `
		SELECT tenant FROM (
			(SELECT x.tenant FROM agentmemory.tenants x WHERE x.tenant >= $1 ORDER BY x.tenant LIMIT $2)
			UNION (SELECT x.tenant FROM agentmemory.documents x WHERE x.class = 0 AND x.tenant >= $1 GROUP BY x.tenant ORDER BY x.tenant LIMIT $2)) f
		ORDER BY tenant LIMIT $2`
	tenantFrom    = `(SELECT x.tenant FROM agentmemory.tenants x WHERE x.tenant`
	documentsFrom = `(SELECT x.tenant FROM agentmemory.documents x WHERE x.class = 0 AND x.tenant`
	firstTenant   = ` ORDER BY x.tenant LIMIT 1`

	// nextRefs steps through the index of a table from ref to ref, as it stands in keys.
	nextEntryRefs = `
		WITH RECURSIVE r (key, ref) AS (
			(SELECT x.ref, COALESCE(x.long_ref, x.ref) FROM agentmemory.entries x WHERE x.tenant = $1 AND x.ref >= $2 ORDER BY x.ref LIMIT 1)
			UNION ALL
			SELECT n.* FROM r, LATERAL (
				SELECT x.ref, COALESCE(x.long_ref, x.ref) FROM agentmemory.entries x WHERE x.tenant = $1 AND x.ref > r.key ORDER BY x.ref LIMIT 1) n
		) SELECT key, ref FROM r LIMIT $3`
	nextDocumentRefs = `
		WITH RECURSIVE r (ref) AS (
			(SELECT x.ref FROM agentmemory.documents x WHERE x.tenant = $1 AND x.ref >= $2 ORDER BY x.ref LIMIT 1)
			UNION ALL
			SELECT n.* FROM r, LATERAL (
				SELECT x.ref FROM agentmemory.documents x WHERE x.tenant = $1 AND x.ref > r.ref ORDER BY x.ref LIMIT 1) n
		) SELECT ref, ref FROM r LIMIT $3`
)

// Scopes yields the scopes that hold entries, ended ones too, or documents, behind the scope
// after, in the byte order of tenant and ref. The body of the loop may use the store. It
// steps from name to name in the indexes, however much each holds, and holds the names of
// 256 tenants and the refs of one. Under row security it lists tenants for all of them, and
// the refs of each as that tenant.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	next := nextTenants
	if st.db.distributed {
		next = nextOnNodes
	}
	return func(yield func(driver.Scope, error) bool) {
		for from, more := after.Tenant, true; more; {
			var tenants []string
			err := st.db.readAs(ctx, everyTenant, func(b *pgx.Batch) {
				b.Queue(next, []byte(from), namesPage).
					Query(rowsInto(&tenants, func(row pgx.Row, x *string) error { return row.Scan((*name)(x)) }))
			})
			if err != nil {
				yield(driver.Scope{}, err)
				return
			}
			for _, tenant := range tenants {
				if !st.refs(ctx, tenant, after, yield) {
					return
				}
				from = tenant + "\x00"
			}
			more = len(tenants) == namesPage
		}
	}
}

// keyed is a ref beside what it is found under.
type keyed struct {
	key []byte
	ref string
}

// refs yields the scopes of a tenant, and reports whether to go on.
func (st *Store) refs(ctx context.Context, tenant string, after driver.Scope, yield func(driver.Scope, error) bool) bool {
	behind := ""
	if tenant == after.Tenant {
		behind = after.Ref
	}
	var all []string
	for _, text := range []string{nextEntryRefs, nextDocumentRefs} {
		// A digest is behind the beginning of the name, so that none that counts is before it.
		from := []byte(behind[:min(len(behind), keyHead)])
		for more := true; more; {
			var page []keyed
			err := st.db.query(ctx, tenant, rowsInto(&page, func(row pgx.Row, x *keyed) error {
				return row.Scan(&x.key, (*name)(&x.ref))
			}), text, []byte(tenant), from, namesPage)
			if err != nil {
				yield(driver.Scope{}, err)
				return false
			}
			for _, x := range page {
				all, from = append(all, x.ref), append(x.key, 0)
			}
			more = len(page) == namesPage
		}
	}
	slices.Sort(all)
	for _, ref := range slices.Compact(all) {
		if (tenant != after.Tenant || ref > after.Ref) && !yield(driver.Scope{Tenant: tenant, Ref: ref}, nil) {
			return false
		}
	}
	return true
}

// dropped removes rows of a tenant, $2 at most, and those that are about them. Documents
// go first, so that none is left of an entry that is gone.
var dropped = []string{
	`DELETE FROM agentmemory.documents d USING (
		SELECT ref, kind, key FROM agentmemory.documents WHERE tenant = $1 LIMIT $2) x
		WHERE d.tenant = $1 AND d.ref = x.ref AND d.kind = x.kind AND d.key = x.key`,
	`DELETE FROM agentmemory.events e USING (
		SELECT run_id, event_id FROM agentmemory.events WHERE tenant = $1 LIMIT $2) x
		WHERE e.tenant = $1 AND e.run_id = x.run_id AND e.event_id = x.event_id`,
	`WITH x AS MATERIALIZED (
		SELECT ref, id, ` + counted + ` AS size FROM agentmemory.entries WHERE tenant = $1 LIMIT $2
	), u AS (
		UPDATE agentmemory.versions v SET entries = v.entries - y.entries, bytes = v.bytes - y.bytes
		FROM (SELECT count(size) AS entries, COALESCE(sum(size), 0) AS bytes FROM x) y WHERE v.tenant = $1 AND v.version = ` + current + `
	), f AS (
		DELETE FROM agentmemory.former f USING x WHERE f.tenant = $1 AND f.ref = x.ref AND f.id = x.id
	), s AS (
		DELETE FROM agentmemory.subjects s USING x WHERE s.tenant = $1 AND s.ref = x.ref AND s.id = x.id
	)
	DELETE FROM agentmemory.entries e USING x WHERE e.tenant = $1 AND e.ref = x.ref AND e.id = x.id`,
}

// DropTenant removes what is held of a tenant, about limit rows at a time, and reports
// whether anything is left. Each call makes all versions of the tenant unavailable. Its
// counter stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	w := &writes{tenant: tenant, mark: driver.NewMark()}
	err = st.db.change(ctx, tenant, func(ctx context.Context, tx pgx.Tx) error {
		b := new(pgx.Batch)
		b.Queue(takeTenant, []byte(tenant))
		w.addVersion(b)
		b.Queue(`UPDATE agentmemory.tenants SET horizon = `+current+` WHERE tenant = $1`, []byte(tenant))
		b.Queue(`DELETE FROM agentmemory.versions WHERE tenant = $1 AND version < `+current, []byte(tenant))
		b.Queue(`DELETE FROM agentmemory.erased_spans WHERE tenant = $1`, []byte(tenant))
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		left := int64(max(1, limit))
		for _, text := range dropped {
			done, err := tx.Exec(ctx, text, []byte(tenant), left)
			if err != nil {
				return err
			}
			left -= done.RowsAffected()
		}
		return tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM agentmemory.documents WHERE tenant = $1)
			OR EXISTS (SELECT FROM agentmemory.events WHERE tenant = $1)
			OR EXISTS (SELECT FROM agentmemory.entries WHERE tenant = $1)`, []byte(tenant)).Scan(&more)
	})
	return more && err == nil, err
}
