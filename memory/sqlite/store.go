package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/openwop/agentmemory/memory/driver"
)

var (
	_ driver.Versioned   = (*Store)(nil)
	_ driver.EventKeeper = (*Store)(nil)
	_ driver.Scheduler   = (*Store)(nil)
	_ driver.Tenants     = (*Store)(nil)
	_ driver.Changes     = (*Store)(nil)
	_ driver.Describer   = (*Store)(nil)
)

// Store is the memory in a database: a [driver.Adapter] that offers everything a
// store can offer. It has no state of its own.
type Store struct{ db *DB }

// Memory returns the memory in the database.
func (db *DB) Memory() *Store { return &Store{db} }

// Traits says that the store is durable and writable.
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

// Version returns the version that the tenant's memory has now (M7). It reads a row.
func (st *Store) Version(ctx context.Context, tenant string) (driver.Version, error) {
	n, mark := uint64(0), driver.FirstMark(st.db.incarnation, tenant)
	var stored []byte
	err := first(st.db.reads(ctx), []any{&n, &stored}, `SELECT version, mark FROM versions WHERE tenant = ? ORDER BY version DESC LIMIT 1`, tenant)
	if err == nil && copy(mark[:], stored) != len(stored) {
		err = fail(damaged, nil)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	return mark.Version(n), nil
}

// available returns [driver.ErrSnapshotUnavailable] unless the point exists and can be
// read still. A reader asks after it has read: what can be read was whole before.
func (db *DB) available(query queryFunc, p point) error {
	held := p.n == 0 && p.mark == driver.FirstMark(db.incarnation, p.tenant)
	var err error
	if p.n > 0 {
		err = first(query, []any{&held}, `SELECT mark = ? FROM versions WHERE tenant = ? AND version = ?`, p.mark[:], p.tenant, p.n)
	} else if held { // unless it was purged
		err = first(query, []any{&held}, `SELECT version = 1 AND journal IS NOT NULL FROM versions WHERE tenant = ? ORDER BY version LIMIT 1`, p.tenant)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err == nil && !held {
		err = driver.ErrSnapshotUnavailable
	}
	return err
}

// isIntact looks at the spans that end behind a version.
const isIntact = `SELECT NOT EXISTS (SELECT 1 FROM erased_spans WHERE tenant = ?1 AND ref = ?2 AND until > ?3 AND since <= ?3)`

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	p, err := pointOf(ctx, s.Tenant, v)
	if err != nil {
		return false, err
	}
	var intact bool
	err = first(st.db.reads(ctx), []any{&intact}, isIntact, s.Tenant, s.Ref, p.n)
	if err == nil {
		err = st.db.available(st.db.reads(ctx), p)
	}
	return err == nil && intact, err
}

// Changes returns the ids of a scope that were touched by the mutations after the
// version from, up to and with the version to. It reads the journals of all of them.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	after, err := pointOf(ctx, s.Tenant, from)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	last, err := pointOf(ctx, s.Tenant, to)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	var changed driver.ChangeSet
	err = changed.Read(func(yield func([]byte, error) bool) {
		err := st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
			var journal sql.RawBytes
			err := rows.Scan(&journal)
			return err == nil && yield(journal, nil), wrap(readFailed, err)
		}, `SELECT journal FROM versions WHERE tenant = ? AND version > ? AND version <= ?`, s.Tenant, after.n, last.n)
		if err != nil {
			yield(nil, err)
		}
	}, s.Ref)
	for _, p := range []point{after, last} {
		if err == nil {
			err = st.db.available(st.db.reads(ctx), p)
		}
	}
	if err != nil {
		return driver.ChangeSet{}, err
	}
	return changed, nil
}
