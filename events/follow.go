package events

import (
	"context"
	"iter"
	"time"
)

// RunLog is the log of a host's runs: a [Sink] that numbers the events of each
// (tenant, run) from 0 without gaps, in the order in which they came, and can be read.
// [Log] is one for tests; package adaptertest proves a host's own.
//
// An event that is in the log stays there as it is, under its number. Of two events with
// one id and one payload in a run, the first stays, and the second takes no number; with
// another payload the Emit fails, as with [ErrTaken]. An Emit that fails leaves all of its
// events in the log or none.
type RunLog interface {
	Sink
	Reader
}

// Reader reads the log of runs: a [RunLog], or the events that a bank of memory keeps.
type Reader interface {
	// Read returns events of a run in the order of their sequence, beginning with the
	// sequence from, 0 being the first: at most limit of them, or 100 if limit is not
	// above 0. It may return fewer, but none only where the run has none from there on,
	// so that a reader continues behind what it got until nothing comes. It sees every
	// event of an Emit that returned before it began, and of an Emit under way all or
	// none, as far as one answer holds them. A run that the log does not have is empty.
	Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]RunEvent, error)
}

const (
	defaultPage = 100
	maxPage     = 1000
)

// PageSize is how many events a [RunLog] returns at most for a limit: the limit, 100 for
// one that is not above 0, and never more than 1,000.
func PageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// Follow yields the events of a run from a sequence on and then waits for more, which it
// asks the log for after each pause (100 ms if it is not above 0). It is what serves an
// event stream: a client that comes back with the last sequence that it has seen is
// followed from the one behind it. It does not know when a run is over: break at the
// terminal event of your runs, such as run.completed. Otherwise it ends after an error of the
// log, and with the context, whose error it yields.
func Follow(ctx context.Context, log Reader, tenant, runID string, from int64, pause time.Duration) iter.Seq2[RunEvent, error] {
	if pause <= 0 {
		pause = 100 * time.Millisecond
	}
	return func(yield func(RunEvent, error) bool) {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		for next := max(from, 0); ; {
			page, err := log.Read(ctx, tenant, runID, next, 0)
			if err != nil {
				yield(RunEvent{}, err)
				return
			}
			for _, ev := range page {
				if !yield(ev, nil) {
					return
				}
				next = ev.Sequence + 1
			}
			if len(page) > 0 {
				continue
			}
			timer.Reset(pause)
			select {
			case <-ctx.Done():
				yield(RunEvent{}, ctx.Err())
				return
			case <-timer.C:
			}
		}
	}
}
