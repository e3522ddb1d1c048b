package memory

import (
	"context"
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
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		select { // an answer in the same moment counts
		case r := <-replies:
			return r.value, r.err
		default:
			var none T
			return none, failWith(ErrInternal, part+" did not answer in time", ctx.Err())
		}
	}
}

// within is ask for a part that answers nothing.
func within(ctx context.Context, part string, f func(context.Context) error) error {
	_, err := ask(ctx, part, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}
