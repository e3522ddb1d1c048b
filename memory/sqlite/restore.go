package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Restore replaces the database at path, which no process may have open, and its log by a
// backup. A log (-wal) beside the backup is part of it. The backup is checked as a whole first
// and left as it is. If Restore fails or is killed, the database is the old one or the new one.
//
// What was forgotten since the backup was made is there again: give the bank its ledger of
// erasures before anything else uses the database, see the README.
//
// Errors: [ErrForeignFile] and [ErrNewerSchema] of the backup, [driver.ErrValidation] for a path
// that names no file, ctx.Err(), or one that matches [driver.ErrInternal]: the backup is damaged,
// a process has the database open, or what the file system said, behind errors.Unwrap.
func Restore(ctx context.Context, backup, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	inUse.Lock()
	defer inUse.Unlock()
	backup, err := fileName(backup)
	if err != nil {
		return err
	}
	if backup, err = filepath.EvalSymlinks(backup); err != nil {
		return wrap("there is no such backup, which is the first of the two paths", err)
	}
	if path, err = fileName(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return wrap(restoreFailed, err)
		}
	}
	for _, name := range []string{backup, path} {
		if info, err := os.Stat(name); err == nil {
			if err := checkRegular(info); err != nil {
				return err
			}
		}
	}
	if backup == path || inUse.times[backup] > 0 {
		return fail("the backup is the database itself, or this process has it open: name a copy that no process uses", nil)
	}
	copied := path + "-restore"
	defer os.Remove(copied)
	defer removeLogs(copied)
	if err = removeLogs(copied); err == nil { // of one that was killed
		err = copyFile(backup, copied)
	}
	if err == nil {
		if err = copyFile(backup+"-wal", copied+"-wal"); os.IsNotExist(err) {
			err = nil
		}
	}
	if err != nil {
		return wrap(restoreFailed, err)
	}
	if err := makeWhole(ctx, copied); err != nil {
		return err
	}
	if err := foldLog(ctx, path); err != nil {
		return err
	}
	// SQLite would apply a log to any file beside it: the log goes first.
	if err = removeLogs(path); err == nil {
		err = os.Rename(copied, path)
	}
	if dir, failed := os.Open(filepath.Dir(path)); failed == nil {
		dir.Sync() // not every system can
		dir.Close()
	}
	return wrap(restoreFailed, err)
}

const restoreFailed = "the backup cannot be restored"

// removeLogs removes the logs of a database: the one in use, and the journal that a process leaves
// if it is killed while it turns that one on or off.
func removeLogs(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// foldLog fails if any process has a database open. Otherwise SQLite moves its log into it, so
// that it is whole if this is killed before the backup is there.
func foldLog(ctx context.Context, path string) error {
	open := fail("a process has the database open: stop every host that uses it first", nil)
	if inUse.times[path] > 0 {
		return open
	}
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	db, err := sql.Open("sqlite", fileURI(path))
	if err != nil {
		return wrap(restoreFailed, err)
	}
	defer db.Close()
	var mode string
	err = db.QueryRowContext(ctx, `PRAGMA journal_mode = DELETE`).Scan(&mode)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case busy(err):
		return open
	case notAllowed(err), noRoom(err): // a process may have it open
		return wrap(restoreFailed, err)
	}
	return nil // what is damaged is replaced
}

// makeWhole checks a backup and moves its log into it.
func makeWhole(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", fileURI(path))
	if err != nil {
		return wrap(restoreFailed, err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return wrap(restoreFailed, err)
	}
	defer conn.Close()
	version, err := schemaVersion(conn)
	if err == nil && version == 0 {
		err = ErrForeignFile
	}
	if err != nil {
		return err
	}
	var verdict, mode string
	err = conn.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict)
	if err == nil && verdict != "ok" {
		err = errors.New(verdict)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return wrap("the backup is damaged", err)
	}
	err = conn.QueryRowContext(ctx, `PRAGMA journal_mode = DELETE`).Scan(&mode)
	return wrap(restoreFailed, err)
}

// copyFile copies a file for its owner only, and waits for the disk.
func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Sync(), w.Close())
}
