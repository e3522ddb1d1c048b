package sqlite

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
)

// Options are choices about a database. The zero value is the safe one.
type Options struct {
	// Relaxed leaves out the wait for the disk at each commit. What was acknowledged
	// still survives the end of the process, however it comes, but the last of it may
	// be lost when the machine loses power. No mutation is ever half there.
	Relaxed bool
}

// DB is an open database. All its methods, and all methods of what it gives out, are
// safe for concurrent use, and any number of processes of one machine may have the
// same file open.
type DB struct {
	writer writer

	reads      *sql.DB
	statements sync.Map // of reads, by their text: *sql.Stmt

	incarnation string // the random name that the database took when it was made
}

// maxReaders bounds the connections that read at the same time.
const maxReaders = 8

// Open opens the database in a file, which is made if it is not there; its directory
// must be. A schema of an earlier version is brought up to date, in a transaction and
// without removing anything; several processes may do so at once.
//
// Errors: [ErrNewerSchema], [ErrForeignFile], ctx.Err(), or what the file system
// said, behind errors.Unwrap.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, &failure{"an empty path names no file", nil}
	}
	dsn, err := dataSource(path, opts)
	if err != nil {
		return nil, wrap(openFailed, err)
	}
	// What is new is for its owner only; SQLite gives the log what the file has. A file
	// that is there is not touched: closing it would let go of SQLite's locks.
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
	}
	db := &DB{writer: newWriter(dsn)}
	err = db.migrate(ctx)
	if err == nil {
		err = db.writer.do(ctx, func(*sql.Conn) error { db.writer.scrub(true); return nil })
	}
	if err != nil {
		db.writer.close()
		return nil, err
	}
	connector, err := sqlite.NewConnector(dsn + "&_query_only=1")
	if err != nil {
		db.writer.close()
		return nil, wrap(openFailed, err)
	}
	db.reads = sql.OpenDB(connector)
	db.reads.SetMaxOpenConns(maxReaders)
	db.reads.SetMaxIdleConns(maxReaders)
	return db, nil
}

// dataSource names the file and says how each connection is set up.
func dataSource(path string, opts Options) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	synchronous := "synchronous(FULL)"
	if opts.Relaxed {
		synchronous = "synchronous(NORMAL)"
	}
	q := url.Values{"_pragma": {
		"busy_timeout(100)", // begin counts how often
		synchronous,
		"secure_delete(ON)",
		"temp_store(MEMORY)", // no text in temporary files
		"cache_size(-8192)",
	}}
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	return file.String() + "?" + q.Encode(), nil
}

// Close waits for the write under way and closes the database. What is called later
// fails. A second Close does nothing.
func (db *DB) Close() error {
	err := db.reads.Close()
	if werr := db.writer.close(); err == nil {
		err = werr
	}
	return wrap("closing failed", err)
}
