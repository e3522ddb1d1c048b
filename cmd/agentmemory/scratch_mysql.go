package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/mysql"
)

// scratchMySQL are databases of the server that a DSN names. Its own database is only used to make and
// drop them.
type scratchMySQL struct {
	admin *sql.DB
	dsn   *driversql.Config
	name  string
	mu    sync.Mutex
	n     int
}

type mysqlStore struct {
	*mysql.Store
	db   *mysql.DB
	name string
}

func (s *mysqlStore) Close() error { return s.db.Close() }

func newScratchMySQL(ctx context.Context, dsn, name string) (*scratchMySQL, error) {
	cfg, err := driversql.ParseDSN(dsn)
	if err != nil {
		return nil, advice("-mysql is no data source name: it looks like user:password@tcp(host:3306)/database")
	}
	admin, err := sql.Open("mysql", dsn)
	if err == nil {
		err = admin.PingContext(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the database of -mysql does not answer: %w", err)
	}
	return &scratchMySQL{admin: admin, dsn: cfg, name: name}, nil
}

// fresh returns a store on a new database.
func (s *scratchMySQL) fresh(ctx context.Context) (driver.Adapter, error) {
	s.mu.Lock()
	s.n++
	name := fmt.Sprint(s.name, "_", s.n)
	s.mu.Unlock()
	if _, err := s.admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, fmt.Errorf("no scratch database can be made: %w", err)
	}
	return s.open(ctx, name)
}

func (s *scratchMySQL) open(ctx context.Context, name string) (driver.Adapter, error) {
	cfg := s.dsn.Clone()
	cfg.DBName = name
	db, err := mysql.Open(ctx, cfg.FormatDSN(), mysql.Options{MaxConns: 8})
	if err != nil {
		return nil, err
	}
	return &mysqlStore{db.Memory(), db, name}, nil
}

func (s *scratchMySQL) reopened(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
	return s.open(ctx, a.(*mysqlStore).name)
}

// crashed is what a process leaves that is killed: what the server has.
func (s *scratchMySQL) crashed(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
	return s.reopened(ctx, a)
}

// remove drops the databases.
func (s *scratchMySQL) remove() error {
	var errs []error
	for i := range s.n {
		_, err := s.admin.ExecContext(context.Background(), "DROP DATABASE IF EXISTS "+fmt.Sprint(s.name, "_", i+1))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.admin.Close())...)
}
