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

// steps is a statement that steps from name to name in indexes. Source finds the first tenant or
// key that the condition allows, with its name.
func steps(source func(condition string) string) string {
	return `
		WITH RECURSIVE s (key, name) AS (` + source(`>= $1`) + ` UNION ALL SELECT n.* FROM s, LATERAL ` + source(`> s.key`) + ` n)
		SELECT key, name FROM s LIMIT $2`
}

var (
	// nextTenants: one with entries, content or host text has a row in tenants, one with nothing but
	// machinery has documents only.
	nextTenants = steps(func(condition string) string {
		return `(SELECT tenant, tenant FROM (
			(SELECT x.tenant FROM agentmemory.tenants x WHERE x.tenant ` + condition + ` ORDER BY x.tenant LIMIT 1) UNION ALL
			(SELECT x.tenant FROM agentmemory.documents x WHERE x.class = 0 AND x.tenant ` + condition + ` ORDER BY x.tenant LIMIT 1)) f
			ORDER BY tenant LIMIT 1)`
	})
	// nextOnNodes asks all nodes of a cluster at once, which cannot step from one to another.
	nextOnNodes = `
		SELECT tenant, tenant FROM (
			(SELECT x.tenant FROM agentmemory.tenants x WHERE x.tenant >= $1 ORDER BY x.tenant LIMIT $2)
			UNION (SELECT x.tenant FROM agentmemory.documents x WHERE x.class = 0 AND x.tenant >= $1 GROUP BY x.tenant ORDER BY x.tenant LIMIT $2)) f
		ORDER BY tenant LIMIT $2`
	nextRefs = steps(func(condition string) string {
		return `(SELECT key, name FROM (
			(SELECT x.ref AS key, COALESCE(x.long_ref, x.ref) AS name FROM agentmemory.entries x
				WHERE x.tenant = $3 AND x.ref ` + condition + ` ORDER BY x.ref LIMIT 1) UNION ALL
			(SELECT x.ref, x.ref FROM agentmemory.documents x WHERE x.tenant = $3 AND x.ref ` + condition + ` ORDER BY x.ref LIMIT 1)) f
			ORDER BY key LIMIT 1)`
	})
)

// keyed is a name beside what it is found under.
type keyed struct {
	key  []byte
	name string
}

// names yields what one of these statements finds from a key on. The first pages are small: a
// round of maintenance looks at one name.
func (db *DB) names(ctx context.Context, setting, text string, from []byte, args ...any) iter.Seq2[keyed, error] {
	size := 1
	return driver.Pages(func(last *keyed) (page []keyed, more bool, err error) {
		if last != nil {
			from = append(slices.Clone(last.key), 0)
		}
		size = min(4*size, namesPage)
		err = db.query(ctx, setting, rowsInto(&page, func(row pgx.Row, x *keyed) error { return row.Scan(&x.key, (*name)(&x.name)) }),
			text, append([]any{from, size}, args...)...)
		return page, len(page) == size, err
	})
}

// Scopes yields the scopes that hold entries, ended ones too, or documents, behind the scope
// after, in the byte order of tenant and ref. The body of the loop may use the store. It
// steps from name to name in the indexes, however much each holds. Under row security it lists
// tenants for all of them, and the refs of each as that tenant.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	next := nextTenants
	if st.db.distributed {
		next = nextOnNodes
	}
	return func(yield func(driver.Scope, error) bool) {
		for tenant, err := range st.db.names(ctx, everyTenant, next, []byte(after.Tenant)) {
			if err != nil {
				yield(driver.Scope{}, err)
				return
			}
			behind := ""
			if tenant.name == after.Tenant {
				behind = after.Ref
			}
			for ref, err := range st.refs(ctx, tenant.name, behind) {
				s := driver.Scope{Tenant: tenant.name, Ref: ref}
				if s != after && !yield(s, err) || err != nil {
					return
				}
			}
		}
	}
}

// refs yields the refs of a tenant from one on. Keys of long ones are in no order behind their
// common beginning, so that these are sorted before.
func (st *Store) refs(ctx context.Context, tenant, from string) iter.Seq2[string, error] {
	head := func(s string) string { return s[:min(len(s), keyHead)] }
	return func(yield func(string, error) bool) {
		var alike []string
		flush := func() bool {
			slices.Sort(alike)
			for _, ref := range slices.Compact(alike) {
				if ref >= from && !yield(ref, nil) {
					return false
				}
			}
			alike = alike[:0]
			return true
		}
		for x, err := range st.db.names(ctx, tenantSetting(tenant), nextRefs, []byte(head(from)), []byte(tenant)) {
			if err != nil {
				yield("", err)
				return
			}
			if len(alike) > 0 && head(alike[0]) != head(x.name) && !flush() {
				return
			}
			alike = append(alike, x.name)
		}
		flush()
	}
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
	w := &writes{tenant: tenant, mark: driver.NewMark()}
	err = st.db.write(ctx, tenantSetting(tenant), func(b *pgx.Batch) {
		b.Queue(takeTenant, []byte(tenant))
		w.addVersion(b)
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
