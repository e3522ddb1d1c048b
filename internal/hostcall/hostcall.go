package hostcall

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Error says what kept a part of the host from answering. It names the part, and holds nothing
// that the part said.
type Error struct {
	part, did string
	cause     error
}

// Error returns the part and what it did, such as "the planner panicked".
func (e *Error) Error() string { return e.part + " " + e.did }

// Unwrap returns the panic as an error, or nil. It never matches an error of a context: the time
// of a part is not the caller's.
func (e *Error) Unwrap() error { return e.cause }

// Misbehaved reports whether err, of a [Call] or an [Inline], is an [*Error] and not what the
// part returned.
func Misbehaved(err error) bool {
	_, ok := err.(*Error)
	return ok
}

// Late reports whether err, of a [Call], says that a part did not answer in its own time.
func Late(err error) bool {
	e, ok := err.(*Error)
	return ok && e.did == late
}

// What a part did.
const (
	late     = "did not answer in time"
	ended    = "did not return" // it ended its goroutine
	panicked = "panicked"
)

// Describe returns what err, of a [Call] or an [Inline] of part, says in fixed words:
// "the planner panicked", or "the planner failed" if the part itself returned err.
func Describe(part string, err error) string {
	if Misbehaved(err) {
		return err.Error()
	}
	return part + " failed"
}

// Failed returns the error of a [Call] or an [Inline] of part to a caller whose context is ctx: nil
// and the error of ctx as they are, and any other as the class makes it of what [Describe] says.
func Failed(ctx context.Context, part string, err error, class func(detail string, cause error) error) error {
	if err == nil || err == ctx.Err() {
		return err
	}
	return class(Describe(part, err), err)
}

// Inline calls a part in place and returns what it returns. A panic of the part is an [*Error].
// It is for parts that return promptly: nothing ends a call that hangs.
func Inline[T any](part string, f func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			value, err = *new(T), &Error{part, panicked, fmt.Errorf("panic: %v", r)}
		}
	}()
	return f()
}

// Call calls a part in a goroutine of its own, with a context that ends with ctx or after limit;
// a limit of 0 is none. It returns
//
//   - what the part returns, also at the very moment at which its time is over;
//   - the error of ctx, as it is, if ctx ended before the part answered, or the part failed then;
//     a context that has ended before calls nothing;
//   - an [*Error] if the part panicked, ended its goroutine, or did not answer within limit.
//
// With an error it returns the zero value. A part that still runs then is left alone.
func Call[T any](ctx context.Context, part string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if err := ctx.Err(); err != nil {
		return *new(T), err
	}
	within := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // an answer that comes too late is never read
	go func() {
		a := answer{err: &Error{part, ended, nil}}
		defer func() { answers <- a }()
		a.value, a.err = Inline(part, func() (T, error) { return f(within) })
	}()
	var a answer
	select {
	case a = <-answers:
	case <-within.Done():
		select {
		case a = <-answers:
		default:
			a.err = within.Err()
		}
	}
	if a.err == nil {
		return a.value, nil
	}
	if err := ctx.Err(); err != nil {
		return *new(T), err
	}
	if within.Err() != nil && errors.Is(a.err, context.DeadlineExceeded) {
		a.err = &Error{part, late, nil}
	}
	return *new(T), a.err
}
