package sqlite

import (
	"errors"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/openwop/agentmemory/memory/driver"
)

// What [Open] refuses.
var (
	// ErrNewerSchema: a newer version of this package has made or migrated the
	// database, maybe while it was open here. It was left as it is.
	ErrNewerSchema = errors.New("sqlite: the database has a newer schema than this program knows, and was left as it is: use the newer program, or a backup of before")
	// ErrForeignFile: the file is a database of something else. It was left as it is.
	ErrForeignFile = errors.New("sqlite: the file is no database of agentmemory, and was left as it is: name another one")
	// ErrLinkedFile: the file has several names (hard links), each of which would have a
	// log of its own.
	ErrLinkedFile = errors.New("sqlite: the file has several names (hard links): remove all of them but one")
)

// ErrOutcomeUnknown is [driver.ErrOutcomeUnknown]: the disk failed while a change was
// committed, and whether it was made is not known.
var ErrOutcomeUnknown = driver.ErrOutcomeUnknown

// fail returns a failure of the store, whose text holds nothing of what is stored.
func fail(text string, cause error) error { return driver.ErrInternal.In("sqlite", text, cause) }

const (
	readFailed  = "reading failed"
	writeFailed = "writing failed, and nothing was changed"
	commitLost  = "the commit failed, and it is not known whether the change was made"
	openFailed  = "the database cannot be opened"
	lockTimeout = "another process holds the database's write lock"
	readTimeout = "another process keeps the database from being read"
	openTimeout = "another process keeps the database from being opened"
	notMoved    = "the log was not moved into the file: it has all that was acknowledged, and the next Open tries again"
	closed      = "the database is closed"
	damaged     = "the database holds something that this package did not write: restore a backup by Restore"
)

// Why a call failed that SQLite was asked for, if it says so.
const (
	corrupt  = "SQLite finds the file damaged: restore a backup by Restore; who copies one over a file removes its old logs (-wal, -journal) first"
	diskFull = "the disk is full or refuses to be written: make room, and call again"
	locked   = "this user cannot write the file, its log (-wal, -shm) or their directory, or the path is too long: make all of them writable, or the path shorter"
)

// refused is what a path gets that names no file.
func refused(text string) error { return driver.ErrValidation.With(text, nil) }

// code returns what SQLite calls an error, or 0.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}

// noDatabase reports whether SQLite does not know a file for one of its own.
func noDatabase(err error) bool { return code(err)&0xff == sqlite3.SQLITE_NOTADB }

// notWritten reports whether SQLite was refused a write, so that a commit did not reach
// the log as a whole. A sync that failed is another matter.
func notWritten(err error) bool {
	return code(err)&0xff == sqlite3.SQLITE_FULL || code(err) == sqlite3.SQLITE_IOERR_WRITE
}

// noRoom reports whether the disk has no room for a write, or for the index of the log. A commit
// that fails for the index may be whole in the log.
func noRoom(err error) bool { return notWritten(err) || code(err) == sqlite3.SQLITE_IOERR_SHMSIZE }

// notAllowed reports whether the file, its log or their directory is closed to this user.
func notAllowed(err error) bool {
	return slices.Contains([]int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}, code(err)&0xff)
}

// wrap hides what the driver said, if it said anything, and adds why if that is known.
func wrap(text string, err error) error {
	switch {
	case err == nil:
		return nil
	case code(err)&0xff == sqlite3.SQLITE_CORRUPT:
		text += ": " + corrupt
	case noRoom(err):
		text += ": " + diskFull
	case notAllowed(err):
		text += ": " + locked
	}
	return fail(text, err)
}

// known is the error of what reads a row, whose own errors are of this package or not.
func known(err error) error {
	var ours *driver.Error
	if err == nil || err == ErrNewerSchema || errors.As(err, &ours) {
		return err
	}
	return wrap(readFailed, err)
}

// busy reports whether another connection was in the way.
func busy(err error) bool { return code(err)&0xff == sqlite3.SQLITE_BUSY }
