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
	seen map[string]struct{} // event ids
	next int64
}

// admit gives a record its place, or reports false if the run's log has it.
func (l *ledger) admit(rec Record) (RunEvent, bool) {
	run := l.run(runKey{rec.Tenant, rec.RunID})
	if _, dup := run.seen[rec.ID]; dup {
		return RunEvent{}, false
	}
	ev := RunEvent{Record: rec, Sequence: run.next}
	run.seen[rec.ID] = struct{}{}
	run.next++
	return ev, true
}

func (l *ledger) run(key runKey) *runLedger {
	run := l.runs[key]
	if run == nil {
		if l.runs == nil {
			l.runs = make(map[runKey]*runLedger)
		}
		run = &runLedger{seen: make(map[string]struct{})}
		l.runs[key] = run
	}
	return run
}

// clone copies a record so that it shares no memory that a caller could change.
func clone(rec Record) Record {
	switch p := rec.Payload.(type) {
	case MemoryWritten:
		p.Tags = slices.Clone(p.Tags)
		rec.Payload = p
	case MemoryCompacted:
		p.SourceIDs = slices.Clone(p.SourceIDs)
		if p.Distillation != nil {
			d := *p.Distillation
			if d.IndexUpdated != nil {
				updated := *d.IndexUpdated
				d.IndexUpdated = &updated
			}
			p.Distillation = &d
		}
		rec.Payload = p
	case MemoryConsolidated:
		p.MergedIDs = slices.Clone(p.MergedIDs)
		rec.Payload = p
	case ProposalCreated:
		p.SourceRunIDs = slices.Clone(p.SourceRunIDs)
		rec.Payload = p
	}
	return rec
}
