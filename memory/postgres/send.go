package postgres

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// everyTenant is the setting for the few statements that are about all tenants.
const everyTenant = "*"

// tenantSetting is what row security knows a tenant by.
func tenantSetting(tenant string) string { return "x" + hex.EncodeToString([]byte(tenant)) }

// begin and commit stand around the statements of a transaction.
const (
	begin  = `BEGIN ISOLATION LEVEL READ COMMITTED`
	commit = `COMMIT`
)

// send gives the statements of build to the server in one round trip. They are one
// transaction: a server makes one of what comes at once, but a cluster has to be told. To
// tell every server would cost a put a tenth of its time beside the disk's.
func (db *DB) send(ctx context.Context, conn *pgx.Conn, setting string, build func(*pgx.Batch)) error {
	b := new(pgx.Batch)
	b.Queue(begin)
	db.prelude(b, setting)
	build(b)
	if !db.distributed || b.Len() == 2 {
		b.QueuedQueries = b.QueuedQueries[1:]
	} else {
		b.Queue(commit)
	}
	return sendBatch(ctx, conn, b)
}

// sendBatch leaves no transaction that has failed.
func sendBatch(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
	err := conn.SendBatch(ctx, b).Close()
	if err != nil && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
		rollback(ctx, conn)
	}
	return err
}

// rollback ends a transaction that is not to be committed. A connection on which that does not
// succeed in time is not used again, which ends it as well.
func rollback(ctx context.Context, conn *pgx.Conn) {
	brief, end := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer end()
	if _, err := conn.Exec(brief, `ROLLBACK`); err != nil {
		_ = conn.Close(brief)
	}
}

// prelude queues the settings of a transaction, if there are any.
func (db *DB) prelude(b *pgx.Batch, setting string) {
	db.setTenant(b, setting)
	if db.distributed && setting == everyTenant {
		// A cluster opens more connections to a node for a statement of many shards that takes
		// some milliseconds, which costs more than such a statement.
		b.Queue(`SET LOCAL citus.max_adaptive_executor_pool_size TO 1`)
	}
	if db.timeout > 0 {
		b.Queue(`SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true)`,
			strconv.FormatInt(max(1, db.timeout.Milliseconds()), 10))
	}
}

// setTenant queues the setting of a tenant, which is in force until the transaction ends.
func (db *DB) setTenant(b *pgx.Batch, setting string) {
	switch {
	case db.rowSecurity && db.distributed:
		b.Queue(`SELECT agentmemory.enter($1)`, setting)
	case db.rowSecurity:
		b.Queue(`SELECT set_config('agentmemory.tenant', $1, true)`, setting)
	}
}

// checkSchema queues what fails if a newer release has migrated the database, or if it has been
// distributed since this DB was opened. It comes first in every transaction that writes, and
// keeps a migration waiting until that has ended. From then on what is looked up is not read
// through: a table that was small when it was analysed would be, for each row of a list.
func (db *DB) checkSchema(b *pgx.Batch) {
	b.Queue(`SELECT 1 / (schema <= $1 AND distributed = $2)::int, set_config('enable_seqscan', 'off', true) FROM agentmemory.meta`, len(migrations), db.distributed)
}

// repeat calls f, and again if its error allows that.
func repeat(ctx context.Context, allows func(error) bool, f func() error) error {
	return failed(ctx, sqlstore.Repeat(ctx, allows, f))
}

// idempotent allows a repetition after every failure that may pass.
func idempotent(err error) bool { return aborted(err) || lost(err) }

// unsent allows it only where nothing can have happened. It does not ask the driver, which
// in some modes calls safe what is not.
func unsent(err error) bool { return aborted(err) || errors.As(err, new(sqlstore.Early)) }

// withPoolConn runs f with a connection of the pool.
func (db *DB) withPoolConn(ctx context.Context, f func(conn *pgxpool.Conn) error) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return sqlstore.EarlyIf(idempotent, err)
	}
	defer conn.Release()
	return f(conn)
}

// read runs statements that change nothing, as one transaction.
func (db *DB) read(ctx context.Context, setting string, build func(*pgx.Batch)) error {
	return db.withConn(ctx, func(ctx context.Context, conn *pgx.Conn) error { return db.send(ctx, conn, setting, build) })
}

// query is read for one statement, whose rows collect reads.
func (db *DB) query(ctx context.Context, setting string, collect func(pgx.Rows) error, sql string, args ...any) error {
	return db.read(ctx, setting, func(b *pgx.Batch) { b.Queue(sql, args...).Query(collect) })
}

