package postgres

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// ErrNewerSchema is returned for a database that a newer release has migrated: by [Open],
// and by everything that would write if that happened since, or if the tables were spread
// over the nodes of a cluster since. Nothing was changed.
var ErrNewerSchema = errors.New("postgres: the database has a newer schema than this release knows")

// ErrOutcomeUnknown: a change had been sent, and whether it was made, or will survive a
// failover, is not known. Either the connection was lost, for a call that the store could not
// repeat; or the context ended, and the server made the change although it had been asked to
// give up: it may have stopped waiting for a synchronous standby.
var ErrOutcomeUnknown = driver.ErrOutcomeUnknown

// failed shapes an error for the caller.
func failed(ctx context.Context, err error) error {
	var known *driver.Error
	var kind *driver.Kind
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &kind):
		return kind
	case codeOf(err) == divisionByZero:
		return ErrNewerSchema
	case codeOf(err) == notNull:
		return driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return driver.ErrInternal.With("the database failed", err)
}

func codeOf(err error) string {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return said.Code
	}
	return ""
}

const (
	uniqueViolation   = "23505"
	queryCanceled     = "57014"
	idleInTransaction = "25P03"
	tooManyClients    = "53300"
	divisionByZero    = "22012" // only checkSchema divides
	notNull           = "23502" // only an event whose id names another payload breaks it
	internalError     = "XX000"
)

// aborted reports whether the server says that it has undone the transaction because
// of others, or has not begun it, so that it may succeed the next time.
func aborted(err error) bool {
	code := codeOf(err)
	return code == "40001" || code == "40P01" || code == tooManyClients
}

// lost reports whether the connection failed. Anything that was sent may have
// happened.
func lost(err error) bool {
	switch code := codeOf(err); code {
	case "":
	case "57P01", "57P02", "57P03": // the server goes down, or comes up
		return true
	case "40003": // a cluster does not know it itself
		return true
	default:
		return code[:2] == "08"
	}
	return pgconn.SafeToRetry(err) || errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
