package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"modernc.org/sqlite"
)

// background is what the driver gets for a context. Its statements are short; the
// caller's context is looked at between them, where stopping is safe, and a context
// that can end would cost each of them a goroutine.
var background = context.Background()

// writer is the one connection of this process that writes.
type writer struct {
	path string
	dsn  string
	lock chan struct{} // holds a token while a caller writes

	db         *sql.DB
	conn       *sql.Conn // nil until it is needed, and after it broke
	broke      bool      // once
	statements map[string]*sql.Stmt
	closed     bool

	// unclean is set while the log may hold text that was erased from the database. The
	// database says so too, for the time when this process is no more.
	unclean bool

	// readers holds a token of each read of this process, one for each connection, and all
	// of them while the log is emptied, which a constant flow of reads would keep from
	// happening for ever.
	readers chan struct{}
}

func newWriter(path, dsn string) writer {
	return writer{path: path, dsn: dsn, lock: make(chan struct{}, 1), unclean: true, readers: make(chan struct{}, maxReaders)}
}

// patience is how often a call waits busy_timeout for other processes: some 30 seconds.
var patience = 300

// withConn runs f on the connection, which no other call uses meanwhile.
func (w *writer) withConn(ctx context.Context, f func(*sql.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.lock <- struct{}{}:
		defer func() { <-w.lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.closed {
		return fail(closed, nil)
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	return f(w.conn)
}

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

func (w *writer) release() {
	for _, s := range w.statements {
		s.Close()
	}
	w.statements = nil
}

// close moves the log into the file and closes the connection, also if moving failed.
func (w *writer) close() error {
	w.lock <- struct{}{}
	defer func() { <-w.lock }()
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

// tx is a write transaction. It holds the lock of the database from its beginning. Once a
// method has failed the others do nothing, and the transaction fails with that error.
type tx struct {
	w   *writer
	ctx context.Context // ends it between two statements
	err error
	// erased tells that text was removed, which is to leave the log too.
	erased bool
	// unused are bodies whose documents are removed.
	unused []int64
}

// tx runs f in a transaction and commits it unless f fails, the context ends before
// the commit begins, or f returns errUnchanged, which is no error.
func (db *DB) tx(ctx context.Context, f func(*tx) error) error {
	return db.transact(ctx, func(t *tx) error {
		if t.begun() != nil {
			return t.err
		}
		if err := f(t); err != nil && t.err == nil {
			return err
		}
		t.emptyUnused()
		if t.erased {
			t.exec(`INSERT OR REPLACE INTO meta (key, value) VALUES ('unclean', ?)`, rand.Text())
		}
		return t.err
	})
}

// emptyUnused empties bodies whose documents are removed. Their rows stay: see the README.
func (t *tx) emptyUnused() {
	if len(t.unused) > 0 {
		t.erased = true
		t.exec(`UPDATE bodies SET subjects = NULL, value = NULL WHERE body IN (SELECT value FROM json_each(?))`, inJSON(t.unused))
	}
	t.unused = nil
}

func (db *DB) transact(ctx context.Context, f func(*tx) error) error {
	w := &db.writer
	return w.withConn(ctx, func(*sql.Conn) error {
		begin := func() error { _, err := w.exec("BEGIN IMMEDIATE"); return err }
		if err := retry(ctx, begin, writeFailed, lockTimeout); err != nil {
			if errors.Unwrap(err) != nil { // not just a lock or a context
				w.abandonConn()
			}
			return err
		}
		t := &tx{w: w, ctx: ctx}
		if err := f(t); err != nil {
			w.rollback()
			if err == errUnchanged {
				return nil
			}
			return err
		}
		w.unclean = w.unclean || t.erased // also if the commit fails
		if _, err := w.exec("COMMIT"); notWritten(err) {
			w.rollback()
			return wrap(writeFailed, err)
		} else if err != nil {
			w.abandonConn()
			return wrap(commitLost, errors.Join(ErrOutcomeUnknown, err))
		}
		w.emptyLog(t.erased)
		return nil
	})
}

// begun looks, in a transaction, whether the database is still what this program knows, and
// whether another process has erased something and did not empty the log.
func (t *tx) begun() error {
	return t.query(func(rows *sql.Rows) (bool, error) {
		var newer bool
		if err := rows.Scan(&newer); err != nil {
			return false, wrap(writeFailed, err)
		}
		if newer {
			return false, ErrNewerSchema
		}
		t.w.unclean = true
		return true, nil
	}, `SELECT key = 'schema' FROM meta WHERE key = 'unclean' OR key = 'schema' AND CAST(value AS INTEGER) > ?`, len(migrations))
}

func (w *writer) rollback() {
	if _, err := w.exec("ROLLBACK"); err != nil {
		w.abandonConn()
	}
}

// emptyLog empties the log once something was erased, and the note of that goes. If a reader of
// another process is in the way, or the disk fails, the next write of any process tries again.
// Without wait it does not wait for readers. The error is that of the disk.
func (w *writer) emptyLog(wait bool) error {
	if !w.unclean {
		return nil
	}
	for range cap(w.readers) {
		w.readers <- struct{}{}
		defer func() { <-w.readers }()
	}
	if !wait {
		if _, err := w.conn.ExecContext(background, "PRAGMA busy_timeout = 0"); err != nil {
			return err
		}
		defer w.conn.ExecContext(background, "PRAGMA busy_timeout = 100")
	}
	last, err := w.lastErasure()
	if err != nil {
		return err
	}
	moved, err := w.checkpoint("TRUNCATE")
	if err != nil || !moved {
		return err
	}
	w.unclean = false
	w.forgetErasure(last) // if this fails, the next write sees the note still
	return nil
}

// lastErasure returns the note of the last erasure that is in the log now, if there is any.
func (w *writer) lastErasure() (note string, err error) {
	err = w.conn.QueryRowContext(background, `SELECT value FROM meta WHERE key = 'unclean'`).Scan(&note)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return note, err
}

// forgetErasure removes the note of an erasure, but not that of a later one.
func (w *writer) forgetErasure(note string) error {
	if note == "" {
		return nil
	}
	_, err := w.exec(`DELETE FROM meta WHERE key = 'unclean' AND value = ?`, note)
	return err
}

// checkpoint moves the log into the file and reports whether all of it is there. Other
// processes in the way are no error.
func (w *writer) checkpoint(mode string) (moved bool, err error) {
	var blocked, frames, there int
	err = w.conn.QueryRowContext(background, "PRAGMA wal_checkpoint("+mode+")").Scan(&blocked, &frames, &there)
	if busy(err) {
		return false, nil
	}
	return err == nil && blocked == 0, err
}
