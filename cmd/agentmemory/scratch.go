package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// scratchFiles are databases in a directory beside the file whose copies they are, on the same disk.
type scratchFiles struct {
	dir string
	mu  sync.Mutex
	n   int
}

type scratchFile struct {
	*sqlite.Store
	db   *sqlite.DB
	path string
}

func (f *scratchFile) Close() error { return f.db.Close() }

// scratchName is a new name of a directory, or the first part of one of a database.
func scratchName() string { return "agentmemory_certify_" + strings.ToLower(rand.Text()) }

func (s *scratchFiles) remove() error { return os.RemoveAll(s.dir) }

// open leaves out the wait for the disk, which shows only when the power fails.
func (s *scratchFiles) open(ctx context.Context, path string) (driver.Adapter, error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{Relaxed: true})
	if err != nil {
		return nil, err
	}
	return &scratchFile{db.Memory(), db, path}, nil
}

func (s *scratchFiles) fresh(ctx context.Context) (driver.Adapter, error) {
	s.mu.Lock()
	s.n++
	path := filepath.Join(s.dir, fmt.Sprint(s.n))
	s.mu.Unlock()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("there is no room for scratch files beside the file of -db: %w", err)
	}
	return s.open(ctx, path)
}

func (s *scratchFiles) reopened(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
	return s.open(ctx, a.(*scratchFile).path)
}

// crashed opens a copy of what a killed process leaves: the file and its log.
func (s *scratchFiles) crashed(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
	path, killed := a.(*scratchFile).path, filepath.Join(s.dir, "killed-"+rand.Text())
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(killed+suffix, data, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return s.open(ctx, killed)
}

// scratchDatabases are databases of the server that a DSN names. Its own database is only used to
// make and drop them.
type scratchDatabases struct {
	admin *pgxpool.Pool
	name  string
	mu    sync.Mutex
	all   []*scratchDatabase
}

type scratchDatabase struct {
	pool  *pgxpool.Pool
	users int
}

type scratchStore struct {
	*postgres.Store
	db    *postgres.DB
	all   *scratchDatabases
	where *scratchDatabase
}

func (s *scratchStore) Close() error {
	s.all.mu.Lock()
	s.where.users--
	s.all.mu.Unlock()
	return s.db.Close()
}

func newScratchDatabases(ctx context.Context, dsn, name string) (*scratchDatabases, error) {
	admin, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, advice("-postgres is no connection string: it looks like postgres://user@host/database or host=… dbname=…")
	}
	if err := admin.Ping(ctx); err != nil {
		admin.Close()
		return nil, fmt.Errorf("the database of -postgres does not answer: %w", err)
	}
	return &scratchDatabases{admin: admin, name: name}, nil
}

// fresh returns a store on a database that no store uses any more, emptied, or on a new one.
func (s *scratchDatabases) fresh(ctx context.Context) (driver.Adapter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.all {
		if d.users == 0 {
			if _, err := d.pool.Exec(ctx, "DROP SCHEMA IF EXISTS agentmemory CASCADE"); err != nil {
				return nil, err
			}
			d.pool.Reset() // its statements know the tables that are gone
			return s.open(ctx, d)
		}
	}
	name := fmt.Sprint(s.name, "_", len(s.all))
	if _, err := s.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return nil, fmt.Errorf("no scratch database can be made: %w", err)
	}
	d := &scratchDatabase{}
	s.all = append(s.all, d)
	cfg := s.admin.Config()
	cfg.ConnConfig.Database = name
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	cfg.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d.pool = pool
	return s.open(ctx, d)
}

func (s *scratchDatabases) open(ctx context.Context, d *scratchDatabase) (driver.Adapter, error) {
	db, err := postgres.Open(ctx, d.pool, postgres.Options{})
	if err != nil {
		return nil, err
	}
	d.users++
	return &scratchStore{db.Memory(), db, s, d}, nil
}

func (s *scratchDatabases) reopened(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(ctx, a.(*scratchStore).where)
}

// crashed is what a process leaves that is killed: what the server has.
func (s *scratchDatabases) crashed(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
	return s.reopened(ctx, a)
}

// remove drops the databases, also those that a killed kit has open.
func (s *scratchDatabases) remove() error {
	defer s.admin.Close()
	ctx := context.Background()
	rows, err := s.admin.Query(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", s.name)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		_, dropErr := s.admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		err = errors.Join(err, dropErr)
	}
	return err
}
