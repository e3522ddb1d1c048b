package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/groupcommit"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// Options of [Open]. The zero value is what most hosts want.
type Options struct {
	// MaxConns bounds the connections to the server; 0 is 16. A call holds one for its own time, never
	// while the body of a loop runs.
	MaxConns int
}

// DB is a database of this package's tables. Create one with [Open]. All methods are safe for
// concurrent use, also by several processes.
type DB struct {
	pool        *sql.DB
	incarnation string // names this database: see [driver.FirstMark]
	risks       []string
	dialect     sqlstore.Dialect
	owner       []byte // names this DB in the claims of runs
	calls       groupcommit.Queue[line, *sqlstore.Call]
}

// Open connects to the database that a data source name of go-sql-driver/mysql names, such as
// "agents:secret@tcp(db:3306)/agents?tls=true", and brings the schema up to date. Several processes
// may do that at once. The settings of its connections that the store rests on are its own; time
// limits, TLS and what else the name has stay as they are.
//
// It returns [ErrNewerSchema] for a database of a newer release, and [driver.ErrValidation] for a name
// without a database, and for a server that cannot hold what a store has to: see README.md.
func Open(ctx context.Context, dsn string, opts Options) (*DB, error) {
	refuse := func(why string) error { return driver.ErrValidation.With(why, nil) }
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg, err := mysql.ParseDSN(dsn)
	switch {
	case err != nil: // which may have the password in its text
		return nil, refuse("the data source name is malformed: write it as in user:password@tcp(host:3306)/database")
	case cfg.DBName == "":
		return nil, refuse("the data source name has no database: end it in /database")
	case opts.MaxConns < 0:
		return nil, refuse("Options.MaxConns is below zero: 0 is 16")
	case opts.MaxConns == 0:
		opts.MaxConns = 16
	}
	connector, err := mysql.NewConnector(settled(cfg))
	if err != nil {
		return nil, refuse("the data source name has a setting that the driver refuses")
	}
	db := &DB{pool: sql.OpenDB(readCommitted{connector}), owner: []byte(rand.Text())}
	db.pool.SetMaxOpenConns(opts.MaxConns)
	db.pool.SetMaxIdleConns(opts.MaxConns)
	db.pool.SetConnMaxIdleTime(time.Minute)
	db.calls.Commit, db.calls.Unknown = db.commitGroup, ErrOutcomeUnknown
	err = db.repeat(ctx, idempotent, func(conn *sql.Conn) error {
		if err := db.suits(ctx, conn); err != nil {
			return err
		}
		have, err := prepare(ctx, conn)
		db.incarnation = have.incarnation
		return err
	})
	if err != nil {
		db.pool.Close()
		return nil, err
	}
	db.dialect = dialectOf(db)
	return db, nil
}

// settled sets what this package rests on: statements go to the server several at a time, with their
// parameters written into them; a text that does not fit is an error; and a lock is waited for four
// seconds, less than a call whose context has ended, then asked for again. The character set is UTF-8,
// also if the name has another: in some a byte of a parameter could end its literal.
func settled(cfg *mysql.Config) *mysql.Config {
	cfg.MultiStatements, cfg.InterpolateParams, cfg.ParseTime = true, true, false
	params := map[string]string{"innodb_lock_wait_timeout": "4"}
	maps.Copy(params, cfg.Params)
	maps.DeleteFunc(params, func(name, _ string) bool { return strings.HasPrefix(strings.ToLower(name), "character_set") })
	_ = cfg.Apply(mysql.Charset("utf8mb4", "")) // sets a field
	params["autocommit"], params["foreign_key_checks"] = "1", "1"
	params["sql_mode"] = "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
	cfg.Params, cfg.Logger = params, new(mysql.NopLogger) // what it would say is in the errors
	return cfg
}

// readCommitted makes connections whose transactions see what was committed before each statement: what
// the conditions of a mutation rest on is read behind the locks that it has waited for, and no gap between
// rows is locked, which would have tenants wait for each other.
type readCommitted struct{ sqldriver.Connector }

func (c readCommitted) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	const set = `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`
	if _, err := conn.(sqldriver.ExecerContext).ExecContext(ctx, set, nil); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// suits reports whether the server can hold what a store has to, and notes what its settings put at
// risk.
func (db *DB) suits(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, `SHOW GLOBAL VARIABLES WHERE Variable_name IN
		('max_allowed_packet', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format')`)
	if err != nil {
		return err
	}
	defer rows.Close()
	set := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		set[name] = value
	}
	packet, _ := strconv.Atoi(set["max_allowed_packet"])
	logged := set["log_bin"] == "ON"
	switch {
	case rows.Err() != nil:
		return rows.Err()
	case packet < driver.MaxDocumentBytes:
		return driver.ErrValidation.With(fmt.Sprintf("max_allowed_packet of the server is %d: set it to %d or more, which documents need",
			packet, driver.MaxDocumentBytes), nil)
	case logged && set["binlog_format"] == "STATEMENT":
		return driver.ErrValidation.With("binlog_format of the server is STATEMENT, which cannot hold transactions that are READ COMMITTED: set it to ROW or MIXED", nil)
	}
	db.risks = nil
	if flush := set["innodb_flush_log_at_trx_commit"]; flush != "1" {
		db.risks = append(db.risks, "innodb_flush_log_at_trx_commit is "+flush+": what was acknowledged in the last second may be lost with the power, or with the server; set it to 1")
	}
	if sync := set["sync_binlog"]; logged && sync != "1" {
		db.risks = append(db.risks, "sync_binlog is "+sync+": what was acknowledged may be missing in the binary log after a loss of power; set it to 1")
	}
	return nil
}

// Risks says what the server's settings, as they were at [Open], put at risk of what was acknowledged: a
// line each, for the host's log. It is empty for a server that syncs its disk at each commit. The store
// is durable in the kit's sense, that it outlives its process, either way.
func (db *DB) Risks() []string { return db.risks }

// Close gives up what this DB has claimed of the events that wait, and closes its connections. Another
// process would get it some seconds later anyway.
func (db *DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := db.release(ctx)
	if closed := db.pool.Close(); err == nil {
		err = failed(ctx, closed)
	}
	return err
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
		Names:   func(list []string) any { return inJSON(list) },
		Damaged: damaged,
		Version: getVersion, Available: isAvailable, Intact: isIntact, Changes: getJournals, Lookup: lookup, List: listOf, NextScope: nextScope,
		History: sqlstore.History{OfTenant: historyOfTenant, OfRef: historyOfRef, OfSuccessors: historyOfSuccessors, OfSubject: historyOfSubject},
		Entries: func() func(sqlstore.Row) (driver.Entry, error) {
			return func(row sqlstore.Row) (e driver.Entry, err error) { return e, scanEntry(row, &e) }
		},
		Records: func(tenant string) func(sqlstore.Row) (driver.Record, error) {
			return func(row sqlstore.Row) (driver.Record, error) { return scanRecord(row, tenant) }
		},
		Documents: sqlstore.Documents{
			Page: documentPage, Parameter: `$`, Due: dueDocuments, Value: func(stored []byte) ([]byte, bool) { return stored, true },
			KindInGroup: `d.kind`, Behind: behind,
			Of: `agentmemory_documents d`, OfTenant: `d.tenant = $1`,
			OfLabel: labelled, OfTenantAndLabel: `s.tenant = $1 AND s.subject = $2`,
		},
		Events: sqlstore.Events{Waiting: waitingEvents, WaitingOfRun: waitingOfRun, Count: countAll, CountOfTenant: countWaiting, Kept: keptEvents,
			Claim: db.claimRuns},
	}
}
