package groupcommit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// What callers share a transaction, at most.
const (
	MaxCalls = 64
	MaxBytes = 4 << 20
)

// Queue commits calls, those of the same key one transaction after the other. Its fields are
// set before the first call and not changed. Its methods are safe for concurrent use.
type Queue[K comparable, T any] struct {
	// Commit runs a transaction. When it has the writer, or is about to get it, it calls take
	// once, whose calls are the transaction's, in their order, under the context beside them;
	// until then it runs under ctx, that of the first of them. It leaves the answer of each call
	// in the call: what it refuses is no error of the transaction. If it returns an error,
	// nothing was committed, unless the error matches Unknown. A call can be taken twice: by a
	// transaction that failed, and again by one of its own.
	Commit func(ctx context.Context, take func() (context.Context, []T)) error
	// Unknown is what an error matches if it is not known whether the transaction was committed.
	Unknown error

	mu    sync.Mutex
	lines map[K][]*waiter[T] // the first leads; a key without callers is left out
}

// waiter is a caller, from its arrival until it is taken.
type waiter[T any] struct {
	ctx   context.Context
	call  T
	bytes int
	err   error         // its answer
	wake  chan struct{} // closed when it is answered, or is to lead
	leads bool
}

// Do commits a call of so many bytes and returns nil once it is committed or refused, which
// the call says itself. An error is that of the transaction or the context: nothing was
// committed, unless it matches Unknown.
func (q *Queue[K, T]) Do(ctx context.Context, key K, call T, bytes int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiter[T]{ctx: ctx, call: call, bytes: bytes}
	if !q.arrive(key, w) {
		select {
		case <-w.wake:
		case <-ctx.Done():
			if q.leave(key, w) {
				return ctx.Err()
			}
			<-w.wake
		}
		if !w.leads {
			return w.err
		}
	}
	return q.lead(key, w)
}

// arrive puts a caller at the end of its line, and reports whether it leads.
func (q *Queue[K, T]) arrive(key K, w *waiter[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines == nil {
		q.lines = map[K][]*waiter[T]{}
	}
	if _, led := q.lines[key]; led {
		w.wake = make(chan struct{})
	} else {
		w.leads = true
	}
	q.lines[key] = append(q.lines[key], w)
	return w.leads
}

// leave takes a caller out of its line, unless it was taken or is to lead.
func (q *Queue[K, T]) leave(key K, w *waiter[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.lines[key], w)
	if i < 0 || w.leads {
		return false
	}
	q.lines[key] = slices.Delete(q.lines[key], i, i+1)
	return true
}

// lead commits the call of w and of those behind it that share its transaction.
func (q *Queue[K, T]) lead(key K, w *waiter[T]) error {
	group, answered := []*waiter[T]{w}, 0
	answer := func(err error) {
		x := group[answered]
		if x.err = err; x != w {
			close(x.wake)
		}
		answered++
	}
	defer func() { // in any case: the code that commits may panic
		for answered < len(group) {
			answer(q.Unknown)
		}
		if answered > 1 {
			runtime.Gosched() // those that call again at once are in time for the next transaction
		}
		q.handOn(key, w)
	}()
	err := w.ctx.Err()
	if err == nil {
		err = q.Commit(w.ctx, func() (context.Context, []T) {
			group = q.take(key, w)
			return share(group)
		})
	}
	again := err != nil && len(group) > 1 && !errors.Is(err, q.Unknown)
	for answered < len(group) {
		if again {
			err = q.alone(group[answered])
		}
		answer(err)
	}
	return w.err
}

// alone commits the call of w in a transaction of its own, which ends with its context.
func (q *Queue[K, T]) alone(w *waiter[T]) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return q.Commit(w.ctx, func() (context.Context, []T) { return share([]*waiter[T]{w}) })
}

// share returns the calls of a transaction and what it runs under.
func share[T any](group []*waiter[T]) (context.Context, []T) {
	calls := make([]T, len(group))
	for i, w := range group {
		calls[i] = w.call
	}
	if len(group) == 1 {
		return group[0].ctx, calls
	}
	return context.Background(), calls
}

// take takes w and those behind it that share its transaction out of the line. Whose
// context has ended leaves by itself.
func (q *Queue[K, T]) take(key K, w *waiter[T]) []*waiter[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	group, size, full := []*waiter[T]{w}, w.bytes, false
	q.lines[key] = slices.DeleteFunc(q.lines[key], func(x *waiter[T]) bool {
		if x == w || full || x.ctx.Err() != nil {
			return x == w
		}
		if full = len(group) == MaxCalls || x.bytes > MaxBytes-size; !full {
			group, size = append(group, x), size+x.bytes
		}
		return !full
	})
	return group
}

// handOn has the first that waits lead, w being out of the line.
func (q *Queue[K, T]) handOn(key K, w *waiter[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[key]
	if len(line) > 0 && line[0] == w {
		line = line[1:]
	}
	if len(line) == 0 {
		delete(q.lines, key)
		return
	}
	q.lines[key] = line
	line[0].leads = true
	close(line[0].wake)
}
