package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// location is where memory is kept.
type location struct {
	name string
	// files are what the disk has of it, none for a server, and bytes says so.
	files []string
	bytes string
	// open opens the store. Each process calls it once, and closes what it gets.
	open func(context.Context) (driver.Adapter, func() error, error)
}

// inFile keeps memory in a SQLite file. Several processes of a machine may have it open.
func inFile(path string) location {
	files, base := []string{path, path + "-wal", path + "-shm"}, filepath.Base(path)
	searched := fmt.Sprintf("of %s, %s-wal and %s-shm are searched", base, base, base)
	return location{path, files, searched, func(ctx context.Context) (driver.Adapter, func() error, error) {
		db, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return nil, nil, err
		}
		return db.Memory(), db.Close, nil
	}}
}

// inPostgres keeps memory in a PostgreSQL database, for processes of any number of machines.
func inPostgres(dsn string) location {
	return location{"a PostgreSQL database", nil, "are the server's, and not looked at", func(ctx context.Context) (driver.Adapter, func() error, error) {
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return nil, nil, err
		}
		db, err := postgres.Open(ctx, pool, postgres.Options{StatementTimeout: 10 * time.Second})
		if err != nil {
			pool.Close()
			return nil, nil, err
		}
		return db.Memory(), func() error { defer pool.Close(); return db.Close() }, nil
	}}
}

// onDisk returns those of the texts that the files have.
func (p location) onDisk(texts ...string) (found []string, err error) {
	var all []byte
	for _, name := range p.files {
		file, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a log goes with its last process
			return nil, err
		}
		all = append(all, file...)
	}
	for _, text := range texts {
		if bytes.Contains(all, []byte(text)) {
			found = append(found, text)
		}
	}
	return found, nil
}
