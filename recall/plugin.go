package recall

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// failure is an error of this package: a class of package memory and a fixed phrase. What a
// part of the host said is reachable by errors.Unwrap only.
type failure struct {
	kind  error
	text  string
	cause error
}

func (f *failure) Error() string        { return "recall: " + f.text }
func (f *failure) Is(target error) bool { return target == f.kind }
func (f *failure) Code() memory.Code    { return memory.CodeOf(f.kind) }
func (f *failure) Unwrap() error        { return f.cause }

func fail(kind error, text string, cause error) error { return &failure{kind, text, cause} }

// aside runs f in a goroutine of its own and gives its error to the channel, also if f panics
// or ends the goroutine.
func aside(part string, f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() {
		err := fail(memory.ErrInternal, part+" did not return", nil) // unless it does
		defer func() {
			if p := recover(); p != nil {
				err = fail(memory.ErrInternal, part+" panicked", fmt.Errorf("panic: %v", p))
			}
			ended <- err
		}()
		err = f()
	}()
	return ended
}

// ask calls a part of the host, which may panic, hang or fail, and waits no longer than
// [memory.PluginTimeout]. An error of the context is returned as it is.
func ask[T any](ctx context.Context, part string, f func(context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeout(ctx, memory.PluginTimeout)
	defer cancel()
	answer := make(chan T, 1)
	failed := aside(part, func() error {
		value, err := f(within)
		if err == nil {
			answer <- value
		}
		return err
	})
	var none T
	select {
	case err := <-failed:
		switch {
		case ctx.Err() != nil:
			return none, ctx.Err()
		case err == nil:
			return <-answer, nil
		}
		if f := (*failure)(nil); errors.As(err, &f) {
			return none, err
		}
		return none, fail(memory.ErrInternal, part+" failed", err)
	case <-within.Done():
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		return none, fail(memory.ErrInternal, part+" did not answer in time", within.Err())
	}
}
