package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the scripts that make the schema, in their order, each a list of statements that can
// be run again. A database knows how many scripts it has had. One that was released is never changed.
var migrations = func() (scripts [][]string) {
	names, _ := fs.Glob(migrationFiles, "migrations/*.sql")
	for _, name := range names {
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		scripts = append(scripts, statementsOf(string(script)))
	}
	return scripts
}()

// statementsOf splits a script at the ends of its statements.
func statementsOf(script string) []string {
	statements := strings.Split(script, ";\n")
	return statements[:len(statements)-1]
}

// schema is what a database has.
type schema struct {
	number      int // of the last script; 0 if there are no tables
	incarnation string
}

// migrationPatience is for how many seconds another process is waited for that changes the schema.
const migrationPatience = 60

// prepare brings the schema up to date. Where there is nothing to do it needs no right to create
// anything. One process at a time does it; if it ends half-way, the next one goes on.
func prepare(ctx context.Context, conn *sql.Conn) (have schema, err error) {
	have, err = schemaOf(ctx, conn)
	if err == nil && have.number < len(migrations) {
		have, err = migrate(ctx, conn)
	}
	if err == nil && have.number > len(migrations) {
		err = ErrNewerSchema
	}
	return have, err
}

func schemaOf(ctx context.Context, conn *sql.Conn) (have schema, err error) {
	err = conn.QueryRowContext(ctx, `SELECT number, incarnation FROM agentmemory_meta`).Scan(&have.number, &have.incarnation)
	const noSuchTable = 1146
	if codeOf(err) == noSuchTable || errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return have, err
}

// migrate runs what is missing under a lock of the database's name, which ends with the connection.
func migrate(ctx context.Context, conn *sql.Conn) (have schema, err error) {
	const lockName = `CONCAT('agentmemory.', LEFT(SHA2(DATABASE(), 256), 32))`
	var locked sql.NullBool
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(`+lockName+`, ?)`, migrationPatience).Scan(&locked); err != nil {
		return have, err
	}
	if !locked.Bool {
		return have, driver.ErrInternal.With("another process is changing the schema for more than a minute", nil)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(`+lockName+`)`)
	if have, err = schemaOf(ctx, conn); err != nil {
		return have, err
	}
	for have.number < len(migrations) && err == nil {
		for _, statement := range migrations[have.number] {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return have, err
			}
		}
		const done = `INSERT INTO agentmemory_meta (one_row, number, incarnation) VALUES (1, ?, ?) ON DUPLICATE KEY UPDATE number = VALUES(number)`
		if _, err := conn.ExecContext(ctx, done, have.number+1, []byte(rand.Text())); err != nil {
			return have, err
		}
		have, err = schemaOf(ctx, conn)
	}
	return have, err
}
