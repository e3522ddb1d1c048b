package driver

import (
	"time"

	"github.com/openwop/agentmemory/events"
)

// Mutation is a conditional change of one tenant's memory. All scopes in it are
// of that tenant; one that is not is [ErrValidation]. Its parts are judged and take effect
// in the order of the fields and, within a field, of its elements, and become visible
// together.
type Mutation struct {
	// At is the instant at which liveness is judged.
	At time.Time
	// Live are entries that must be live at At.
	Live []Located
	// MergedInto are entries, each with the ids that must have been retired in its favour,
	// no more and no fewer: all entries of its scope whose Retirement.For names it, in any
	// order, as they are before the mutation, erased ones too. A mutation that erases an
	// entry restores what was merged into it, and may not miss any of it.
	MergedInto map[Located][]string `json:"-"`
	// Put inserts entries as [Adapter.Put] does.
	Put []Placed
	// Retire ends the life of entries, which must be live at At or be put by
	// this mutation.
	Retire []Retirement
	// Restore brings retired entries back: same id, same CreatedAt, and live
	// again from this version on, without a successor. They must be [Merged] or
	// [Superseded], and not erased.
	Restore []Located
	// Erase removes the text, tags, subjects and sources of entries from every
	// version, in any state, and the documents made of them or of their whole ref. The id
	// and the lineage stay, so that the id is never used again. An id that the store does
	// not hold, or has erased, is no conflict.
	Erase []Located
	// Documents are changed or checked by compare-and-swap. None is named twice.
	Documents []DocumentSwap
	// Events are told by the mutation. They wait until they are delivered, or are kept. One
	// that the store has already (same tenant, run and id) is dropped, and a conflict if
	// the store has it with another payload, see [events.SamePayload]. None is named twice.
	Events []events.Record
	// Keep says that the Events are kept as the log of their runs, in which the mutation
	// gives each the next sequence, and do not wait. Only an [EventKeeper] is given such a
	// mutation.
	Keep bool
	// Limits are what the tenant may come to. A mutation that goes beyond them is
	// refused: see [Stored.Plan]. One that is [Mutation.Unversioned] has none.
	Limits Limits
}

// Unversioned reports whether m needs no new version: it changes only documents of the class
// [Machinery] and has no events, or it only keeps events.
func (m *Mutation) Unversioned() bool {
	if len(m.Live)+len(m.MergedInto)+len(m.Put)+len(m.Retire)+len(m.Restore)+len(m.Erase) > 0 {
		return false
	}
	if len(m.Events) > 0 {
		return m.Keep && len(m.Documents) == 0
	}
	for i := range m.Documents {
		if m.Documents[i].Class != Machinery {
			return false
		}
	}
	return len(m.Documents) > 0
}

// Located is an entry's place.
type Located struct {
	Scope
	ID string
}

// Placed is an entry with its scope.
type Placed struct {
	Scope
	Entry Entry
}

// Located returns the place of the entry.
func (p *Placed) Located() Located { return Located{p.Scope, p.Entry.ID} }

// Retirement ends the life of an entry.
type Retirement struct {
	Located
	// State is what becomes of the entry: [Merged], [Superseded] or [Deleted].
	State State
	// For is the id of the successor: the entry of the same scope that takes the place of
	// this one. It must be another entry, and must be live at the mutation's At or put by
	// the mutation. It is required for Merged and Superseded, and empty for Deleted.
	For string
}
