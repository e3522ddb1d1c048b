package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// migrations are numbered from 1, without gaps. One that was released is never
// changed.
//
//go:embed migrations
var migrations embed.FS

// newest is the schema that this release works with.
var newest = func() int {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		panic(err) // it is embedded
	}
	return len(files)
}()

// migrationLock is the key of the advisory lock under which schemas change.
const migrationLock = 0x61676d656d6f7279

// prepare brings the schema up to date and reports whether row security is on. Where
// there is nothing to do it needs no right to create anything.
func prepare(ctx context.Context, pool *pgxpool.Pool, secure bool) (secured bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	have, secured, err := schemaOf(ctx, pool)
	if err == nil && (have < newest || secure && !secured) {
		err = repeat(ctx, idempotent, func() error {
			return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
				secured, err = migrate(ctx, tx, secure)
				return err
			})
		})
	}
	if err == nil && have > newest {
		err = ErrNewerSchema
	}
	if errors.Is(err, ErrNewerSchema) {
		return false, ErrNewerSchema
	}
	return secured, failed(ctx, err)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// schemaOf reads the number of the schema, 0 if there is none. It asks the catalogue
// itself: to_regclass may answer from before the lock was waited for, out of the cache
// of a connection that has asked already.
func schemaOf(ctx context.Context, q querier) (have int, secured bool, err error) {
	var encoding string
	var there bool
	const look = `
		SELECT current_setting('server_encoding'), EXISTS (
			SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'agentmemory' AND c.relname = 'meta')`
	if err := q.QueryRow(ctx, look).Scan(&encoding, &there); err != nil {
		return 0, false, err
	}
	if encoding != "UTF8" {
		return 0, false, &failure{"postgres: the database is not encoded in UTF-8", nil}
	}
	if !there {
		return 0, false, nil
	}
	err = q.QueryRow(ctx, `SELECT schema, row_security FROM agentmemory.meta`).Scan(&have, &secured)
	return have, secured, err
}

// migrate does what no other process has done before it had the lock.
func migrate(ctx context.Context, tx pgx.Tx, secure bool) (secured bool, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return false, err
	}
	have, secured, err := schemaOf(ctx, tx)
	switch {
	case err != nil:
		return false, err
	case have > newest:
		return false, ErrNewerSchema
	case have == 0:
		const create = `
			CREATE SCHEMA IF NOT EXISTS agentmemory;
			CREATE TABLE agentmemory.meta (
				one_row      boolean PRIMARY KEY DEFAULT true CHECK (one_row),
				schema       integer NOT NULL,
				incarnation  text NOT NULL,
				row_security boolean NOT NULL DEFAULT false
			)`
		if _, err := tx.Exec(ctx, create); err != nil {
			return false, err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO agentmemory.meta (schema, incarnation) VALUES (0, $1)`, rand.Text()); err != nil {
			return false, err
		}
	}
	for n := have + 1; n <= newest; n++ {
		sql, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", n))
		if err != nil {
			return false, err
		}
		if _, err := tx.Exec(ctx, string(sql)); err != nil {
			return false, err
		}
	}
	if secure && !secured {
		if err := secureRows(ctx, tx); err != nil {
			return false, err
		}
	}
	secured = secured || secure
	_, err = tx.Exec(ctx, `UPDATE agentmemory.meta SET schema = $1, row_security = $2`, newest, secured)
	return secured, err
}
