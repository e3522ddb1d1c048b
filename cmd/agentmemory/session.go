package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/mysql"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// store is what all stores offer.
type store interface {
	driver.Versioned
	driver.Tenants
	driver.Scheduler
}

// session is an open store, with what the commands need of it.
type session struct {
	store
	bank  *memory.Bank
	close func() error
	// health tells the number of the schema and what the database itself finds wrong.
	health func(context.Context) (schema int, wrong []string, err error)
}

// open opens the store of the command line. Unless it may make one, there must be one.
func (p *program) open(ctx context.Context, make bool) (*session, error) {
	var at *session
	var err error
	switch {
	case !p.namesOne():
		return nil, misuse("say which memory: -db FILE, -postgres DSN or -mysql DSN")
	case p.db != "":
		at, err = openFile(ctx, p.db, make)
	case p.mysql != "":
		at, err = openMySQL(ctx, p.mysql, make)
	default:
		at, err = openDatabase(ctx, p.postgres, make)
	}
	if err != nil {
		return nil, err
	}
	ranker, err := recall.New(recall.Config{})
	if err == nil {
		at.bank, err = memory.New(at.store, memory.Config{Ranker: ranker})
	}
	if err != nil {
		return nil, errors.Join(err, at.close())
	}
	return at, nil
}

// namesOne reports whether the command line names one memory.
func (p *program) namesOne() bool {
	named := slices.DeleteFunc([]string{p.db, p.postgres, p.mysql}, func(name string) bool { return name == "" })
	return len(named) == 1
}

// onStore runs a command on the store of the command line, which must be there.
func (p *program) onStore(run func(context.Context, *session, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) (err error) {
		at, err := p.open(ctx, false)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, at.close()) }()
		return run(ctx, at, args)
	}
}

// onTenant runs a command on one tenant's memory.
func (p *program) onTenant(run func(context.Context, *session, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		if p.tenant == "" {
			return misuse("say whose memory: -tenant ID")
		}
		return p.onStore(run)(ctx, args)
	}
}

func openFile(ctx context.Context, path string, make bool) (*session, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !make:
		return nil, advice("there is no file of that name: name one that is there by -db, only import makes one")
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, advice("-db names no regular file: name the file of a memory")
	case info.Size() == 0:
		return nil, advice("the file of -db is empty and no memory, and was left as it is: name another one, or remove it for import to make it")
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	switch {
	case errors.Is(err, sqlite.ErrForeignFile):
		return nil, advice("the file of -db is no memory of agents, and was left as it is: name another one")
	case errors.Is(err, sqlite.ErrNewerSchema):
		return nil, advice("a newer release made the file of -db, which was left as it is: use agentmemory of that release")
	case err != nil:
		return nil, withCause(err)
	}
	health := func(ctx context.Context) (int, []string, error) {
		if path, err = filepath.Abs(path); err != nil {
			return 0, nil, err
		}
		name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: "mode=ro"}
		return healthOfFile(ctx, name.String())
	}
	return &session{store: db.Memory(), close: db.Close, health: health}, nil
}

func healthOfFile(ctx context.Context, dsn string) (schema int, wrong []string, err error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return 0, nil, err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&schema); err != nil {
		return 0, nil, err
	}
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check(20)")
	if err != nil {
		return schema, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var said string
		if err := rows.Scan(&said); err != nil {
			return schema, nil, err
		}
		if said != "ok" {
			wrong = append(wrong, said)
		}
	}
	return schema, wrong, rows.Err()
}

func openDatabase(ctx context.Context, dsn string, make bool) (*session, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, advice("-postgres is no connection string: it looks like postgres://user@host/database or host=… dbname=…")
	}
	there := false
	if err = pool.QueryRow(ctx, "SELECT to_regclass('agentmemory.meta') IS NOT NULL").Scan(&there); err != nil {
		pool.Close()
		return nil, fmt.Errorf("the database of -postgres does not answer: %w", err)
	}
	if !there && !make {
		pool.Close()
		return nil, advice("the database of -postgres holds no memory, and was left as it is: name another one, only import makes the tables")
	}
	db, err := postgres.Open(ctx, pool, postgres.Options{})
	if err != nil {
		pool.Close()
		if errors.Is(err, postgres.ErrNewerSchema) {
			return nil, advice("a newer release made the tables of -postgres, which were left as they are: use agentmemory of that release")
		}
		return nil, withCause(err)
	}
	health := func(ctx context.Context) (schema int, _ []string, err error) {
		return schema, nil, pool.QueryRow(ctx, "SELECT schema FROM agentmemory.meta").Scan(&schema)
	}
	closeAll := func() error {
		err := db.Close()
		pool.Close()
		return err
	}
	return &session{store: db.Memory(), close: closeAll, health: health}, nil
}

func openMySQL(ctx context.Context, dsn string, make bool) (*session, error) {
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, advice("-mysql is no data source name: it looks like user:password@tcp(host:3306)/database")
	}
	there := false
	const look = "SELECT COUNT(*) > 0 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'agentmemory_meta'"
	if err = pool.QueryRowContext(ctx, look).Scan(&there); err != nil {
		pool.Close()
		return nil, fmt.Errorf("the database of -mysql does not answer: %w", err)
	}
	if !there && !make {
		pool.Close()
		return nil, advice("the database of -mysql holds no memory, and was left as it is: name another one, only import makes the tables")
	}
	db, err := mysql.Open(ctx, dsn, mysql.Options{})
	if err != nil {
		pool.Close()
		if errors.Is(err, mysql.ErrNewerSchema) {
			return nil, advice("a newer release made the tables of -mysql, which were left as they are: use agentmemory of that release")
		}
		return nil, withCause(err)
	}
	health := func(ctx context.Context) (schema int, _ []string, err error) {
		return schema, db.Risks(), pool.QueryRowContext(ctx, "SELECT number FROM agentmemory_meta").Scan(&schema)
	}
	return &session{store: db.Memory(), close: func() error { return errors.Join(db.Close(), pool.Close()) }, health: health}, nil
}

// withCause adds what the system said to an error of opening, before anything was read.
func withCause(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// job opens a pass on the tenant's memory.
func (at *session) job(tenant string, r memory.Redactor) (*memory.Job, error) {
	return at.bank.Background(memory.JobConfig{ID: "agentmemory-" + rand.Text(), Tenant: tenant, Redactor: r})
}

// reader opens a pass that writes nothing and needs no secrets.
func (at *session) reader(tenant string) (*memory.Job, error) {
	return at.job(tenant, redact.New(redact.Config{}))
}
