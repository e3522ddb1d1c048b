package events

import (
	"context"
	"sync"
)

// Log is a [RunLog] in memory, for tests and for hosts whose runs do not outlive the
// process.
//
// The zero value is ready for use. All methods are safe for concurrent use. What
// goes in and what comes out is copied.
type Log struct {
	mu   sync.RWMutex
	all  []*RunEvent // in the order in which they came
	runs map[runKey][]*RunEvent
	ids  map[eventKey]*RunEvent
}

// runKey is a run: ids are only unique within a tenant.
type runKey struct{ tenant, run string }

type eventKey struct {
	runKey
	id string
}

func keyOf(r *Record) eventKey { return eventKey{runKey{r.Tenant, r.RunID}, r.ID} }

var _ RunLog = (*Log)(nil)

// Emit appends the records, all or none. It fails with an error that matches
// [ErrInvalid] when one of them is invalid, with [ErrTaken], and with the context's
// error when that is done.
func (l *Log) Emit(ctx context.Context, recs ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := validateRecords(recs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh, err := l.fresh(recs)
	if err != nil {
		return err
	}
	if l.ids == nil {
		l.runs, l.ids = map[runKey][]*RunEvent{}, map[eventKey]*RunEvent{}
	}
	for _, rec := range fresh {
		key := keyOf(&rec)
		ev := &RunEvent{Record: rec.Clone(), Sequence: int64(len(l.runs[key.runKey]))}
		l.ids[key] = ev
		l.runs[key.runKey] = append(l.runs[key.runKey], ev)
		l.all = append(l.all, ev)
	}
	return nil
}

// fresh returns the records that the log has not got, each once, or [ErrTaken] if one has the
// id of another payload, in the log or among them.
func (l *Log) fresh(recs []Record) (fresh []Record, err error) {
	batch := map[eventKey]Payload{}
	for i := range recs {
		key := keyOf(&recs[i])
		there := batch[key]
		if ev := l.ids[key]; ev != nil {
			there = ev.Payload
		}
		switch {
		case there == nil:
			batch[key] = recs[i].Payload
			fresh = append(fresh, recs[i])
		case !SamePayload(there, recs[i].Payload):
			return nil, ErrTaken
		}
	}
	return fresh, nil
}

// Read returns events of a run from a sequence on, see [Reader].
func (l *Log) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]RunEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	run := l.runs[runKey{tenant, runID}]
	run = run[min(max(from, 0), int64(len(run))):]
	return copies(run[:min(len(run), PageSize(limit))]), nil
}

// Events returns all of a run's log in sequence order, nil if it has none.
func (l *Log) Events(tenant, runID string) []RunEvent {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return copies(l.runs[runKey{tenant, runID}])
}

// All returns the events of all runs in the order in which they came.
func (l *Log) All() []RunEvent {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return copies(l.all)
}

func copies(evs []*RunEvent) (out []RunEvent) {
	for _, ev := range evs {
		out = append(out, RunEvent{Record: ev.Clone(), Sequence: ev.Sequence})
	}
	return out
}
