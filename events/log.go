package events

import (
	"context"
	"sync"
)

// Log is a run-event log in memory, for tests and for hosts whose runs do not
// outlive the process. It numbers the events of each (tenant, run) from 0 and
// drops an id that the run's log already has; the first record with an id stays.
//
// The zero value is ready for use. All methods are safe for concurrent use. What
// goes in and what comes out is copied.
type Log struct {
	mu     sync.RWMutex
	ledger ledger
	all    []RunEvent
	byRun  map[runKey][]int // positions in all
}

// Emit appends the records, all or none. It fails with an error that matches
// [ErrInvalid] when one of them is invalid, and with the context's error when
// that is done.
func (l *Log) Emit(ctx context.Context, recs ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := validate(recs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range recs {
		ev, fresh := l.ledger.admit(clone(rec))
		if !fresh {
			continue
		}
		if l.byRun == nil {
			l.byRun = make(map[runKey][]int)
		}
		key := runKey{ev.Tenant, ev.RunID}
		l.byRun[key] = append(l.byRun[key], len(l.all))
		l.all = append(l.all, ev)
	}
	return nil
}

// Events returns a run's log in sequence order, nil if it has none.
func (l *Log) Events(tenant, runID string) []RunEvent {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []RunEvent
	for _, i := range l.byRun[runKey{tenant, runID}] {
		out = append(out, l.copyAt(i))
	}
	return out
}

// All returns the events of all runs in the order in which they came.
func (l *Log) All() []RunEvent {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []RunEvent
	for i := range l.all {
		out = append(out, l.copyAt(i))
	}
	return out
}

func (l *Log) copyAt(i int) RunEvent {
	return RunEvent{Record: clone(l.all[i].Record), Sequence: l.all[i].Sequence}
}
