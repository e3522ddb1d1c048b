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
	// Heirs are entries, each with the ids of all entries of its scope whose
	// Retirement.For names it, in any order, as they are before the mutation, erased ones
	// too. What erases an entry brings back what it stood for, and may not miss any of it.
	Heirs map[Located][]string `json:"-"`
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
	// version, whatever their state, and the documents made of them. A stub stays, so
	// that the id is never used again and lineage can be walked. An id that the store
	// does not hold, or has erased, is no conflict.
	Erase []Located
	// Documents are changed or checked by compare-and-swap. None is named twice.
	Documents []DocumentSwap
	// Events go to the outbox. One that waits there already (same tenant, run and
	// id) is dropped, and a conflict if it waits with another payload. None is named twice.
	Events []events.Record
	// Log puts the Events into the store's own run log instead of the outbox: each has its
	// sequence from this mutation, and one whose id the run's log has is dropped, and a
	// conflict if the log has it with another payload. Only a store that is an [events.RunLog]
	// is given such a mutation.
	Log bool
	// Limits are what the tenant may come to. A mutation that goes beyond them is
	// refused: see [Base.Check]. One that changes machinery only has none.
	Limits Limits
}

// MachineryOnly reports whether m names nothing but documents of the class
// [Machinery], and has no events. Such a mutation makes no version.
func (m *Mutation) MachineryOnly() bool {
	if len(m.Live)+len(m.Heirs)+len(m.Put)+len(m.Retire)+len(m.Restore)+len(m.Erase)+len(m.Events) > 0 || len(m.Documents) == 0 {
		return false
	}
	for i := range m.Documents {
		if m.Documents[i].Class != Machinery {
			return false
		}
	}
	return true
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
