package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// server is where databases are made.
type server interface {
	// database makes an empty one. It fails if there is one of that name.
	database(ctx context.Context, name string) (database, error)
	close() error
}

// database is one database of a store, which can be opened several times in turn.
type database interface {
	// open returns the store and what closes it. With relaxed no commit waits for the
	// disk, which is for filling only.
	open(ctx context.Context, relaxed bool) (driver.Adapter, func() error, error)
	// size is what the database takes on the disk, in bytes, and its indexes of that, 0 where
	// that is not known. Nothing writes meanwhile.
	size(ctx context.Context) (all, indexes int64, err error)
}

// newServer returns the server of a kind of store, "sqlite" or "postgres". dsn names a
// PostgreSQL server that is there; without it one is started.
func newServer(ctx context.Context, kind, dsn string) (server, error) {
	switch kind {
	case "sqlite":
		dir, err := os.MkdirTemp("", "bench-tenants-")
		return sqliteServer{dir}, err
	case "postgres":
		s := &postgresServer{dsn: dsn}
		if dsn == "" {
			cluster, err := pgcluster.Start(ctx, "shared_buffers=1GB", "max_wal_size=4GB")
			if err != nil {
				return nil, err
			}
			s.dsn, s.stop = cluster.DSN(), cluster.Close
		}
		return s, nil
	}
	return nil, fmt.Errorf("no store is called %q: sqlite or postgres", kind)
}

type sqliteServer struct{ dir string }

func (s sqliteServer) close() error { return os.RemoveAll(s.dir) }

func (s sqliteServer) database(_ context.Context, name string) (database, error) {
	return sqliteDatabase{filepath.Join(s.dir, name+".db")}, nil
}

type sqliteDatabase struct{ path string }

func (d sqliteDatabase) open(ctx context.Context, relaxed bool) (driver.Adapter, func() error, error) {
	db, err := sqlite.Open(ctx, d.path, sqlite.Options{Relaxed: relaxed})
	if err != nil {
		return nil, nil, err
	}
	return db.Memory(), db.Close, nil
}

// size opens and closes the database, by which the log is moved into the file.
func (d sqliteDatabase) size(ctx context.Context) (all, indexes int64, err error) {
	_, done, err := d.open(ctx, false)
	if err == nil {
		err = done()
	}
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), 0, nil
}

type postgresServer struct {
	dsn   string
	stop  func() error // nil if the server is not ours
	names []string     // of the databases
}

func (s *postgresServer) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func (s *postgresServer) database(ctx context.Context, name string) (database, error) {
	name = fmt.Sprintf("agentmemory_bench_%d_%s", os.Getpid(), name)
	config, err := pgxpool.ParseConfig(s.dsn)
	if err == nil {
		err = s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'")
	}
	if err != nil {
		return nil, err
	}
	s.names = append(s.names, name)
	config.ConnConfig.Database = name
	return postgresDatabase{config}, nil
}

func (s *postgresServer) close() error {
	if s.stop != nil {
		return s.stop()
	}
	var errs []error
	for _, name := range s.names {
		errs = append(errs, s.exec(context.Background(), "DROP DATABASE "+name))
	}
	return errors.Join(errs...)
}

type postgresDatabase struct{ config *pgxpool.Config }

func (d postgresDatabase) open(ctx context.Context, relaxed bool) (driver.Adapter, func() error, error) {
	config := d.config.Copy()
	config.MaxConns = 16
	if relaxed {
		config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, pool, postgres.Options{})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return db.Memory(), func() error { err := db.Close(); pool.Close(); return err }, nil
}

// size counts the tables with their indexes, not the server's log. It analyses the tables
// first, as autovacuum would within a minute.
func (d postgresDatabase) size(ctx context.Context) (all, indexes int64, err error) {
	conn, err := pgx.ConnectConfig(ctx, d.config.ConnConfig)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return 0, 0, err
	}
	err = conn.QueryRow(ctx, `SELECT sum(pg_total_relation_size(c.oid))::bigint, sum(pg_indexes_size(c.oid))::bigint FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'agentmemory' AND c.relkind = 'r'`).Scan(&all, &indexes)
	return all, indexes, err
}
