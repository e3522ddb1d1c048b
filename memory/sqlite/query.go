package sqlite

import (
	"context"
	"database/sql"

	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// exec runs a statement of the transaction, and returns the key of the last row that it
// inserted and how many rows it has changed.
func (t *tx) exec(text string, args ...any) (key, changed int64) {
	if t.ended() {
		return 0, 0
	}
	r, err := t.w.exec(text, args...)
	if err == nil {
		key, err = r.LastInsertId()
	}
	if err == nil {
		changed, err = r.RowsAffected()
		t.changed = t.changed || changed > 0
	}
	t.err = wrap(writeFailed, err)
	return key, changed
}

// query calls f for each row until f returns false. It returns the error of the transaction.
func (t *tx) query(f func(sqlstore.Row) (bool, error), text string, args ...any) error {
	if t.ended() {
		return t.err
	}
	s, err := t.w.prepare(text)
	if err == nil {
		err = each(t.ctx, s, f, args...)
	} else {
		err = wrap(writeFailed, err)
	}
	t.err = err
	return err
}

// ended reports whether the transaction has failed or its context has ended.
func (t *tx) ended() bool {
	if t.err == nil {
		t.err = t.ctx.Err()
	}
	return t.err != nil
}

// queryFunc calls f for each row of a statement until f returns false, in a transaction or
// outside.
type queryFunc = func(f func(sqlstore.Row) (bool, error), text string, args ...any) error

// reads returns the function that queries one state of the database.
func (db *DB) reads(ctx context.Context) queryFunc {
	return func(f func(sqlstore.Row) (bool, error), text string, args ...any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case db.writer.readers <- struct{}{}:
			defer func() { <-db.writer.readers }()
		case <-ctx.Done():
			return ctx.Err()
		}
		s, err := db.reader(ctx, text)
		if err != nil {
			return err
		}
		return each(ctx, s, f, args...)
	}
}

// A statement whose LIMIT is a bare parameter is prepared again, by SQLite itself, each
// time it is bound. The statements here say "LIMIT ? + 0", which it does not look into.

// reader returns the statement of a text for any of the reading connections.
func (db *DB) reader(ctx context.Context, text string) (*sql.Stmt, error) {
	if db.closed.Load() {
		return nil, fail(closed, nil)
	}
	if s, ok := db.statements.Load(text); ok {
		return s.(*sql.Stmt), nil
	}
	var s *sql.Stmt
	err := retry(ctx, func() (err error) { s, err = db.readers.PrepareContext(background, text); return err }, readFailed, readTimeout)
	if err != nil {
		return nil, err
	}
	if kept, raced := db.statements.LoadOrStore(text, s); raced {
		s.Close()
		return kept.(*sql.Stmt), nil
	}
	return s, nil
}

// lookEvery is how many rows are read between two looks at the context.
const lookEvery = 256

// each calls f for each row. Only at the first can another process be in the way: one
// that opens the file after a crash, or closes it.
func each(ctx context.Context, s *sql.Stmt, f func(sqlstore.Row) (bool, error), args ...any) error {
	var rows *sql.Rows
	err := retry(ctx, func() (err error) { rows, err = s.QueryContext(background, args...); return err }, readFailed, readTimeout)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 1; rows.Next(); n++ {
		if more, err := f(rows); err != nil || !more {
			return known(err)
		}
		if n%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return wrap(readFailed, rows.Err())
}

// collect returns what scan makes of all rows of a statement.
func collect[T any](query queryFunc, scan func(sqlstore.Row) (T, error), text string, args ...any) (all []T, err error) {
	err = query(func(rows sqlstore.Row) (bool, error) {
		x, err := scan(rows)
		all = append(all, x)
		return true, err
	}, text, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// scanKey reads a row of one number.
func scanKey(rows sqlstore.Row) (key int64, err error) {
	return key, rows.Scan(&key)
}

// first reads one row, or returns sql.ErrNoRows.
func first(query queryFunc, dest []any, text string, args ...any) error {
	found := false
	err := query(func(rows sqlstore.Row) (bool, error) {
		found = true
		return false, rows.Scan(dest...)
	}, text, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}
