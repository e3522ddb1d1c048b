package postgres

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
)

// Options of [Open]. The zero value is what most hosts want.
type Options struct {
	// StatementTimeout ends a statement that takes longer, and a transaction whose
	// process has stopped for as long; zero leaves what the server is set to. It
	// counts in milliseconds.
	StatementTimeout time.Duration
	// RowSecurity lets the database itself keep tenants apart, see the package
	// comment. It stays on for every process that opens the database from then on.
	RowSecurity bool
}

// DB is a database of this package's tables. Create one with [Open]. All methods are
// safe for concurrent use, also by several processes.
type DB struct {
	pool        *pgxpool.Pool
	timeout     time.Duration
	rowSecurity bool
	incarnation string // names this database: see [driver.FirstMark]
	owner       []byte // names this DB in the claims of the outbox
}

// Open prepares the database that the pool is connected to, and brings its schema up
// to date. Several processes may do that at once. The pool stays the caller's: Open
// sets nothing on it, and [DB.Close] does not close it.
//
// It returns [ErrNewerSchema] for a database of a newer release.
func Open(ctx context.Context, pool *pgxpool.Pool, opts Options) (*DB, error) {
	db := &DB{pool: pool, timeout: opts.StatementTimeout, owner: []byte(rand.Text())}
	have, err := prepare(ctx, pool, opts.RowSecurity)
	if err != nil {
		return nil, err
	}
	db.rowSecurity, db.incarnation = have.secured, have.incarnation
	return db, nil
}

// Close gives up what this DB has claimed in the outbox. Another process would get it
// some seconds later anyway.
func (db *DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return db.release(ctx)
}

// Memory is the store.
func (db *DB) Memory() *Store { return &Store{db} }

// Store keeps entries, documents and events. It is what [DB.Memory] returns.
type Store struct{ db *DB }

var (
	_ driver.Versioned = (*Store)(nil)
	_ driver.Searcher  = (*Store)(nil)
	_ driver.Scanner   = (*Store)(nil)
	_ driver.Scheduler = (*Store)(nil)
	_ driver.Tenants   = (*Store)(nil)
	_ driver.Changes   = (*Store)(nil)
	_ driver.Describer = (*Store)(nil)
)

// Traits says that the store is durable.
func (*Store) Traits() driver.Traits { return driver.Traits{Durable: true} }
