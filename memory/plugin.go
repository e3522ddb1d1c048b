package memory

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PluginTimeout is how long one call of a part that a host plugs in, such as a sink, a
// resolver or a redactor, may take. After that the call counts as failed; what it does later
// has no effect on memory.
const PluginTimeout = 30 * time.Second

// guard calls a part of the host and turns a panic into an error that names the part.
func guard(part string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = failWith(ErrInternal, part+" panicked", fmt.Errorf("panic: %v", r))
		}
	}()
	return f()
}

// ask calls a part of the host that may panic, hang or end its goroutine: it waits until
// the context or [PluginTimeout] ends, and then fails with an error that names the part.
func ask[T any](ctx context.Context, part string, f func(context.Context) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, PluginTimeout)
	defer cancel()
	replies := make(chan reply, 1) // what comes too late is read by nobody
	go func() {
		r := reply{err: fail(ErrInternal, part+" did not return")} // unless it does
		defer func() { replies <- r }()
		r.err = guard(part, func() (err error) {
			r.value, err = f(ctx)
			return err
		})
	}()
	late := func(cause error) error { return failWith(ErrInternal, part+" did not answer in time", cause) }
	var r reply
	select {
	case r = <-replies:
	case <-ctx.Done():
		select { // an answer in the same moment counts
		case r = <-replies:
		default:
			return r.value, late(ctx.Err())
		}
	}
	if ctx.Err() != nil && caller.Err() == nil && errors.Is(r.err, context.DeadlineExceeded) {
		r.err = late(r.err) // it is not the caller's time that was over
	}
	return r.value, r.err
}

// within is ask for a part that answers nothing.
func within(ctx context.Context, part string, f func(context.Context) error) error {
	_, err := ask(ctx, part, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}
