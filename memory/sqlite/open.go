package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/openwop/agentmemory/memory/internal/sqlstore"
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

	readers    *sql.DB
	statements sync.Map // of readers, by their text: *sql.Stmt
	closed     atomic.Bool

	dialect sqlstore.Dialect
}

// maxReaders bounds the connections that read at the same time.
const maxReaders = 8

// Open opens the database in a file, which is made if it is not there; its directory
// must be. A schema of an earlier version is brought up to date, in a transaction and
// without removing anything; several processes may do so at once.
//
// Errors: [ErrNewerSchema], [ErrForeignFile], [ErrLinkedFile], [driver.ErrValidation] for a path
// that names no file, ctx.Err(), or what the file system said, behind errors.Unwrap.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := claimFile(path)
	if err != nil {
		return nil, err
	}
	dsn := dataSource(path, opts)
	db := &DB{writer: writer{path: path, dsn: dsn, readers: make(chan struct{}, maxReaders), closeReaders: func() {}}}
	db.dialect = dialectOf(db)
	db.writer.calls.Commit, db.writer.calls.Unknown = db.writer.commit, ErrOutcomeUnknown
	if err := db.migrate(ctx); err != nil {
		db.writer.close()
		return nil, err
	}
	db.writer.emptyLog(true)
	connector, err := sqlite.NewConnector(dsn + "&_query_only=1")
	if err != nil {
		db.writer.close()
		return nil, wrap(openFailed, err)
	}
	db.readers = sql.OpenDB(connector)
	db.readers.SetMaxOpenConns(maxReaders)
	db.readers.SetMaxIdleConns(maxReaders)
	db.writer.closeReaders = func() {
		defer db.writer.pauseReads()()
		db.readers.SetMaxIdleConns(0)
		db.readers.SetMaxIdleConns(maxReaders)
	}
	return db, nil
}

// inUse are the files that this process has open, and how often.
var inUse = struct {
	sync.Mutex
	times map[string]int
}{times: map[string]int{}}

// claimFile finds the file that a path names, or makes it, checks whether it can be opened
// safely, and notes that it is in use until releaseFile. A file that this process has open is
// not opened besides: closing it would let go of SQLite's locks.
func claimFile(path string) (string, error) {
	path, err := fileName(path)
	if err != nil {
		return "", err
	}
	inUse.Lock()
	defer inUse.Unlock()
	// What is new is for its owner only; SQLite gives the log what the file has.
	f, made := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if made == nil {
		f.Close()
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		why := "the path is a symbolic link that leads nowhere"
		switch {
		case errors.Is(err, fs.ErrPermission) || errors.Is(made, fs.ErrPermission):
			why = "this user may not enter the directory of the file, or make a file there"
		case errors.Is(made, fs.ErrNotExist):
			why = "the directory of the file is missing: make it first"
		}
		return "", wrap(why, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", wrap(openFailed, err)
	}
	if err := checkRegular(info); err != nil {
		return "", err
	}
	// Each system has a struct of its own, and that of Windows has no such field.
	if sys := reflect.Indirect(reflect.ValueOf(info.Sys())); sys.Kind() == reflect.Struct {
		if links := sys.FieldByName("Nlink"); links.IsValid() && links.CanUint() && links.Uint() > 1 {
			return "", ErrLinkedFile
		}
	}
	if info.Size() == 1 { // which SQLite takes for an empty one
		return "", ErrForeignFile
	}
	inUse.times[path]++
	return path, nil
}

// fileName returns the absolute form of a path. What other programs take for the name of a
// database, but is no path, is refused.
func fileName(path string) (string, error) {
	scheme, rest, colon := strings.Cut(path, ":")
	switch {
	case path == "":
		return "", refused("the path is empty: write that of a file, such as /var/lib/host/memory.db")
	case path == ":memory:":
		return "", refused("the path :memory: is no file: use memory/inmem for what need not last, or write ./:memory: for a file of that name")
	case colon && (strings.HasPrefix(rest, "//") || slices.Contains([]string{"file", "sqlite", "sqlite3"}, strings.ToLower(scheme))):
		return "", refused("the path is a URI: write the path alone, such as /var/lib/host/memory.db, and choices in Options")
	}
	path, err := filepath.Abs(path)
	return path, wrap(openFailed, err)
}

// checkRegular refuses directories and devices.
func checkRegular(info os.FileInfo) error {
	switch {
	case info.IsDir():
		return refused("the path is that of a directory: write that of a file in it, such as memory.db")
	case !info.Mode().IsRegular():
		return refused("the path is that of a device or pipe: write that of a file, such as /var/lib/host/memory.db")
	}
	return nil
}

func releaseFile(path string) {
	inUse.Lock()
	defer inUse.Unlock()
	if inUse.times[path]--; inUse.times[path] <= 0 {
		delete(inUse.times, path)
	}
}

func fileURI(path string) string {
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	return file.String()
}

// dataSource names the file and says how each connection is set up.
func dataSource(path string, opts Options) string {
	synchronous := "synchronous(FULL)"
	if opts.Relaxed {
		synchronous = "synchronous(NORMAL)"
	}
	q := url.Values{"mode": {"rw"}, "_pragma": { // take has made the file
		"busy_timeout(100)", // begin counts how often
		synchronous,
		"secure_delete(ON)",
		"foreign_keys(ON)",
		"temp_store(MEMORY)", // no text in temporary files
		"cache_size(-8192)",
	}}
	return fileURI(path) + "?" + q.Encode()
}

// Close waits for the write under way, moves the log into the file and closes the database.
// What is called later fails. A second Close does nothing. If the disk fails, the error matches
// [driver.ErrInternal]; nothing that was acknowledged is lost, and the next Open tries again.
func (db *DB) Close() error {
	db.closed.Store(true)
	err := db.readers.Close()
	if failed := db.writer.close(); failed != nil {
		err = failed
	}
	return wrap(notMoved, err)
}
