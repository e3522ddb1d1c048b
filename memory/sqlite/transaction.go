package sqlite

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/groupcommit"
)

// tx is what a call does in a write transaction. Once a method has failed the others do
// nothing, and the transaction fails with that error.
type tx struct {
	w   *writer
	ctx context.Context // ends it between two statements
	err error
	// version is the next one of the tenant that begin was told, which used so much but for what waits.
	version int64
	used    driver.Limits
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
	return db.writer.run(ctx, &call{do: func(t *tx) error {
		if err := t.begin(""); err != nil {
			return err
		}
		return f(t)
	}}, alone)
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
			w.reopen(err)
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
		if open = !notAllowed(t.err); !open {
			w.reopen(t.err)
		}
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

// beginning reads the version of the schema, the note of an erasure, and the last version of a tenant.
const beginning = `SELECT CAST(s.value AS INTEGER) > ?2, ifnull(u.value, ''), 1 + ifnull(v.version, 0), ifnull(v.entries, 0), ifnull(v.bytes, 0)
	FROM meta s LEFT JOIN meta u ON u.key = 'unclean' LEFT JOIN versions v ON v.tenant = ?1
	WHERE s.key = 'schema' ORDER BY v.version DESC LIMIT 1`

// begin fails if the database is no longer what this program knows, learns whether any process has
// erased something and did not empty the log, and reads what the next version of a tenant is made from.
func (t *tx) begin(tenant string) error {
	var newer bool
	var note string
	if err := first(t.query, []any{&newer, &note, &t.version, &t.used.Entries, &t.used.Bytes}, beginning, tenant, len(migrations)); err != nil {
		_, why := schemaVersion(t.w.conn)
		newer = why == ErrNewerSchema // which has no such columns
	}
	switch {
	case newer:
		t.err = ErrNewerSchema
	case note == "":
	case note == t.w.cleaned:
		t.exec(`DELETE FROM meta WHERE key = 'unclean'`)
	default:
		t.w.unclean = note
	}
	return t.err
}

func (w *writer) rollback() {
	if _, err := w.exec("ROLLBACK"); err != nil {
		w.abandonConn()
	}
}
