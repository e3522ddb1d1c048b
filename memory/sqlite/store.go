package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

var (
	_ driver.Versioned = (*Store)(nil)
	_ driver.Searcher  = (*Store)(nil)
	_ driver.Scanner   = (*Store)(nil)
	_ driver.Scheduler = (*Store)(nil)
	_ driver.Tenants   = (*Store)(nil)
	_ driver.Changes   = (*Store)(nil)
	_ driver.Describer = (*Store)(nil)
	_ events.RunLog    = (*Store)(nil)
)

// Store is the memory in a database: a [driver.Adapter] that offers everything a
// store can offer. It has no state of its own.
type Store struct{ db *DB }

// Memory returns the memory in the database.
func (db *DB) Memory() *Store { return &Store{db} }

// Traits says that the store is durable and writable, and searches by text.
func (st *Store) Traits() driver.Traits { return driver.Traits{Durable: true} }

// point is a version of a tenant. A version of no tenant is one too: whether a point is
// available is another question.
type point struct {
	tenant string
	n      int64
	mark   driver.Mark
}

// pointOf reads a version, unless the context is done.
func pointOf(ctx context.Context, tenant string, v driver.Version) (point, error) {
	if err := ctx.Err(); err != nil {
		return point{}, err
	}
	n, mark, err := v.Parse()
	return point{tenant, int64(n), mark}, err
}

// Version returns the version that the tenant's memory has now (M7). It reads two rows.
func (st *Store) Version(ctx context.Context, tenant string) (driver.Version, error) {
	p, err := st.now(ctx, tenant)
	if err != nil {
		return "", err
	}
	return p.mark.Version(uint64(p.n)), nil
}

func (st *Store) now(ctx context.Context, tenant string) (point, error) {
	p := point{tenant: tenant, mark: driver.FirstMark(st.db.incarnation, tenant)}
	var mark sql.RawBytes
	err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		err := rows.Scan(&p.n, &mark)
		if copy(p.mark[:], mark) != len(mark) && err == nil {
			return false, &failure{damaged, nil}
		}
		return false, wrap(readFailed, err)
	}, `SELECT v.version, v.mark FROM tenants t CROSS JOIN versions v ON v.tenant = t.tenant AND v.version = t.version
		WHERE t.tenant = ?`, tenant)
	return p, err
}

// available returns [driver.ErrSnapshotUnavailable] unless the point exists and can be
// read still. A reader asks after it has read: what can be read was whole before.
func (db *DB) available(query queryFunc, p point) error {
	var held bool
	var err error
	if p.n == 0 {
		var horizon int64
		err = first(query, []any{&horizon}, `SELECT horizon FROM tenants WHERE tenant = ?`, p.tenant)
		held = p.mark == driver.FirstMark(db.incarnation, p.tenant) && horizon == 0
	} else {
		err = first(query, []any{&held}, `SELECT mark = ? FROM versions WHERE tenant = ? AND version = ?`, p.mark[:], p.tenant, p.n)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err == nil && !held {
		err = driver.ErrSnapshotUnavailable
	}
	return err
}
