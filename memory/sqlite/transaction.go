package sqlite

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/openwop/agentmemory/internal/groupcommit"
	"github.com/openwop/agentmemory/internal/sqlstore"
)

// tx is what a call does in a write transaction. Once a method has failed the others do
// nothing, and the transaction fails with that error.
type tx struct {
	w   *writer
	ctx context.Context // ends it between two statements
	err error
	// changed tells that rows were changed.
	changed bool
	// erased tells that text was removed, which is to leave the log too.
	erased bool
	// unused are bodies whose documents are removed.
	unused []int64
}

// call is what a caller wants to do in a transaction.
type call struct {
	do func(*tx) error
	// upgrades says that the database need not have our tables yet.
	upgrades bool
	// refused is what do returned if the transaction did not fail: nothing that the call did
	// is committed. It is set again if do is called again.
	refused error
}

// errUnchanged is returned by what has changed nothing, and is no error of it.
var errUnchanged = errors.New("sqlite: nothing to do")

// errChanged fails a transaction of several calls of which one was refused after it had changed
// something, so that each gets a transaction of its own.
var errChanged = errors.New("sqlite: a call was refused after it had changed something")

// alone is the size of a call that shares its transaction with no other.
const alone = groupcommit.MaxBytes + 1

// tx runs f in a transaction of its own, and commits it unless f fails or the context ends
// before the commit begins.
func (db *DB) tx(ctx context.Context, f func(*tx) error) error {
	return db.writer.run(ctx, &call{do: f}, alone)
}

// run runs a call of so many bytes, in a transaction with others that wait if there are any.
func (w *writer) run(ctx context.Context, c *call, bytes int) error {
	if err := w.calls.Do(ctx, struct{}{}, c, bytes); err != nil {
		return err
	}
	if c.refused == errUnchanged {
		return nil
	}
	return c.refused
}

// commit runs the calls that wait once it has the database's lock, and commits what they did.
func (w *writer) commit(ctx context.Context, take func() (context.Context, []*call)) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.closed {
		return fail(closed, nil)
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	begin := func() error { _, err := w.exec("BEGIN IMMEDIATE"); return err }
	if err := retry(ctx, begin, writeFailed, lockTimeout); err != nil {
		if errors.Unwrap(err) != nil { // not just a lock or a context
			w.abandonConn()
		}
		return err
	}
	open := true
	defer func() {
		if open {
			w.rollback()
		}
	}()
	ctx, calls := take()
	t := &tx{w: w, ctx: ctx}
	if !t.runAll(calls) {
		return t.err
	}
	if t.erased {
		if w.unclean = t.noteErasure(); t.err != nil { // also if the commit fails
			return t.err
		}
	}
	_, err := w.exec("COMMIT")
	switch open = notWritten(err); {
	case open:
		return wrap(writeFailed, err)
	case err != nil:
		w.abandonConn()
		return wrap(commitLost, errors.Join(ErrOutcomeUnknown, err))
	}
	w.emptyLog(t.erased)
	return nil
}

// runAll runs calls and reports whether there is anything to commit.
func (t *tx) runAll(calls []*call) (changed bool) {
	if !calls[0].upgrades {
		t.checkSchema()
	}
	for i := 0; i < len(calls) && t.err == nil; i++ {
		own := &tx{w: t.w, ctx: t.ctx}
		if calls[i].refused = calls[i].do(own); calls[i].refused == nil {
			own.emptyUnused()
			changed, t.erased = true, t.erased || own.erased
		} else if own.changed && own.err == nil && len(calls) > 1 {
			own.err = errChanged
		}
		t.err = own.err
	}
	return changed && t.err == nil
}

// noteErasure writes down that the log may hold text that was erased, until it is emptied.
func (t *tx) noteErasure() string {
	note := rand.Text()
	t.exec(`INSERT OR REPLACE INTO meta (key, value) VALUES ('unclean', ?)`, note)
	return note
}

// emptyUnused empties bodies whose documents are removed. Their rows stay: see the README.
func (t *tx) emptyUnused() {
	if len(t.unused) > 0 {
		t.erased = true
		t.exec(`UPDATE bodies SET subjects = NULL, value = NULL WHERE body IN (SELECT value FROM json_each(?))`, inJSON(t.unused))
	}
	t.unused = nil
}

// checkSchema fails if the database is no longer what this program knows, and learns whether
// any process has erased something and did not empty the log.
func (t *tx) checkSchema() {
	var newer, cleaned bool
	t.query(func(rows sqlstore.Row) (bool, error) {
		var note string
		if err := rows.Scan(&newer, &note); err != nil {
			return false, err
		}
		if newer {
			return false, ErrNewerSchema
		}
		if cleaned = note == t.w.cleaned; !cleaned {
			t.w.unclean = note
		}
		return true, nil
	}, `SELECT 1, value FROM meta WHERE key = 'schema' AND CAST(value AS INTEGER) > ?
		UNION ALL SELECT 0, value FROM meta WHERE key = 'unclean'`, len(migrations))
	if cleaned {
		t.exec(`DELETE FROM meta WHERE key = 'unclean'`)
	}
}

func (w *writer) rollback() {
	if _, err := w.exec("ROLLBACK"); err != nil {
		w.abandonConn()
	}
}
