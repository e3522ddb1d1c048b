package sqlite

import (
	"database/sql"
	"errors"
)

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
