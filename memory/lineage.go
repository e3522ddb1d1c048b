package memory

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Outcome is what became of an entry.
type Outcome struct {
	// State is Live for an entry that is in lists now, Merged or Superseded for one
	// whose Head is, and otherwise Deleted: the entry and those that replaced it
	// were deleted, have expired or were forgotten.
	State driver.State
	// Head is the live entry at the end of the lineage; the entry itself if it is
	// live. It is zero if State is Deleted.
	Head Entry
	// Restorable says of an entry that was merged or superseded that [Rewrite.Restore] makes
	// it live again, also if those that replaced it have ended.
	Restorable bool
}

// Lineage returns what became of entries of a ref, by id. It follows each to the head of its
// lineage: through every entry that it was merged into or superseded by. Having been superseded anywhere
// on the way counts as [Superseded]. Ids that the ref never held, or that may not be known, are
// left out. It costs as many calls of the store as the longest lineage is long, or a few more.
// The store must be a Transactor.
func (b *Bank) Lineage(ctx context.Context, tenant, ref string, ids ...string) (map[string]Outcome, error) {
	if b.tx == nil {
		return nil, fail(ErrNotProvided, "lineage needs a store that is a driver.Transactor")
	}
	outcomes := map[string]Outcome{}
	s, ok, err := b.visible(ctx, tenant, ref)
	if !ok || err != nil {
		return outcomes, err
	}
	for {
		l := lineage{bank: b, recs: map[string]*Record{}, ends: map[string]lineageEnd{}}
		if err := l.read(ctx, s, ids); err != nil {
			return nil, err
		}
		if l.resolve(ids, outcomes) {
			if still, err := l.isUnchanged(ctx, s); still || err != nil {
				return outcomes, err
			}
		}
		clear(outcomes) // memory has moved while it was read
	}
}

// replaced finds the records whose lineage leads to others by one step.
func (b *Bank) replaced(ctx context.Context, tenant, ref string, by []string) (found []Record, err error) {
	if b.tx == nil {
		return nil, fail(ErrNotProvided, "lineage needs a store that is a driver.Transactor")
	}
	s, ok, err := b.visible(ctx, tenant, ref)
	by = slices.DeleteFunc(slices.Clone(by), func(id string) bool { return !validID(id) })
	if !ok || err != nil || len(by) == 0 { // without ids a history is the whole one
		return nil, err
	}
	for rec, err := range b.tx.History(ctx, s.Tenant, driver.HistoryQuery{Ref: s.Ref, For: by}) {
		if err != nil {
			return nil, shape(err)
		}
		if isReplaced(&rec) && !rec.Erased {
			found = append(found, rec)
		}
	}
	return found, nil
}

// lineage is a set of records with their successors. It has each of them once, however many
// lead to it.
type lineage struct {
	bank *Bank
	recs map[string]*Record // nil for one that is not there
	ends map[string]lineageEnd
}

// lineageEnd is the end of a record's lineage: head is the live entry there, or nil, and state is
// how the record leads to it.
type lineageEnd struct {
	state driver.State
	head  *Record
}

// read looks records up with all those that replaced them.
func (l *lineage) read(ctx context.Context, s Scope, ids []string) error {
	var names []string
	enqueue := func(id string) {
		if _, known := l.recs[id]; !known {
			l.recs[id] = nil
			names = append(names, id)
		}
	}
	for _, id := range ids {
		if validID(id) {
			enqueue(id)
		}
	}
	for len(names) > 0 {
		recs, err := lookup(ctx, l.bank.tx, s, names)
		if err != nil {
			return err
		}
		for i := range recs {
			l.recs[recs[i].Entry.ID] = &recs[i]
		}
		names = nil
		for i := range recs {
			if isReplaced(&recs[i]) {
				enqueue(recs[i].For)
			}
		}
	}
	return nil
}

// resolve finds the outcomes of those ids that the ref has held. It reports false if the
// records are not of one moment, so that one was replaced by itself.
func (l *lineage) resolve(ids []string, outcomes map[string]Outcome) bool {
	for _, id := range ids {
		rec := l.recs[id]
		if rec == nil {
			continue
		}
		e, ok := l.follow(id)
		if !ok {
			return false
		}
		outcome := Outcome{State: Deleted, Restorable: isReplaced(rec) && !rec.Erased && rec.Entry.LiveAt(l.bank.Now())}
		if e.head != nil {
			outcome.State, outcome.Head = e.state, ownCopy(e.head.Entry)
		}
		outcomes[id] = outcome
	}
	return true
}

// isUnchanged reports whether the records whose lineage ends in nothing are still as they were
// read. The entry that replaced one may have been erased meanwhile, and that one restored.
func (l *lineage) isUnchanged(ctx context.Context, s Scope) (bool, error) {
	var ids []string
	for id, e := range l.ends {
		if rec := l.recs[id]; e.head == nil && rec != nil && isReplaced(rec) {
			ids = append(ids, id)
		}
	}
	recs, err := lookup(ctx, l.bank.tx, s, ids)
	return !slices.ContainsFunc(recs, func(rec Record) bool {
		was := l.recs[rec.Entry.ID]
		return rec.State != was.State || rec.For != was.For
	}), err
}

// follow walks to the end of a lineage and remembers the way.
func (l *lineage) follow(id string) (lineageEnd, bool) {
	var way []*Record
	for {
		e, known := l.ends[id]
		rec := l.recs[id]
		switch {
		case known:
		case len(way) > len(l.recs):
			return lineageEnd{}, false
		case rec != nil && isReplaced(rec):
			way = append(way, rec)
			id = rec.For
			continue
		case rec != nil && rec.State == Live && !rec.Erased && rec.Entry.LiveAt(l.bank.Now()):
			e = lineageEnd{Live, rec}
		}
		l.ends[id] = e
		for _, rec := range slices.Backward(way) {
			e.state = max(e.state, rec.State)
			l.ends[rec.Entry.ID] = e
		}
		return e, true
	}
}

func isReplaced(rec *Record) bool { return rec.State == Merged || rec.State == Superseded }
