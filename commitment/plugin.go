package commitment

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// errMisbehaved is the cause of an error about a part of the host that did not return.
var errMisbehaved = errors.New("commitment: a part of the host misbehaved")

// ask calls a part of the host in a goroutine of its own, so that neither one that hangs nor
// one that panics takes its caller, and in a tick all other tenants, along. What does not answer
// until [memory.PluginTimeout] or the end of the context has failed.
func ask[T any](ctx context.Context, part string, f func(context.Context) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	asked, cancel := context.WithTimeout(ctx, memory.PluginTimeout)
	defer cancel()
	replies := make(chan reply, 1)
	go func() {
		r := reply{err: hostFailed(part+" did not return", errMisbehaved)} // unless it does
		defer func() {
			if p := recover(); p != nil {
				r.err = hostFailed(part+" panicked", fmt.Errorf("%w: %v", errMisbehaved, p))
			}
			replies <- r
		}()
		value, err := f(asked)
		r = reply{value, err}
	}()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-asked.Done():
	}
	select { // an answer in the same moment counts
	case r := <-replies:
		return r.value, r.err
	default:
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return none, hostFailed(part+" did not answer in time", errMisbehaved)
}
