package postgres

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/openwop/agentmemory/memory"
)

// ErrNewerSchema is returned by [Open] for a database that a newer release has
// migrated. Nothing was changed.
var ErrNewerSchema = errors.New("postgres: the database has a newer schema than this release knows")

// ErrOutcomeUnknown: the connection was lost after a change had been sent, and
// whether it was made is not known. It is not returned for calls that the store could
// repeat.
var ErrOutcomeUnknown = errors.New("postgres: it is not known whether the change was made")

// failure has a fixed text. What the driver said is behind Unwrap only.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }

// Is makes every failure one of the store.
func (f *failure) Is(target error) bool { return target == error(memory.ErrInternal) }

func (f *failure) Unwrap() error { return f.cause }

// failed shapes an error for the caller.
func failed(ctx context.Context, err error) error {
	var kind *memory.Kind
	var known *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return kind
	case errors.As(err, &known):
		return err
	}
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		err = errors.Join(end, err)
	}
	return &failure{"postgres: the database failed", err}
}

// unknown shapes the error of a change that may have been made.
func unknown(err error) error {
	return &failure{ErrOutcomeUnknown.Error(), errors.Join(ErrOutcomeUnknown, err)}
}

func codeOf(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return ""
}

const (
	uniqueViolation   = "23505"
	queryCanceled     = "57014"
	idleInTransaction = "25P03"
)

// aborted reports whether the server says that it has undone the transaction because
// of others, so that it may succeed the next time.
func aborted(err error) bool {
	code := codeOf(err)
	return code == "40001" || code == "40P01"
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
	var connect *pgconn.ConnectError
	var network net.Error
	return pgconn.SafeToRetry(err) || errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
