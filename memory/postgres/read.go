package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

// entryColumns are the columns of an entry e in the order of scanEntry.
const entryColumns = `e.id, e.created_at, e.expires_at, e.run_id, e.content,
	array_send(e.tags), array_send(e.subjects), array_send(e.sources)`

// scanEntry reads a row of further columns and the entryColumns.
func scanEntry(row pgx.Row, e *memory.Entry, further ...any) error {
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

// collect reads entries into a slice, nil if there are none.
func collect(entries *[]memory.Entry, expect int) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		*entries = nil
		for rows.Next() {
			if *entries == nil {
				*entries = make([]memory.Entry, 0, expect)
			}
			*entries = append(*entries, memory.Entry{})
			if err := scanEntry(rows, &(*entries)[len(*entries)-1]); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// Get returns the entry, or [memory.ErrNotFound].
func (st *Store) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	const get = `
		SELECT ` + entryColumns + ` FROM agentmemory.entries e
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3
			AND e.died = 9223372036854775807 AND NOT e.erased AND e.expires_at > $4`
	var found []memory.Entry
	err := st.db.query(ctx, s.Tenant, collect(&found, 1), get, []byte(s.Tenant), keyOf(s.Ref), []byte(id), at.UnixMilli())
	return only(found, err)
}

// GetAt is Get over the entries that were not retired at v.
func (st *Store) GetAt(ctx context.Context, s memory.Scope, v memory.Version, id string, at time.Time) (memory.Entry, error) {
	const get = `
		SELECT ` + entryColumns + ` FROM agentmemory.entries e
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3 AND NOT e.erased AND e.expires_at > $4
			AND (e.born <= $5 AND $5 < e.died OR EXISTS (
				SELECT FROM agentmemory.former f
				WHERE f.tenant = $1 AND f.ref = $2 AND f.id = $3 AND f.born <= $5 AND $5 < f.died))`
	var found []memory.Entry
	err := st.db.readAt(ctx, s.Tenant, v, func(b *pgx.Batch, n int64) {
		b.Queue(get, []byte(s.Tenant), keyOf(s.Ref), []byte(id), at.UnixMilli(), n).Query(collect(&found, 1))
	})
	return only(found, err)
}

func only(found []memory.Entry, err error) (memory.Entry, error) {
	switch {
	case err != nil:
		return memory.Entry{}, err
	case len(found) == 0:
		return memory.Entry{}, memory.ErrNotFound
	}
	return found[0], nil
}

// List returns the live entries of s that q asks for, at the latest version.
func (st *Store) List(ctx context.Context, s memory.Scope, q memory.Query) ([]memory.Entry, error) {
	p := pageOf(s, q)
	var entries []memory.Entry
	if p.nothing {
		return nil, ctx.Err()
	}
	err := st.db.query(ctx, s.Tenant, collect(&entries, p.expect()), p.sql(), p.args...)
	return entries, err
}

// ListAt is List over the entries that were not retired at v.
func (st *Store) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	p := pageOf(s, q)
	var entries []memory.Entry
	err := st.db.readAt(ctx, s.Tenant, v, func(b *pgx.Batch, n int64) {
		p.pin(n)
		p.queue(b, &entries)
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// counters is the row of a tenant, or of one that was never written.
type counters struct {
	version, horizon int64
	mark             storerules.Mark
}

const selectCounters = `
	SELECT m.incarnation, COALESCE(t.version, 0), COALESCE(t.horizon, 0)
	FROM agentmemory.meta m LEFT JOIN agentmemory.tenants t ON t.tenant = $1`

// queueCounters queues the read of the row of a tenant.
func queueCounters(b *pgx.Batch, tenant string, c *counters) {
	b.Queue(selectCounters, []byte(tenant)).QueryRow(c.scan(tenant))
}

func (c *counters) scan(tenant string) func(pgx.Row) error {
	return func(row pgx.Row) error {
		var incarnation string
		err := row.Scan(&incarnation, &c.version, &c.horizon)
		c.mark = storerules.MarkOf(incarnation, tenant)
		return err
	}
}

// number reads a version of the tenant that can be read still.
func (c *counters) number(v memory.Version) (int64, error) {
	n, err := c.mark.Number(v)
	if err != nil || n > uint64(c.version) || n < uint64(c.horizon) {
		return 0, memory.ErrSnapshotUnavailable
	}
	return int64(n), nil
}

// readAt runs statements about a version. The tenant's row is looked at behind them:
// the horizon only grows, so what was read was whole.
func (db *DB) readAt(ctx context.Context, tenant string, v memory.Version, build func(b *pgx.Batch, n int64)) error {
	var c counters
	err := db.read(ctx, tenant, func(b *pgx.Batch) {
		build(b, claimed(v))
		queueCounters(b, tenant, &c)
	})
	if err != nil {
		return err
	}
	_, err = c.number(v)
	return err
}

// claimed is the number that a version ends with, whoever made it.
func claimed(v memory.Version) int64 {
	n := int64(0)
	for i := max(0, len(v)-18); i < len(v); i++ {
		if v[i] < '0' || v[i] > '9' {
			n = 0
			continue
		}
		n = n*10 + int64(v[i]-'0')
	}
	return n
}

// Version returns the version that the tenant's memory has now (M7).
func (st *Store) Version(ctx context.Context, tenant string) (memory.Version, error) {
	c, err := st.db.counters(ctx, tenant)
	if err != nil {
		return "", err
	}
	return c.mark.Version(uint64(c.version)), nil
}

func (db *DB) counters(ctx context.Context, tenant string) (c counters, err error) {
	err = db.read(ctx, tenant, func(b *pgx.Batch) { queueCounters(b, tenant, &c) })
	return c, err
}

// Intact reports whether nothing that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, tenant string, v memory.Version) (bool, error) {
	const look = `
		SELECT NOT EXISTS (SELECT FROM agentmemory.scars WHERE tenant = $1 AND died > $2 AND born <= $2)`
	intact := false
	err := st.db.readAt(ctx, tenant, v, func(b *pgx.Batch, n int64) {
		b.Queue(look, []byte(tenant), n).QueryRow(func(row pgx.Row) error { return row.Scan(&intact) })
	})
	return intact && err == nil, err
}

const selectCell = `SELECT value FROM agentmemory.cells WHERE tenant = $1 AND ref = $2 AND name = $3`

// Cell returns the value of a cell, nil if it has none.
func (st *Store) Cell(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
	var value []byte
	err := st.db.read(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(selectCell, []byte(s.Tenant), keyOf(s.Ref), keyOf(name)).Query(func(rows pgx.Rows) error {
			value = nil
			for rows.Next() {
				if err := rows.Scan(&value); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	})
	return value, err
}
