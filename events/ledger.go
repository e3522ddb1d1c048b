package events

import "slices"

// ledger numbers the events of each run's log and knows which are in it (E3).
// The zero value is empty.
type ledger struct {
	runs map[runKey]*runLedger
}

// runKey is a run: ids are only unique within a tenant.
type runKey struct{ tenant, run string }

type runLedger struct {
	seen  map[string]int64 // by event id, the sequence
	where []int64          // by sequence, where the log has the event
}

// check returns [ErrTaken] if one of the records has the id of another payload, in the log or
// among them. payload reads one of the log from where it is.
func (l *ledger) check(recs []Record, payload func(where int64) (Payload, error)) error {
	batch := map[[3]string]Payload{}
	for _, rec := range recs {
		name := [3]string{rec.Tenant, rec.RunID, rec.ID}
		there, known := batch[name]
		if run := l.runs[runKey{rec.Tenant, rec.RunID}]; run != nil && !known {
			var sequence int64
			if sequence, known = run.seen[rec.ID]; known {
				var err error
				if there, err = payload(run.where[sequence]); err != nil {
					return err
				}
			}
		}
		if known && !SamePayload(there, rec.Payload) {
			return ErrTaken
		}
		batch[name] = rec.Payload
	}
	return nil
}

// admit gives a record its sequence, or reports false if the run's log has it. The log has
// it where the second argument says, which [ledger.moved] may correct.
func (l *ledger) admit(rec Record, where int64) (RunEvent, bool) {
	run := l.run(runKey{rec.Tenant, rec.RunID})
	if _, dup := run.seen[rec.ID]; dup {
		return RunEvent{}, false
	}
	ev := RunEvent{Record: rec, Sequence: int64(len(run.where))}
	run.seen[rec.ID] = ev.Sequence
	run.where = append(run.where, where)
	return ev, true
}

// moved says where the log has an event.
func (l *ledger) moved(ev *RunEvent, where int64) {
	l.runs[runKey{ev.Tenant, ev.RunID}].where[ev.Sequence] = where
}

// page is where the log has the events of a run from a sequence on, as many as a
// [RunLog.Read] may return.
func (l *ledger) page(tenant, runID string, from int64, limit int) []int64 {
	run := l.runs[runKey{tenant, runID}]
	if run == nil || from >= int64(len(run.where)) {
		return nil
	}
	where := run.where[max(from, 0):]
	return slices.Clone(where[:min(len(where), PageSize(limit))])
}

func (l *ledger) run(key runKey) *runLedger {
	run := l.runs[key]
	if run == nil {
		if l.runs == nil {
			l.runs = make(map[runKey]*runLedger)
		}
		run = &runLedger{seen: make(map[string]int64)}
		l.runs[key] = run
	}
	return run
}
