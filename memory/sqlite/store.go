package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

var (
	_ memory.Versioned = (*Store)(nil)
	_ memory.Searcher  = (*Store)(nil)
	_ memory.Scanner   = (*Store)(nil)
	_ memory.Describer = (*Store)(nil)
)

// Store is the memory in a database: a [memory.Adapter] that offers everything a
// store can offer. It has no state of its own.
type Store struct{ db *DB }

// Memory returns the memory in the database.
func (db *DB) Memory() *Store { return &Store{db} }

// Traits says that the store is durable and writable, and searches by text.
func (st *Store) Traits() memory.Traits { return memory.Traits{Durable: true} }

// mark is what all versions of a tenant begin with.
func (db *DB) mark(tenant string) storerules.Mark {
	return storerules.MarkOf(*db.incarnation.Load(), tenant)
}

// Version returns the version that the tenant's memory has now (M7). It reads one
// row.
func (st *Store) Version(ctx context.Context, tenant string) (memory.Version, error) {
	now, _, err := st.bounds(ctx, tenant)
	if err != nil {
		return "", err
	}
	return st.db.mark(tenant).Version(uint64(now)), nil
}

// bounds returns the version that the tenant has now and its horizon: zero for one
// that was never written.
func (st *Store) bounds(ctx context.Context, tenant string) (now, horizon int64, err error) {
	err = st.db.get(ctx, []any{&now, &horizon}, `SELECT version, horizon FROM tenants WHERE tenant = ?`, tenant)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return now, horizon, err
}

// number reads a version of the tenant. Whether it is available is another question.
func (db *DB) number(tenant string, v memory.Version) (int64, error) {
	n, err := db.mark(tenant).Number(v)
	if err != nil || n >= never {
		return 0, memory.ErrSnapshotUnavailable
	}
	return int64(n), nil
}

// available returns [memory.ErrSnapshotUnavailable] unless the version exists and can
// be read still. A reader asks after it has read: the horizon only ascends, so that
// what it read was whole.
func (st *Store) available(ctx context.Context, tenant string, v int64) error {
	now, horizon, err := st.bounds(ctx, tenant)
	if err == nil && (v > now || v < horizon) {
		err = memory.ErrSnapshotUnavailable
	}
	return err
}
