package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// database is an empty store that can be opened several times in turn: relaxed, so that no commit
// waits for the disk, to fill it, and then as a host opens it.
type database struct {
	open   func(relaxed bool) (driver.Adapter, func() error, error)
	remove func() error
}

func newDatabase(ctx context.Context, store string) (database, error) {
	switch store {
	case "memory":
		st := inmem.New()
		nothing := func() error { return nil }
		return database{func(bool) (driver.Adapter, func() error, error) { return st, nothing, nil }, nothing}, nil
	case "sqlite":
		dir, err := os.MkdirTemp("", "bench-growth-")
		open := func(relaxed bool) (driver.Adapter, func() error, error) {
			db, err := sqlite.Open(ctx, filepath.Join(dir, "memory.db"), sqlite.Options{Relaxed: relaxed})
			if err != nil {
				return nil, nil, err
			}
			return db.Memory(), db.Close, nil
		}
		return database{open, func() error { return os.RemoveAll(dir) }}, err
	case "postgres":
		return newPostgres(ctx)
	}
	return database{}, fmt.Errorf("no store is called %q: memory, sqlite or postgres", store)
}

// newPostgres starts a server of its own.
func newPostgres(ctx context.Context) (database, error) {
	cluster, err := pgcluster.Start(ctx, "shared_buffers=1GB", "max_wal_size=4GB")
	if err != nil {
		return database{}, err
	}
	open := func(relaxed bool) (driver.Adapter, func() error, error) {
		config, err := pgxpool.ParseConfig(cluster.DSN())
		if err != nil {
			return nil, nil, err
		}
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
		if !relaxed { // as autovacuum does within a minute
			if _, err := pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
				err = errors.Join(err, db.Close())
				pool.Close()
				return nil, nil, err
			}
		}
		return db.Memory(), func() error { err := db.Close(); pool.Close(); return err }, nil
	}
	return database{open, cluster.Close}, nil
}
