package events

import (
	"context"
	"slices"
	"sync"
)

// Log is a [RunLog] in memory, for tests and for hosts whose runs do not outlive the
// process.
//
// The zero value is ready for use. All methods are safe for concurrent use. What
// goes in and what comes out is copied.
type Log struct {
	mu     sync.RWMutex
	ledger ledger // says where an event is in all
	all    []RunEvent
}

var _ RunLog = (*Log)(nil)

// Emit appends the records, all or none. It fails with an error that matches
// [ErrInvalid] when one of them is invalid, with [ErrTaken], and with the context's
// error when that is done.
func (l *Log) Emit(ctx context.Context, recs ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := validate(recs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.ledger.check(recs, func(where int64) (Payload, error) { return l.all[where].Payload, nil })
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if ev, fresh := l.ledger.admit(rec.Clone(), int64(len(l.all))); fresh {
			l.all = append(l.all, ev)
		}
	}
	return nil
}

// Read returns events of a run from a sequence on, see [RunLog].
func (l *Log) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]RunEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []RunEvent
	for _, i := range l.ledger.page(tenant, runID, from, limit) {
		out = append(out, l.copyAt(int(i)))
	}
	return out, nil
}

// Events returns all of a run's log in sequence order, nil if it has none.
func (l *Log) Events(tenant, runID string) []RunEvent {
	l.mu.RLock()
	defer l.mu.RUnlock()
	run := l.ledger.runs[runKey{tenant, runID}]
	if run == nil {
		return nil
	}
	var out []RunEvent
	for _, i := range run.where {
		out = append(out, l.copyAt(int(i)))
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

// Drop removes all events of a tenant, whose runs then begin at 0 again.
func (l *Log) Drop(tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.ledger.runs {
		if key.tenant == tenant {
			delete(l.ledger.runs, key)
		}
	}
	l.all = slices.DeleteFunc(l.all, func(ev RunEvent) bool { return ev.Tenant == tenant })
	for i := range l.all {
		l.ledger.moved(&l.all[i], int64(i))
	}
}

func (l *Log) copyAt(i int) RunEvent {
	return RunEvent{Record: l.all[i].Record.Clone(), Sequence: l.all[i].Sequence}
}
