package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"sync"

	"modernc.org/sqlite"

	"github.com/openwop/agentmemory/memory/internal/groupcommit"
)

// background is what the driver gets for a context. Its statements are short; the
// caller's context is looked at between them, where stopping is safe, and a context
// that can end would cost each of them a goroutine.
var background = context.Background()

// writer is the one connection of this process that writes.
type writer struct {
	path  string
	dsn   string
	calls groupcommit.Queue[struct{}, *call] // whose first has the connection
	lock  sync.Mutex                         // of the connection, which Close takes too

	db         *sql.DB
	conn       *sql.Conn // nil until it is needed, and after it broke
	broke      bool      // once
	statements map[string]*sql.Stmt
	closed     bool

	// unclean is set while the log may hold text that was erased from the database: to the
	// note of that in the database, which is there for the time when this process is no more.
	// cleaned is the note of the last erasure whose text has left the log; the next write
	// removes it.
	unclean, cleaned string

	// readers holds a token of each read of this process, one for each connection, and all
	// of them while the log is emptied, which a constant flow of reads would keep from
	// happening for ever.
	readers chan struct{}
	// closeReaders closes the connections that read. There are none before the file is open.
	closeReaders func()
}

// patience is how often a call waits busy_timeout for other processes: some 30 seconds.
var patience = 300

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	if w.db == nil {
		connector, err := sqlite.NewConnector(w.dsn)
		if err != nil {
			return wrap(openFailed, err)
		}
		w.db = sql.OpenDB(connector)
	}
	// The first connection turns the log on, for which no process may be reading. That
	// changes the file, which must be ours.
	var refused error
	err := retry(ctx, func() error {
		conn, err := w.db.Conn(background)
		if err != nil {
			return err
		}
		if _, refused = schemaVersion(conn); refused == nil {
			var mode string
			err = conn.QueryRowContext(background, "PRAGMA journal_mode = WAL").Scan(&mode)
			if err == nil && mode != "wal" {
				err = errors.New("no write-ahead log")
			}
		} else if busy(refused) {
			err = refused
		}
		if err != nil || refused != nil {
			conn.Close()
			return err
		}
		w.conn, w.statements = conn, map[string]*sql.Stmt{}
		return nil
	}, openFailed, openTimeout)
	switch {
	case noDatabase(err):
		return ErrForeignFile
	case err == nil:
		return refused
	}
	return err
}

// retry calls f again while other processes are in the way, and fails with text, or with
// late when they were for too long.
func retry(ctx context.Context, f func() error, text, late string) error {
	for range patience {
		err := f()
		if !busy(err) {
			return wrap(text, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fail(late, nil)
}

// abandonConn closes a connection whose state is unknown.
func (w *writer) abandonConn() {
	w.release()
	w.conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	w.conn.Close()
	w.conn, w.broke = nil, true
}

// reopen has the next write open the file anew. SQLite opens one that cannot be written for reading, and it
// stays so until the last connection of the process to it is closed.
func (w *writer) reopen(why error) {
	w.abandonConn()
	if notAllowed(why) {
		w.closeReaders()
	}
}

func (w *writer) release() {
	for _, s := range w.statements {
		s.Close()
	}
	w.statements = nil
}

// close moves the log into the file and closes the connection, also if moving failed.
func (w *writer) close() error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if !w.closed {
		w.closed = true
		defer releaseFile(w.path)
	}
	var err error
	if w.broke {
		w.broke, err = false, w.connect(background)
	}
	if w.conn != nil {
		if err = w.emptyLog(true); err == nil {
			_, err = w.checkpoint("PASSIVE")
		}
		w.release()
		w.conn.Close()
		w.conn = nil
	}
	if w.db != nil {
		if failed := w.db.Close(); err == nil {
			err = failed
		}
		w.db = nil
	}
	return err
}

// prepare returns the statement of a text, which is kept.
func (w *writer) prepare(text string) (*sql.Stmt, error) {
	if s := w.statements[text]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(background, text)
	if err == nil {
		w.statements[text] = s
	}
	return s, err
}

func (w *writer) exec(text string, args ...any) (sql.Result, error) {
	s, err := w.prepare(text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(background, args...)
}
