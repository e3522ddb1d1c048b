package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the scripts that make the schema, in their order. A database knows how many
// of them it has had. One that was released is never changed.
var migrations = func() (scripts []string) {
	names, _ := fs.Glob(migrationFiles, "migrations/*.sql")
	for _, name := range names {
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		scripts = append(scripts, string(script))
	}
	return scripts
}()

// migrationLock is the key of the advisory lock under which schemas change.
const migrationLock = 0x61676d656d6f7279

// schema is what the table meta says of a database.
type schema struct {
	number      int // of the last migration; 0 if there are no tables
	incarnation string
	secured     bool // row security is on
	distributed bool // over the nodes of a cluster
	coordinator bool // the server is the coordinator of one; tables say nothing of it
}

// current reports whether there is nothing to do.
func (s *schema) current(secure bool) bool {
	return s.number >= len(migrations) && (s.secured || !secure) && (s.distributed || !s.coordinator)
}

// prepare brings the schema up to date. Where there is nothing to do it needs no right to
// create anything.
func prepare(ctx context.Context, pool *pgxpool.Pool, secure bool) (have schema, err error) {
	if err := ctx.Err(); err != nil {
		return have, err
	}
	have, err = schemaOf(ctx, pool)
	if err == nil && !have.current(secure) {
		err = repeat(ctx, idempotent, func() error {
			return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
				have, err = migrate(ctx, tx, secure)
				return err
			})
		})
	}
	if err == nil && have.number > len(migrations) {
		err = ErrNewerSchema
	}
	if errors.Is(err, ErrNewerSchema) {
		return have, ErrNewerSchema
	}
	return have, failed(ctx, err)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// schemaOf reads what a database has. It asks the catalogue itself: to_regclass may
// answer from before the lock was waited for, out of the cache of a connection that has
// asked already.
func schemaOf(ctx context.Context, q querier) (have schema, err error) {
	var encoding string
	var there bool
	const look = `
		SELECT current_setting('server_encoding'), EXISTS (
			SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'agentmemory' AND c.relname = 'meta')`
	if err := q.QueryRow(ctx, look).Scan(&encoding, &there); err != nil {
		return have, err
	}
	if encoding != "UTF8" {
		return have, driver.ErrInternal.With("the database is not encoded in UTF-8", nil)
	}
	if there {
		err = q.QueryRow(ctx, `SELECT schema, incarnation, row_security, distributed FROM agentmemory.meta`).
			Scan(&have.number, &have.incarnation, &have.secured, &have.distributed)
	}
	if err == nil {
		have.coordinator, err = coordinator(ctx, q)
	}
	return have, err
}

// showRows lets scripts see rows that row security hides from the owner of the tables too, until
// secureRows has been called.
const showRows = `
	DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'agentmemory' AND c.relforcerowsecurity
		LOOP
			EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', t);
		END LOOP;
	END $$`

// migrate does what no other process has done before it had the lock.
func migrate(ctx context.Context, tx pgx.Tx, secure bool) (have schema, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return have, err
	}
	have, err = schemaOf(ctx, tx)
	if have.number > 0 && err == nil {
		// Those who write have read it, and hold it to their end; see checkSchema.
		_, err = tx.Exec(ctx, `LOCK TABLE agentmemory.meta IN ACCESS EXCLUSIVE MODE`)
	}
	switch {
	case err != nil:
		return have, err
	case have.number > len(migrations):
		return have, ErrNewerSchema
	}
	if have.secured && have.number < len(migrations) {
		if _, err := tx.Exec(ctx, showRows); err != nil {
			return have, err
		}
	}
	for _, script := range migrations[have.number:] {
		if _, err := tx.Exec(ctx, script); err != nil {
			return have, err
		}
		have.number++
	}
	if have.incarnation == "" {
		have.incarnation = rand.Text()
		if _, err := tx.Exec(ctx, `INSERT INTO agentmemory.meta (schema, incarnation) VALUES (0, $1)`, have.incarnation); err != nil {
			return have, err
		}
	}
	if have.coordinator && !have.distributed {
		if err := distribute(ctx, tx); err != nil {
			return have, err
		}
		have.distributed = true
	}
	if have.secured = have.secured || secure; have.secured {
		if err := secureRows(ctx, tx, have.distributed); err != nil {
			return have, err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE agentmemory.meta SET schema = $1, row_security = $2, distributed = $3`, have.number, have.secured, have.distributed)
	return have, err
}
