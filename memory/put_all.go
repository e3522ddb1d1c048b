package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// PutAll writes drafts to a ref in one mutation: all of them are stored, with their events, and
// all that they replace is [Superseded], or nothing happens. It returns the entries in the order
// of the drafts. The run sees them from then on, and no longer what they replace. In a replay
// nothing is written: the recorded ids and instants come back, and drafts with a Name that are not
// in the record are refused as the name was then. No record tells which of two equal writes under a
// name was refused: a replay stores the first and refuses the second.
//
// Errors: [ErrNotFound] if the run does not see an entry of Draft.Replaces; [ErrConflict] if
// another caller has replaced, merged or deleted one since the run started, if it has expired, or
// if another live entry has a Draft.Name, also one that the run does not see; otherwise those of
// [Run.Put]. A draft with a Key is [ErrValidation]. After any of them nothing was written, but
// for [ErrInternal].
func (r *Run) PutAll(ctx context.Context, ref string, drafts ...Draft) (stored []Entry, err error) {
	ctx, span := r.bank.begin(ctx, telemetry.Put)
	defer span.Done(&err)
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	var s Scope
	for i := range drafts {
		if s, err = r.writable(ctx, ref, &drafts[i]); err != nil {
			return nil, err
		}
	}
	if r.replay != nil {
		return r.replay.putAll(ctx, s, drafts)
	}
	if stored, err = r.putAll(ctx, s, drafts, r.lookUp); err != nil {
		return nil, err
	}
	r.viewLock.Lock()
	for i, e := range stored {
		r.view.replace(ref, drafts[i].Replaces, ownEntry{id: e.ID, createdAt: e.CreatedAt})
	}
	r.viewLock.Unlock()
	span.Add(countWrites(drafts, stored)...)
	return stored, nil
}

// PutAll writes drafts in one mutation, as [Run.PutAll] does, in place of entries that are live.
func (j *Job) PutAll(ctx context.Context, ref string, drafts ...Draft) (stored []Entry, err error) {
	ctx, span := j.Begin(ctx, telemetry.Put)
	defer span.Done(&err)
	s, err := j.enter(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	if stored, err = j.putAll(ctx, s, drafts, j.held); err == nil {
		span.Add(countWrites(drafts, stored)...)
	}
	return stored, err
}

// putOne writes a draft that has a name or replaces other entries.
func putOne(ctx context.Context, putAll putAllFunc, ref string, d Draft) (Entry, error) {
	stored, err := putAll(ctx, ref, d)
	if err != nil {
		return Entry{}, err
	}
	return stored[0], nil
}

type putAllFunc func(ctx context.Context, ref string, drafts ...Draft) ([]Entry, error)

// countWrites is what telemetry is told of drafts that were stored.
func countWrites(drafts []Draft, stored []Entry) []telemetry.Counted {
	records, redacted := len(stored), 0
	for i := range stored {
		records += len(drafts[i].Replaces)
		redacted += redactions(&drafts[i], &stored[i])
	}
	return []telemetry.Counted{telemetry.Records.Of(records), telemetry.Redactions.Of(redacted)}
}

// putAll commits drafts in one mutation. find returns an entry that a draft replaces.
func (w writer) putAll(ctx context.Context, s Scope, drafts []Draft, find findFunc) ([]Entry, error) {
	ending, err := endings(drafts)
	if err != nil || len(drafts) == 0 {
		return nil, err
	}
	if err := w.bank.changeable("PutAll"); err != nil {
		return nil, err
	}
	for {
		m := driver.Mutation{At: w.bank.Now()}
		stored := make([]Entry, 0, len(drafts))
		for _, d := range drafts {
			e, err := w.replacing(ctx, s, d, find)
			if err != nil {
				return nil, err
			}
			w.addTo(&m, s, e, d)
			stored = append(stored, e)
		}
		if m.Documents, err = w.bank.takeNames(ctx, s, drafts, stored, ending); err != nil {
			return nil, err
		}
		if _, err = w.bank.apply(ctx, s.Tenant, m); err == nil {
			return handOut(stored), nil
		}
		if !errors.Is(err, ErrConflict) {
			return nil, err
		}
		for id := range ending {
			if _, err := w.held(ctx, s, id); err != nil {
				return nil, errEnded(err)
			}
		}
		// Another caller has taken a name meanwhile, or left it.
	}
}

// findFunc returns an entry that may be replaced.
type findFunc func(ctx context.Context, s Scope, id string) (Entry, error)

// endings are the entries that drafts replace, each of them once.
func endings(drafts []Draft) (map[string]bool, error) {
	ending, names := map[string]bool{}, map[string]bool{}
	for _, d := range drafts {
		if d.Key != "" {
			return nil, fail(ErrValidation, "Draft.Key is set beside Name or Replaces, or for PutAll: leave it empty")
		}
		for _, id := range d.Replaces {
			switch {
			case !validID(id):
				return nil, fail(ErrNotFound, "")
			case ending[id]:
				return nil, fail(ErrValidation, "Draft.Replaces names an entry twice")
			}
			ending[id] = true
		}
		if names[d.Name] {
			return nil, fail(ErrValidation, "two drafts have the same Draft.Name")
		}
		names[d.Name] = d.Name != ""
	}
	return ending, nil
}

// addTo adds the write of an entry, which d is the draft of, to a mutation.
func (w writer) addTo(m *driver.Mutation, s Scope, e Entry, d Draft) {
	one := w.putting(s, e, d)
	m.Put, m.Events = append(m.Put, one.Put...), append(m.Events, one.Events...)
	for _, old := range located(s, d.Replaces) {
		m.Retire = append(m.Retire, driver.Retirement{Located: old, State: Superseded, For: e.ID})
	}
}

// replacing is the entry of a draft, which takes over from those that it replaces.
func (w writer) replacing(ctx context.Context, s Scope, d Draft, find findFunc) (Entry, error) {
	var replaced []Entry
	for _, id := range d.Replaces {
		old, err := find(ctx, s, id)
		if err != nil {
			return Entry{}, err
		}
		replaced = append(replaced, old)
	}
	if len(replaced) == 0 {
		return w.entry(ctx, d, false, w.bank.Now())
	}
	return w.successor(ctx, d, joined(replaced), w.bank.Now())
}

// joined is the first of some entries, about the subjects of all: what replaces them may say what any of them said (M10).
func joined(entries []Entry) *Entry {
	first := entries[0]
	first.Subjects = slices.Clone(first.Subjects)
	for _, e := range entries[1:] {
		for _, subject := range e.Subjects {
			if !slices.Contains(first.Subjects, subject) {
				first.Subjects = append(first.Subjects, subject)
			}
		}
	}
	return &first
}

// held returns a live entry.
func (w writer) held(ctx context.Context, s Scope, id string) (Entry, error) {
	recs, err := w.bank.tx.Lookup(ctx, s, []string{id})
	switch {
	case err != nil:
		return Entry{}, shape(err)
	case len(recs) == 0 || recs[0].Erased:
		return Entry{}, fail(ErrNotFound, "")
	case recs[0].State != Live || !recs[0].Entry.LiveAt(w.bank.Now()):
		return Entry{}, errReplaced
	}
	return recs[0].Entry, nil
}

var errReplaced = fail(ErrConflict, "an entry of Draft.Replaces has been replaced, merged or deleted, or has expired")

// errEnded is the error of a write whose mutation was refused, since an entry is not held any more.
func errEnded(err error) error {
	if errors.Is(err, ErrNotFound) {
		return errReplaced
	}
	return err
}
