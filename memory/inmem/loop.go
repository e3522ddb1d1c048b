package inmem

import (
	"context"
	"iter"
)

// each yields what show returns of each of a list, and leaves out those of which ok is false. No
// lock is held while the body of the loop runs.
func each[X, T any](ctx context.Context, list func() []X, show func(X) (x T, ok bool)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		found := list()
		for i := 0; i < len(found) && ctx.Err() == nil; i++ {
			if x, ok := show(found[i]); ok && !yield(x, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(*new(T), err)
		}
	}
}
