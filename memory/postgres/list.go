package postgres

import (
	"context"
	"math"
	"slices"
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

// The four statements that read entries: live or at a version, of a list or of the ids $11.
// $10 is the version; what is live has died at none. They are steps into an index each, since
// no optional part of a query changes them: bounds that it does not set are those of all
// entries, and every array contains the empty one. The CASE and the OFFSET keep planners
// from estimates: they could choose to read the whole scope.
const (
	listLive = `
		SELECT ` + entryColumns + ` FROM ` + lasting + inPage
	namedLive = `
		SELECT ` + entryColumns + ` FROM ` + named + `
		WHERE e.died = 9223372036854775807 AND e.born <= $10` + inPage

	// At a version there is to add what has been retired since, and the few entries that were
	// restored since and were live then, each by an index of its own.
	listAt = `
		SELECT * FROM (
			(SELECT ` + entryColumns + ` FROM ` + lasting + inPage + `) UNION ALL
			(SELECT ` + entryColumns + ` FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2
				AND e.died < 9223372036854775807 AND e.died > $10 AND e.born <= $10` + inPage + `) UNION ALL
			(SELECT ` + entryColumns + ` FROM agentmemory.former f, LATERAL (
					SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = f.id OFFSET 0) e
				WHERE f.tenant = $1 AND f.ref = $2 AND f.died > $10 AND f.born <= $10` + inPage + `)
		) e` + inOrder
	namedAt = `
		SELECT ` + entryColumns + ` FROM ` + named + `
		WHERE (e.born <= $10 AND $10 < e.died OR EXISTS (
			SELECT FROM agentmemory.former f
			WHERE f.tenant = $1 AND f.ref = $2 AND f.id = e.id AND f.born <= $10 AND $10 < f.died))` + inPage

	lasting = `agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.died = 9223372036854775807 AND e.born <= $10`
	named   = `unnest($11::bytea[]) AS n (id), LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = n.id OFFSET 0) e`
	inPage = ` AND NOT e.erased AND e.expires_at > $3 AND e.created_at >= $4 AND (e.created_at, e.id) < ($5, $6)
			AND CASE WHEN COALESCE(e.tags, '{}') @> $7::text[] AND COALESCE(e.subjects, '{}') @> $8::bytea[] THEN 1 END IS NOT NULL` + inOrder
	inOrder = ` ORDER BY created_at DESC, id DESC LIMIT $9`
)

// listArgs are the parameters of a query at the n-th version.
func listArgs(s driver.Scope, q *driver.Query, n int64) []any {
	since, until, id, tags, subjects := int64(math.MinInt64), int64(math.MaxInt64), "", q.Tags, [][]byte{}
	if !q.Since.IsZero() {
		since = millisUp(q.Since)
	}
	if !q.Until.IsZero() { // no id is before ""
		until = millisUp(q.Until)
	}
	if after := q.After.CreatedAt.UnixMilli(); !q.After.IsZero() && after < until {
		until, id = after, q.After.ID
	}
	if slices.ContainsFunc(tags, isNoText) { // no entry has it
		since, tags = math.MaxInt64, nil
	}
	if q.Subject != "" {
		subjects = append(subjects, []byte(q.Subject))
	}
	var limit any
	if q.Limit > 0 {
		limit = q.Limit
	}
	args := []any{[]byte(s.Tenant), keyOf(s.Ref), q.At.UnixMilli(), since, until, []byte(id), append([]string{}, tags...), subjects, limit, n}
	if len(q.IDs) > 0 {
		args = append(args, idKeys(slices.Compact(slices.Sorted(slices.Values(q.IDs)))))
	}
	return args
}

// List returns the entries of s that q asks for, live or at its version.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	live, at := listLive, listAt
	if len(q.IDs) > 0 {
		live, at = namedLive, namedAt
	}
	var entries []driver.Entry
	if q.Version == "" {
		const latest = math.MaxInt64 - 1 // which is after every version
		err := st.db.query(ctx, tenantSetting(s.Tenant), collect(&entries), live, listArgs(s, &q, latest)...)
		return entries, err
	}
	err := st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch, n []int64) {
		b.Queue(at, listArgs(s, &q, n[0])...).Query(collect(&entries))
	}, q.Version)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	found, err := st.List(ctx, s, driver.Query{At: at, IDs: []string{id}})
	if err == nil && len(found) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return driver.Entry{}, err
	}
	return found[0], nil
}
