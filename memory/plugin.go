package memory

import (
	"context"
	"fmt"
	"time"
)

// PluginTimeout is how long one call of a host's sink or resolver may take. After that the
// call counts as failed; what it does later has no effect on memory.
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

// within is guard for a part that may also hang: it waits until the context or
// [PluginTimeout] ends.
func within(ctx context.Context, part string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, PluginTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- guard(part, func() error { return f(ctx) }) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		select { // an answer in the same moment counts
		case err := <-ended:
			return err
		default:
			return failWith(ErrInternal, part+" did not answer in time", ctx.Err())
		}
	}
}
