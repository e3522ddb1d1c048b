package postgres

import (
	"context"
	"crypto/rand"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// namesPage is how many scopes, tenants, or refs of one, are read at a time. A round of maintenance
// looks at few.
const namesPage = 32

// nextScopes steps from scope to scope in indexes, behind $1 and $2.
var nextScopes = `
	WITH RECURSIVE s (tenant, ref) AS (` + scopeBehind(`$1, $2`) + ` UNION ALL SELECT n.* FROM s, LATERAL ` + scopeBehind(`s.tenant, s.ref`) + ` n)
	SELECT tenant, ref FROM s LIMIT $3`

func scopeBehind(place string) string {
	return `(SELECT tenant, ref FROM (
		(SELECT x.tenant, x.ref FROM agentmemory.entries x WHERE (x.tenant, x.ref) > (` + place + `) ORDER BY x.tenant, x.ref LIMIT 1) UNION ALL
		(SELECT x.tenant, x.ref FROM agentmemory.documents x WHERE (x.tenant, x.ref) > (` + place + `) ORDER BY x.tenant, x.ref LIMIT 1)) f
		ORDER BY tenant, ref LIMIT 1)`
}

// steps is a statement that steps from name to name in indexes, from $1 on. Source finds the first one
// that the condition allows.
func steps(source func(condition string) string) string {
	return `
		WITH RECURSIVE s (name) AS (` + source(`>= $1`) + ` UNION ALL SELECT n.* FROM s, LATERAL ` + source(`> s.name`) + ` n)
		SELECT name FROM s LIMIT $2`
}

var (
	// nextTenants: one with entries, content or host text has a row in tenants, one with nothing but
	// machinery has documents only.
	nextTenants = steps(func(condition string) string {
		return `(SELECT tenant FROM (
			(SELECT x.tenant FROM agentmemory.tenants x WHERE x.tenant ` + condition + ` ORDER BY x.tenant LIMIT 1) UNION ALL
			(SELECT x.tenant FROM agentmemory.documents x WHERE x.class = 0 AND x.tenant ` + condition + ` ORDER BY x.tenant LIMIT 1)) f
			ORDER BY tenant LIMIT 1)`
	})
	// nextOnNodes asks all nodes of a cluster at once, which cannot step from one to another.
	nextOnNodes = `
		SELECT tenant FROM (
			(SELECT x.tenant FROM agentmemory.tenants x WHERE x.tenant >= $1 ORDER BY x.tenant LIMIT $2)
			UNION (SELECT x.tenant FROM agentmemory.documents x WHERE x.class = 0 AND x.tenant >= $1 GROUP BY x.tenant ORDER BY x.tenant LIMIT $2)) f
		ORDER BY tenant LIMIT $2`
	nextRefs = steps(func(condition string) string {
		return `(SELECT ref FROM (
			(SELECT x.ref FROM agentmemory.entries x WHERE x.tenant = $3 AND x.ref ` + condition + ` ORDER BY x.ref LIMIT 1) UNION ALL
			(SELECT x.ref FROM agentmemory.documents x WHERE x.tenant = $3 AND x.ref ` + condition + ` ORDER BY x.ref LIMIT 1)) f
			ORDER BY ref LIMIT 1)`
	})
)

// Scopes yields the scopes that hold entries, ended ones too, or documents, behind the scope
// after, in the byte order of tenant and ref. The body of the loop may use the store. It
// steps from name to name in the indexes, however much each holds. Under row security it lists
// tenants for all of them, and the refs of each as that tenant. So it does in a cluster, where no
// statement about all tenants can step.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	if st.db.rowSecurity || st.db.distributed {
		return st.db.scopesByTenant(ctx, after)
	}
	return pages.Of(func(last *driver.Scope) (page []driver.Scope, more bool, err error) {
		if last == nil {
			last = &after
		}
		err = st.db.query(ctx, everyTenant, rowsInto(&page, scanScope), nextScopes, []byte(last.Tenant), []byte(last.Ref), namesPage)
		return page, len(page) == namesPage, err
	})
}

func (db *DB) scopesByTenant(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	next := nextTenants
	if db.distributed {
		next = nextOnNodes
	}
	return func(yield func(driver.Scope, error) bool) {
		from := driver.Scope{Tenant: after.Tenant, Ref: after.Ref + "\x00"}
		pages.Of(func(*driver.Scope) (page []driver.Scope, more bool, err error) {
			var tenants []string
			err = db.query(ctx, everyTenant, rowsInto(&tenants, scanName), next, []byte(from.Tenant), namesPage)
			if err != nil || len(tenants) == 0 {
				return nil, false, err
			}
			refs, err := db.refsOf(ctx, tenants, from)
			for i := 0; i < len(tenants) && err == nil; i++ {
				for _, ref := range refs[i] {
					page = append(page, driver.Scope{Tenant: tenants[i], Ref: ref})
				}
				from = driver.Scope{Tenant: tenants[i] + "\x00"}
				if n := len(refs[i]); n == namesPage { // it may have more
					from = driver.Scope{Tenant: tenants[i], Ref: refs[i][n-1] + "\x00"}
					return page, true, nil
				}
			}
			return page, len(tenants) == namesPage, err
		})(yield)
	}
}

