package memory

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/events"
)

// Rewrite is a conditional change of one ref's memory by a background pass. It
// takes effect whole or not at all.
type Rewrite struct {
	// Expect are entries that must be live when it commits, beside all that the
	// other fields need to be.
	Expect []string
	// Derive are new entries made from others.
	Derive []Derived
	// Retire ends the life of entries in favour of other entries of the ref.
	Retire []Retire
	// Restore brings merged or superseded entries back.
	Restore []string
	// Erase removes entries from every version.
	Erase []string
	// Cells replaces values of the ref's cells. They hold digests, leases and
	// positions, never text; one in which the redactor finds a secret is refused.
	Cells []Cell
	// Announce is called with the entries of Derive as they will be stored, and
	// returns the events that commit with them. It may be called more than once.
	Announce func(stored []Entry) []Announcement
}

// Derived is a new entry made from others of the ref.
type Derived struct {
	Draft
	// Sources are the entries that it was made from. They must be live when it
	// commits (M8). It takes over their subjects, so that forgetting one of them
	// reaches it.
	Sources []string
	// Merges are entries that it replaces: they are retired as [Merged] in its
	// favour.
	Merges []string
}

// Retire ends the life of an entry: [Merged] or [Superseded] in favour of For, or
// [Deleted].
type Retire struct {
	ID    string
	State State
	For   string
}

// Cell sets a named cell to New if it holds Old now; nil stands for no value.
type Cell struct {
	Name     string
	Old, New []byte
}

// Announcement is an event of a pass.
type Announcement struct {
	// ID is the event's id, for one that must be the same however often the pass is
	// tried; empty lets the bank issue one.
	ID      string
	Payload events.Payload
}

// Rewrite commits rw and returns the entries of its Derive as stored. Where the
// bank has WriteEvents, each of them has a memory.written event too, without a node.
// Derived text loses leak forms and well-known secret shapes as well (R5).
//
// Errors: [ErrConflict] if something it expects does not hold any more, and nothing
// happened; otherwise those of [Run.Put], and [ErrNotProvided] without a
// [Transactor].
func (j *Job) Rewrite(ctx context.Context, ref string, rw Rewrite) ([]Entry, error) {
	s, err := j.enter(ctx, ref, j.target)
	if err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	if j.bank.tx == nil {
		return nil, fail(ErrNotProvided, "a rewrite needs a Transactor")
	}
	m := Mutation{At: j.bank.Now(), Live: located(s, rw.Expect), Restore: located(s, rw.Restore), Erase: located(s, rw.Erase)}
	stored := make([]Entry, 0, len(rw.Derive))
	for _, d := range rw.Derive {
		e, err := j.derive(ctx, s, d, &m)
		if err != nil {
			return nil, err
		}
		stored = append(stored, e)
	}
	for _, r := range rw.Retire {
		m.Retire = append(m.Retire, Retirement{Located{s, r.ID}, r.State, r.For})
	}
	if err := checkRetirements(m.Retire); err != nil {
		return nil, err
	}
	for _, c := range rw.Cells {
		if err := j.identifier(c.Name + string(c.New)); err != nil {
			return nil, err
		}
		m.Cells = append(m.Cells, CellSwap{s, c.Name, c.Old, c.New})
	}
	if rw.Announce != nil && j.bank.cfg.Sink != nil {
		for _, a := range rw.Announce(handOut(stored)) {
			rec, err := j.announced(a)
			if err != nil {
				return nil, err
			}
			m.Events = append(m.Events, rec)
		}
	}
	if _, err := j.bank.apply(ctx, s.Tenant, m); err != nil {
		return nil, err
	}
	return handOut(stored), nil
}

// announced wraps an event of the pass, in which the redactor must find nothing.
func (j *Job) announced(a Announcement) (events.Record, error) {
	text, err := json.Marshal(a.Payload)
	if err != nil {
		return events.Record{}, failWith(ErrValidation, "an event breaks its schema", err)
	}
	if err := j.identifier(a.ID + string(text)); err != nil {
		return events.Record{}, err
	}
	rec := j.record(a.Payload)
	if a.ID != "" {
		rec.ID = a.ID
	}
	return rec, nil
}

// derive adds a derived entry to the mutation.
func (j *Job) derive(ctx context.Context, s Scope, d Derived, m *Mutation) (Entry, error) {
	d.NodeID = "" // no node made it (RFC 0068 §D)
	d.Subjects = slices.Clone(d.Subjects)
	for _, id := range d.Sources {
		source, err := j.bank.store.Get(ctx, s, id, m.At)
		if errors.Is(err, ErrNotFound) {
			return Entry{}, fail(ErrConflict, "a source is gone")
		}
		if err != nil {
			return Entry{}, shape(err)
		}
		for _, subject := range source.Subjects {
			if !slices.Contains(d.Subjects, subject) {
				d.Subjects = append(d.Subjects, subject)
			}
		}
	}
	e, err := j.entry(d.Draft, true)
	if err != nil {
		return Entry{}, err
	}
	e.Sources = slices.Clone(d.Sources)
	m.Live = append(m.Live, located(s, d.Sources)...)
	m.Put = append(m.Put, Placed{s, e})
	for _, id := range d.Merges {
		m.Retire = append(m.Retire, Retirement{Located{s, id}, Merged, e.ID})
	}
	if j.bank.cfg.WriteEvents {
		m.Events = append(m.Events, j.written(s, &e, d.Draft))
	}
	return e, nil
}

// checkRetirements refuses retirements that contradict themselves or each other.
func checkRetirements(list []Retirement) error {
	retired := make(map[string]bool, len(list))
	for _, r := range list {
		if retired[r.ID] {
			return fail(ErrValidation, "an entry is retired twice")
		}
		retired[r.ID] = true
	}
	for _, r := range list {
		switch {
		case r.State == Deleted && r.For == "":
		case (r.State == Merged || r.State == Superseded) && r.For != "" && !retired[r.For]:
		default:
			return fail(ErrValidation, "a retirement without a successor that stays")
		}
	}
	return nil
}

func located(s Scope, ids []string) []Located {
	out := make([]Located, len(ids))
	for i, id := range ids {
		out[i] = Located{s, id}
	}
	return out
}
