package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// entryColumns are the columns of an entry e in the order of scanEntry.
const entryColumns = `e.id, e.created_at, e.expires_at, e.run_id, e.content,
	array_send(e.tags), array_send(e.subjects), array_send(e.sources)`

// scanEntry reads a row of further columns and the entryColumns.
func scanEntry(row pgx.Row, e *driver.Entry, further ...any) error {
	var created, expires int64
	err := row.Scan(append(further, (*name)(&e.ID), &created, &expires, (*name)(&e.RunID), &e.Content,
		(*textList)(&e.Tags), (*textList)(&e.Subjects), (*textList)(&e.Sources))...)
	if err != nil {
		return err
	}
	e.CreatedAt = instant(created)
	if expires != never {
		e.ExpiresAt = instant(expires)
	}
	return nil
}

// lookedUp are the entries e of a scope in the order of the ids n in $3. The OFFSET has each
// one looked up: as a join the planner could choose to read the whole scope.
const lookedUp = `unnest($3::bytea[]) WITH ORDINALITY AS n (id, place), LATERAL (
	SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = n.id OFFSET 0) e`

// collect reads entries into a slice, nil if there are none.
func collect(entries *[]driver.Entry) func(pgx.Rows) error {
	return rowsInto(entries, func(row pgx.Row, e *driver.Entry) error { return scanEntry(row, e) })
}

// eachRow reads the rows of a statement one by one.
func eachRow(scan func(pgx.Row) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// rowsInto reads the rows of a statement into a list.
func rowsInto[T any](list *[]T, scan func(row pgx.Row, x *T) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		*list = nil
		return eachRow(func(row pgx.Row) error {
			*list = append(*list, *new(T))
			return scan(row, &(*list)[len(*list)-1])
		})(rows)
	}
}

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	// The comparison is not the condition of entries_live, which the planner could choose
	// and read a whole scope.
	const get = `
		SELECT ` + entryColumns + ` FROM agentmemory.entries e
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3
			AND e.died >= 9223372036854775807 AND NOT e.erased AND e.expires_at > $4`
	var found []driver.Entry
	err := st.db.query(ctx, s.Tenant, collect(&found), get, []byte(s.Tenant), keyOf(s.Ref), []byte(id), at.UnixMilli())
	if err == nil && len(found) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return driver.Entry{}, err
	}
	return found[0], nil
}

// GetAt returns those of the entries that were not retired at v and are live at the
// instant at, in the order of the ids.
func (st *Store) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
	const get = `
		SELECT ` + entryColumns + ` FROM ` + lookedUp + `
		WHERE NOT e.erased AND e.expires_at > $4
			AND (e.born <= $5 AND $5 < e.died OR EXISTS (
				SELECT FROM agentmemory.former f
				WHERE f.tenant = $1 AND f.ref = $2 AND f.id = n.id AND f.born <= $5 AND $5 < f.died))
		ORDER BY n.place`
	version, err := availabilityOf(v)
	if err != nil {
		return nil, err
	}
	var found []driver.Entry
	err = st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(get, []byte(s.Tenant), keyOf(s.Ref), idKeys(ids), at.UnixMilli(), version.n).Query(collect(&found))
	}, version)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// List returns the live entries of s that q asks for, at the latest version.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	p := pageOf(s, q)
	var entries []driver.Entry
	if p.nothing {
		return nil, ctx.Err()
	}
	err := st.db.query(ctx, s.Tenant, collect(&entries), p.sql(), p.args...)
	return entries, err
}

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
	version, err := availabilityOf(v)
	if err != nil {
		return nil, err
	}
	p := pageOf(s, q)
	p.pin(version.n)
	return st.pageAt(ctx, s.Tenant, &p, version)
}

// pageAt reads a page of a version.
func (st *Store) pageAt(ctx context.Context, tenant string, p *page, v *availability) ([]driver.Entry, error) {
	var entries []driver.Entry
	err := st.db.readAt(ctx, tenant, func(b *pgx.Batch) {
		if !p.nothing {
			p.queue(b, &entries)
		}
	}, v)
	if err != nil {
		return nil, err
	}
	return entries, nil
}
