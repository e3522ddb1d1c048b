package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// ErrNewerSchema is returned for a database that a newer release has migrated: by [Open], and by
// everything that would write if that happened since. Nothing was changed.
var ErrNewerSchema = errors.New("mysql: the database has a newer schema than this release knows")

// ErrOutcomeUnknown is [driver.ErrOutcomeUnknown]: a change had been sent, and the connection was lost
// before the server told whether it was made.
var ErrOutcomeUnknown = driver.ErrOutcomeUnknown

// errTaken refuses an event whose id names another payload.
var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

// checkSchema reads the number of the schema.
func checkSchema(row sqlstore.Row) error {
	var number int
	err := row.Scan(&number)
	if err == nil && number > len(migrations) {
		err = ErrNewerSchema
	}
	return err
}

// failed shapes an error for the caller.
func failed(ctx context.Context, err error) error {
	var known *driver.Error
	var kind *driver.Kind
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNewerSchema):
		return ErrNewerSchema
	case errors.As(err, &known):
		return known
	case errors.As(err, &kind):
		return kind
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return driver.ErrInternal.With("the database failed", err)
}

// codeOf is the number of an error that the server has told, or 0.
func codeOf(err error) uint16 {
	if said, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return said.Number
	}
	return 0
}

// aborted reports whether the server says that it has undone a statement because of others, or has
// not begun it, so that it may succeed the next time.
func aborted(err error) bool {
	const (
		tooManyConnections = 1040
		duplicateEntry     = 1062 // which another transaction has made since it was looked up
		lockWaitTimeout    = 1205
		deadlock           = 1213
	)
	return slices.Contains([]uint16{tooManyConnections, duplicateEntry, lockWaitTimeout, deadlock}, codeOf(err))
}

// isThere reports whether what was to be added is there, or the counter that it was to be added by is NULL.
func isThere(err error) bool {
	const duplicateEntry, mayNotBeNull = 1062, 1048
	return codeOf(err) == duplicateEntry || codeOf(err) == mayNotBeNull
}

// lost reports whether the connection failed. Anything that was sent may have happened.
func lost(err error) bool {
	const (
		serverShutdown   = 1053
		abortedConn      = 1152
		readError        = 1158
		writeTimeout     = 1161 // and those between
		newAbortedConn   = 1184
		connectionKilled = 1927 // of MariaDB
	)
	switch code := codeOf(err); {
	case code == 0:
	case code >= readError && code <= writeTimeout:
		return true
	default:
		return slices.Contains([]uint16{serverShutdown, abortedConn, newAbortedConn, connectionKilled}, code)
	}
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sqldriver.ErrBadConn) || errors.As(err, new(net.Error)) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
