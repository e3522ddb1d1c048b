package memory

import (
	"context"
	"iter"
	"time"

	"github.com/openwop/agentmemory/events"
)

// Transactor is a store that commits a whole [Mutation] or nothing of it.
// Consolidation, distillation, forgetting, leases and the event outbox are built
// on this one primitive; without it a host gets none of them.
//
// Mutations of one tenant are serialised. They never wait for another tenant's,
// as far as the store can help it.
type Transactor interface {
	Adapter

	// Apply commits m for the tenant and returns the version that it made, at which
	// [Versioned] stores can be read. If a condition of m does not hold it returns
	// [ErrConflict] and nothing happened. After any other error the outcome may be
	// unknown.
	Apply(ctx context.Context, tenant string, m Mutation) (Version, error)

	// Lookup returns the record of an id whatever its state, or [ErrNotFound]
	// for one that the scope never held or has purged. Expiry does not matter.
	Lookup(ctx context.Context, s Scope, id string) (Record, error)

	// History yields the records that q asks for, whatever their state, in no
	// particular order. Expiry does not matter. It yields every record once that was
	// there when it began and still is when it ends, and stops after an error. The
	// loop may call the store again, to change it too. An erased record carries no
	// subject, and names its successor still.
	History(ctx context.Context, tenant string, q HistoryQuery) iter.Seq2[Record, error]

	// Cell returns the value of a small named cell, nil if it has none. A cell
	// belongs to a scope, or to the tenant where s.Ref is empty.
	Cell(ctx context.Context, s Scope, name string) ([]byte, error)

	// Undelivered returns events of committed mutations that were not yet marked
	// as delivered, in commit order. A store may hide for a short while what it
	// has just handed to another process, but never from a query for one run.
	Undelivered(ctx context.Context, q OutboxQuery) ([]events.Record, error)

	// Delivered takes events out of the outbox, by tenant, run and id. Unknown ones
	// are no error.
	Delivered(ctx context.Context, recs []events.Record) error
}

// Mutation is a conditional change of one tenant's memory. All scopes in it are
// of that tenant. Its parts take effect together, as if in the order of the
// fields and, within a field, of its elements.
type Mutation struct {
	// At is the instant at which liveness is judged.
	At time.Time
	// Live are entries that must be live at At.
	Live []Located
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
	// version, whatever their state. A stub stays, so that the id is never used
	// again and lineage can be walked. An id that the store does not hold, or
	// has erased, is no conflict.
	Erase []Located
	// Cells replaces the values of cells that hold what the swap expects.
	Cells []CellSwap
	// Events go to the outbox. One that waits there already (same tenant, run and
	// id) is dropped.
	Events []events.Record
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

// Retirement ends the life of an entry. For names the entry of the same scope
// in whose favour it happens, which must be live at the mutation's At or put by
// the mutation; it is empty with [Deleted] and only then.
type Retirement struct {
	Located
	State State // Merged, Superseded or Deleted
	For   string
}

// CellSwap sets a cell to New if it holds Old now. Nil stands for no value; a value
// may be empty.
type CellSwap struct {
	Scope
	Name     string
	Old, New []byte
}

// State tells what became of an entry, apart from expiry.
type State uint8

// The states of an entry.
const (
	// Live entries are in lists until they expire.
	Live State = iota
	// Merged entries gave way to one that says the same. If that one is
	// forgotten they come back.
	Merged
	// Superseded entries gave way to a newer fact. They never come back by
	// themselves.
	Superseded
	// Deleted entries took along whatever was retired in their favour.
	Deleted
)

// String returns the state's name in lower case.
func (s State) String() string {
	switch s {
	case Live:
		return "live"
	case Merged:
		return "merged"
	case Superseded:
		return "superseded"
	case Deleted:
		return "deleted"
	}
	return "unknown"
}

// Record is an entry with what became of it.
type Record struct {
	Scope
	// Entry is whole unless Erased, and then has only its ID.
	Entry Entry
	// State is what became of the entry; erasing does not change it.
	State State
	// For is the entry in whose favour this one was retired.
	For string
	// Erased tells that only this stub is left.
	Erased bool
}

// HistoryQuery narrows a [Transactor.History]. Empty fields do not narrow.
type HistoryQuery struct {
	Ref     string // records of this ref
	Subject string // records that carry this subject label
	For     string // records retired in favour of this id; needs Ref
}

// OutboxQuery narrows a [Transactor.Undelivered].
type OutboxQuery struct {
	Tenant string    // only of this tenant; empty: of all
	RunID  string    // only of this run; needs Tenant
	Except []RunName // runs to pass over
	Limit  int       // at most so many; 0 means all
}

// RunName is a run or a background pass of a tenant.
type RunName struct {
	Tenant, RunID string
}
