package postgres

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/groupcommit"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
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
	// Pooler is for a pool that connects through a proxy which lends a connection of the
	// server for one transaction at a time, as PgBouncer does with pool_mode=transaction,
	// or which issues process ids of its own. No request to cancel is sent through it: a
	// call whose context has ended goes on until the server answers, for which it has the
	// StatementTimeout, which is required. A change is waited for five seconds longer; if
	// the server is silent still, as when it waits for a synchronous standby, the error is
	// [ErrOutcomeUnknown], and the connection stays with the statement.
	Pooler bool
}

// DB is a database of this package's tables. Create one with [Open]. All methods are
// safe for concurrent use, also by several processes.
type DB struct {
	pool        *pgxpool.Pool
	timeout     time.Duration
	rowSecurity bool
	pooler      bool
	distributed bool   // over the nodes of a cluster
	incarnation string // names this database: see [driver.FirstMark]
	dialect     sqlstore.Dialect
	owner       []byte                              // names this DB in the claims of runs
	counters    *groupcommit.Queue[string, *writes] // mutations that wait for the counter of their tenant
}

// Open prepares the database that the pool is connected to, and brings its schema up
// to date. Several processes may do that at once. On the coordinator of a Citus cluster it
// spreads them over the nodes. The pool stays the caller's: Open
// sets nothing on it, and [DB.Close] does not close it.
//
// It returns [ErrNewerSchema] for a database of a newer release, and
// [driver.ErrValidation] for a pool that is nil or would not work: see [Options].Pooler. A worker of a
// cluster is such a pool's server.
func Open(ctx context.Context, pool *pgxpool.Pool, opts Options) (*DB, error) {
	refuse := func(why string) error { return driver.ErrValidation.With(why, nil) }
	switch {
	case pool == nil:
		return nil, refuse("the pool is nil: make one by pgxpool.New")
	case opts.StatementTimeout < 0:
		return nil, refuse("Options.StatementTimeout is below zero: 0 leaves what the server is set to")
	}
	db := &DB{pool: pool, timeout: opts.StatementTimeout, pooler: opts.Pooler, owner: []byte(rand.Text())}
	if err := db.suits(ctx); err != nil {
		return nil, err
	}
	db.counters = &groupcommit.Queue[string, *writes]{Commit: db.commitGroup, Unknown: ErrOutcomeUnknown}
	have, err := prepare(ctx, pool, opts.RowSecurity)
	if err != nil {
		return nil, err
	}
	db.rowSecurity, db.distributed, db.incarnation = have.secured, have.distributed, have.incarnation
	db.dialect = dialectOf(db)
	return db, nil
}

// suits reports whether the pool and the options go together.
func (db *DB) suits(ctx context.Context) error {
	refuse := func(why string) error { return driver.ErrValidation.With(why, nil) }
	if mode := db.pool.Config().ConnConfig.DefaultQueryExecMode; db.pooler {
		switch {
		case db.timeout <= 0:
			return refuse("behind a pooler a StatementTimeout is needed, since nothing else ends a statement")
		case mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeDescribeExec:
			return refuse("behind a pooler prepared statements are lost: set default_query_exec_mode to cache_describe")
		}
		return nil
	}
	return db.withConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var pid uint32
		err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
		if err == nil && pid != conn.PgConn().PID() {
			err = refuse("there is a pooler before the server: set Options.Pooler")
		}
		return err
	})
}

// Close gives up what this DB has claimed of the events that wait. Another process would get it
// some seconds later anyway.
func (db *DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return db.release(ctx)
}

// Memory is the store.
func (db *DB) Memory() *Store { return &Store{sqlstore.New(&db.dialect), db} }

// shared has the methods that are the same over any SQL database.
type shared = sqlstore.Store

// Store keeps entries, documents and events: a [driver.Adapter] that offers everything a store can
// offer. It is what [DB.Memory] returns.
type Store struct {
	*shared
	db *DB
}

var (
	_ driver.Versioned   = (*Store)(nil)
	_ driver.Scheduler   = (*Store)(nil)
	_ driver.Tenants     = (*Store)(nil)
	_ driver.Changes     = (*Store)(nil)
	_ driver.Describer   = (*Store)(nil)
	_ driver.EventKeeper = (*Store)(nil)
)

// dialectOf returns how memory is kept in a database.
func dialectOf(db *DB) sqlstore.Dialect {
	return sqlstore.Dialect{
		Read: db.answer, Commit: db.apply, Incarnation: db.incarnation,
		Name:    func(s string) any { return []byte(s) },
		Names:   func(list []string) any { return idKeys(list) },
		Damaged: func(cause error) error { return driver.ErrInternal.With("a row cannot be read", cause) },
		Version: getVersion, Available: isAvailable, Intact: isIntact, Changes: getJournals, Lookup: lookup, List: listOf,
		History: sqlstore.History{OfTenant: historyOfTenant, OfRef: historyOfRef, OfSuccessors: historyOfSuccessors, OfSubject: historyOfSubject},
		Entries: func() func(sqlstore.Row) (driver.Entry, error) {
			return func(row sqlstore.Row) (e driver.Entry, err error) {
				err = scanEntry(row, &e)
				return e, err
			}
		},
		Records: func(tenant string) func(sqlstore.Row) (driver.Record, error) {
			return func(row sqlstore.Row) (driver.Record, error) { return scanRecord(row, tenant) }
		},
		Documents: sqlstore.Documents{
			Page: documentPage, Parameter: `$`, Due: dueDocuments, Value: func(stored []byte) ([]byte, bool) { return stored, true },
			KindInGroup: `(d.kind || '')`, // no plan is to go by it
			Of:          `agentmemory.documents d`, OfTenant: `d.tenant = $1`,
			OfLabel: labelled, OfTenantAndLabel: `s.tenant = $1 AND s.subject = $2`,
		},
		Events: sqlstore.Events{Waiting: waitingEvents, WaitingOfRun: waitingOfRun, Count: countAll, CountOfTenant: countWaiting, Kept: keptEvents,
			Claim: db.claimRuns},
	}
}