// refsOf reads a page of the refs of each tenant in one round trip: of the tenant in from those from
// its ref on.
func (db *DB) refsOf(ctx context.Context, tenants []string, from driver.Scope) (refs [][]string, err error) {
	refs = make([][]string, len(tenants))
	return refs, db.read(ctx, everyTenant, func(b *pgx.Batch) {
		for i, tenant := range tenants {
			first := ""
			if tenant == from.Tenant {
				first = from.Ref
			}
			db.setTenant(b, tenantSetting(tenant))
			b.Queue(nextRefs, []byte(first), namesPage, []byte(tenant)).Query(rowsInto(&refs[i], scanName))
		}
	})
}

func scanName(row pgx.Row, x *string) error { return row.Scan((*name)(x)) }

func scanScope(row pgx.Row, x *driver.Scope) error {
	return row.Scan((*name)(&x.Tenant), (*name)(&x.Ref))
}

// dropRows removes rows of a tenant, $2 at most, and those that are about them. Documents
// go first, so that none is left of an entry that is gone.
const dropRows = `
	WITH d AS MATERIALIZED (
		SELECT ref, kind, key FROM agentmemory.documents WHERE tenant = $1 LIMIT $2
	), e AS MATERIALIZED (
		SELECT run_id, event_id FROM agentmemory.events WHERE tenant = $1 LIMIT $2 - (SELECT count(*) FROM d)
	), x AS MATERIALIZED (
		SELECT ref, id, ` + counted + ` AS size FROM agentmemory.entries WHERE tenant = $1
		LIMIT $2 - (SELECT count(*) FROM d) - (SELECT count(*) FROM e)
	), documents AS (
		DELETE FROM agentmemory.documents t USING d WHERE t.tenant = $1 AND t.ref = d.ref AND t.kind = d.kind AND t.key = d.key
	), events AS (
		DELETE FROM agentmemory.events t USING e WHERE t.tenant = $1 AND t.run_id = e.run_id AND t.event_id = e.event_id
	), used AS (
		UPDATE agentmemory.versions v SET entries = v.entries - y.entries, bytes = v.bytes - y.bytes
		FROM (SELECT count(size) AS entries, COALESCE(sum(size), 0) AS bytes FROM x) y WHERE v.tenant = $1 AND v.version = ` + current + `
	), former AS (
		DELETE FROM agentmemory.former t USING x WHERE t.tenant = $1 AND t.ref = x.ref AND t.id = x.id
	), subjects AS (
		DELETE FROM agentmemory.subjects t USING x WHERE t.tenant = $1 AND t.ref = x.ref AND t.id = x.id
	)
	DELETE FROM agentmemory.entries t USING x WHERE t.tenant = $1 AND t.ref = x.ref AND t.id = x.id`

// DropTenant removes what is held of a tenant, about limit rows at a time, and reports
// whether anything is left. Each call makes all versions of the tenant unavailable. Its
// counter stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	w := &writes{Call: sqlstore.Call{Tenant: tenant}}
	rand.Read(w.Mark[:])
	err = st.db.write(ctx, tenantSetting(tenant), func(b *pgx.Batch) {
		b.Queue(takeTenant, []byte(tenant))
		w.addVersion(b, addVersionAlone)
		b.Queue(`UPDATE agentmemory.tenants SET horizon = `+current+` WHERE tenant = $1`, []byte(tenant))
		b.Queue(`DELETE FROM agentmemory.versions WHERE tenant = $1 AND version < `+current, []byte(tenant))
		b.Queue(`DELETE FROM agentmemory.erased_spans WHERE tenant = $1`, []byte(tenant))
		b.Queue(dropRows, []byte(tenant), int64(max(1, limit)))
		b.Queue(`SELECT EXISTS (SELECT FROM agentmemory.documents WHERE tenant = $1)
			OR EXISTS (SELECT FROM agentmemory.events WHERE tenant = $1)
			OR EXISTS (SELECT FROM agentmemory.entries WHERE tenant = $1)`, []byte(tenant)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&more) })
	})
	return more && err == nil, err
}