func (db *DB) withConn(ctx context.Context, f func(ctx context.Context, conn *pgx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return repeat(ctx, idempotent, func() error {
		return db.withPoolConn(ctx, func(conn *pgxpool.Conn) error { return f(db.withoutCancelIfPooled(ctx), conn.Conn()) })
	})
}

// withoutCancelIfPooled returns a context for what pgx sends: one that never ends if its end
// would make pgx send a request to cancel through a pooler.
func (db *DB) withoutCancelIfPooled(ctx context.Context) context.Context {
	if db.pooler {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// outcomeUnknown reports whether an error of the statements that were to commit leaves open
// whether they did: the server did not say that it has undone them. One that ends the
// connection says nothing about what it has committed just before, and a coordinator that
// could not commit on a node does not know what the node has done.
func (db *DB) outcomeUnknown(err error) bool {
	if err == nil || errors.As(err, new(sqlstore.Early)) {
		return false
	}
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true
	}
	ends := said.SeverityUnlocalized == "FATAL" || said.SeverityUnlocalized == "PANIC"
	before := said.Code == idleInTransaction || said.Code == tooManyClients // they come before the commit
	return lost(err) || ends && !before || db.distributed && said.Code == internalError
}

// write runs statements that change something and can be repeated, as one transaction.
func (db *DB) write(ctx context.Context, setting string, build func(*pgx.Batch)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return repeat(ctx, idempotent, func() error { return db.writeOnce(ctx, setting, build) })
}

// writeOnce is write without a repetition. Its outcome is known unless the connection is lost.
func (db *DB) writeOnce(ctx context.Context, setting string, build func(*pgx.Batch)) error {
	return db.withPoolConn(ctx, func(conn *pgxpool.Conn) error { return db.sendWrite(ctx, conn, setting, build) })
}

func (db *DB) sendWrite(ctx context.Context, conn *pgxpool.Conn, setting string, build func(*pgx.Batch)) error {
	return db.awaitOutcome(ctx, conn, func(ctx context.Context, conn *pgx.Conn) error {
		return db.send(ctx, conn, setting, func(b *pgx.Batch) {
			db.checkSchema(b)
			build(b)
		})
	})
}

// exchange runs a transaction that changes something of a tenant, in two round trips: what load
// queues, and what decide queues then, if anything, and does not refuse.
func (db *DB) exchange(ctx context.Context, conn *pgxpool.Conn, tenant string, load func(*pgx.Batch), decide func(*pgx.Batch) error) error {
	b := new(pgx.Batch)
	b.Queue(begin)
	db.checkSchema(b)
	db.prelude(b, tenantSetting(tenant))
	load(b)
	if err := sendBatch(db.withoutCancelIfPooled(ctx), conn.Conn(), b); err != nil {
		return sqlstore.EarlyIf(idempotent, err)
	}
	b = new(pgx.Batch)
	if err := decide(b); err != nil || b.Len() == 0 {
		rollback(ctx, conn.Conn())
		return err
	}
	b.Queue(commit)
	return db.awaitOutcome(ctx, conn, func(ctx context.Context, conn *pgx.Conn) error { return sendBatch(ctx, conn, b) })
}

// patience is how long a change whose context has ended is waited for.
var patience = sqlstore.Patience

// awaitOutcome runs f, which changes something and commits, so that its outcome is known, or is
// [ErrOutcomeUnknown], if the server answers at all: when ctx ends the server is asked to give up, and then says whether
// it did. If it says that all is well it may have stopped waiting for a standby.
func (db *DB) awaitOutcome(ctx context.Context, conn *pgxpool.Conn, f func(ctx context.Context, conn *pgx.Conn) error) error {
	err := db.await(ctx, conn, f)
	if db.outcomeUnknown(err) {
		return ErrOutcomeUnknown.With("", err)
	}
	return err
}

func (db *DB) await(ctx context.Context, conn *pgxpool.Conn, f func(ctx context.Context, conn *pgx.Conn) error) error {
	if ctx.Done() == nil {
		return f(ctx, conn.Conn())
	}
	steady, raw, end := context.WithoutCancel(ctx), conn.Conn(), func() {}
	if !db.pooler { // through one, ending it would send a request to cancel
		steady, end = context.WithCancel(steady)
		defer end()
	}
	answer := make(chan error, 1)
	go func() { answer <- f(steady, raw) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	if !db.pooler {
		time.AfterFunc(patience, end)
		_ = raw.PgConn().CancelRequest(steady)
		err := <-answer
		end()
		// The request may still be on its way. It must not meet a later statement.
		_ = raw.Close(steady)
		return cmp.Or(err, ErrOutcomeUnknown.With("", ctx.Err()))
	}
	select { // the server gives up by its own timeout
	case err := <-answer:
		return err
	case <-time.After(db.timeout + patience): // what is not answered is left to itself, with its connection
		conn.Hijack()
		go func() {
			<-answer
			_ = raw.Close(steady)
		}()
		return ErrOutcomeUnknown.With("", ctx.Err())
	}
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

// queueRead queues a statement whose rows q reads until it wants no more.
func queueRead(b *pgx.Batch, q sqlstore.Query) {
	more := true
	b.Queue(q.Text, q.Args...).Query(eachRow(func(row pgx.Row) (err error) {
		if more {
			more, err = q.Row(row)
		}
		return err
	}))
}

// answer is read for the queries of a tenant or, if it is empty, of all.
func (db *DB) answer(ctx context.Context, tenant string, queries func() []sqlstore.Query) error {
	setting := everyTenant
	if tenant != "" {
		setting = tenantSetting(tenant)
	}
	return db.read(ctx, setting, func(b *pgx.Batch) {
		for _, q := range queries() {
			queueRead(b, q)
		}
	})
}
