package main

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory"
)

// bareStore is the peer of the postgres rows: what a host writes that keeps entries in a plain
// table of PostgreSQL, with an index for lists. It knows no versions, lineage, erasure, events,
// limits, conflict or error but panic.
type bareStore struct{ pool *pgxpool.Pool }

func newBareStore(ctx context.Context, pool *pgxpool.Pool) *bareStore {
	_, err := pool.Exec(ctx, `
		CREATE SCHEMA bare;
		CREATE TABLE bare.entries (
			tenant text COLLATE "C", ref text COLLATE "C", id text COLLATE "C", created_at bigint NOT NULL, expires_at bigint NOT NULL,
			run_id text, content text NOT NULL, tags text[],
			PRIMARY KEY (tenant, ref, id)
		);
		CREATE INDEX ON bare.entries (tenant, ref, created_at, id);
		CREATE TABLE bare.counters (tenant text COLLATE "C" PRIMARY KEY, n bigint NOT NULL)`)
	must(err)
	return &bareStore{pool}
}

const (
	bareFields = `INSERT INTO bare.entries (tenant, ref, id, created_at, expires_at, run_id, content, tags) `
	bareSelect = `SELECT id, content, run_id, tags, created_at, expires_at FROM bare.entries WHERE tenant = $1 AND ref = $2 AND expires_at > $3`
)

func bareExpiry(e *memory.Entry) int64 {
	if e.ExpiresAt.IsZero() {
		return millisNever
	}
	return e.ExpiresAt.UnixMilli()
}

func (s *bareStore) put(ctx context.Context, e memory.Entry) {
	_, err := s.pool.Exec(ctx, bareFields+`VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		storeScope.Tenant, storeScope.Ref, e.ID, e.CreatedAt.UnixMilli(), bareExpiry(&e), e.RunID, e.Content, e.Tags)
	must(err)
}

// putCounted is put for any tenant, whose mutations it counts in the same transaction and the
// same round trip.
func (s *bareStore) putCounted(ctx context.Context, at memory.Scope, e memory.Entry) {
	b := new(pgx.Batch)
	b.Queue(`INSERT INTO bare.counters AS c VALUES ($1, 1) ON CONFLICT (tenant) DO UPDATE SET n = c.n + 1`, at.Tenant)
	b.Queue(bareFields+`VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		at.Tenant, at.Ref, e.ID, e.CreatedAt.UnixMilli(), bareExpiry(&e), e.RunID, e.Content, e.Tags)
	must(s.pool.SendBatch(ctx, b).Close())
}

// logEnd is where the server's log ends, in bytes. A checkpoint comes before what is measured,
// since the first change of each page behind one logs the whole page.
func (s *bareStore) logEnd(ctx context.Context) (at int64) {
	must(s.pool.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`).Scan(&at))
	return at
}

func (s *bareStore) checkpoint(ctx context.Context) {
	_, err := s.pool.Exec(ctx, `CHECKPOINT`)
	must(err)
}

// putMany puts entries in one transaction. Tags go as text, since lists of several
// lengths are no array of PostgreSQL.
func (s *bareStore) putMany(ctx context.Context, from, n int) {
	ids, runs, contents, tags := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	created, expires := make([]int64, n), make([]int64, n)
	for i := range n {
		e := storeEntry(from + i)
		ids[i], runs[i], contents[i], created[i], expires[i] = e.ID, e.RunID, e.Content, e.CreatedAt.UnixMilli(), bareExpiry(&e)
		tags[i] = `{"` + strings.Join(e.Tags, `","`) + `"}`
	}
	_, err := s.pool.Exec(ctx, bareFields+`SELECT $1, $2, p.id, p.created_at, p.expires_at, p.run_id, p.content, p.tags::text[]
		FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[]) AS p (id, created_at, expires_at, run_id, content, tags)`,
		storeScope.Tenant, storeScope.Ref, ids, created, expires, runs, contents, tags)
	must(err)
}

func (s *bareStore) get(ctx context.Context, id string, at time.Time) memory.Entry {
	row := s.pool.QueryRow(ctx, bareSelect+` AND id = $4`, storeScope.Tenant, storeScope.Ref, at.UnixMilli(), id)
	e, err := scanBare(row)
	must(err)
	return e
}

// getOf is get for any tenant, with no condition that could lead a plan astray.
func (s *bareStore) getOf(ctx context.Context, at memory.Scope, id string) memory.Entry {
	const by = `SELECT id, content, run_id, tags, created_at, expires_at FROM bare.entries WHERE tenant = $1 AND ref = $2 AND id = $3`
	e, err := scanBare(s.pool.QueryRow(ctx, by, at.Tenant, at.Ref, id))
	must(err)
	return e
}

func (s *bareStore) list(ctx context.Context, limit int, at time.Time) []memory.Entry {
	rows, err := s.pool.Query(ctx, bareSelect+` ORDER BY created_at DESC, id DESC LIMIT $4`, storeScope.Tenant, storeScope.Ref, at.UnixMilli(), limit)
	must(err)
	entries := make([]memory.Entry, 0, limit)
	for rows.Next() {
		e, err := scanBare(rows)
		must(err)
		entries = append(entries, e)
	}
	must(rows.Err())
	return entries
}

func scanBare(row pgx.Row) (memory.Entry, error) {
	var id, content, run string
	var tags []string
	var created, expires int64
	err := row.Scan(&id, &content, &run, &tags, &created, &expires)
	return entryOf(id, content, run, tags, created, expires), err
}
