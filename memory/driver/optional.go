package driver

import (
	"context"
	"iter"
	"time"

	"github.com/openwop/agentmemory/events"
)

// EventKeeper is a store that can keep the events of runs, for a host without a log of its
// own: see [Mutation.Keep]. Kept events of a run have sequences from 0 without gaps, in the
// order in which their mutations were committed. They stay when entries are forgotten (RFC
// 0080 §A), and are removed by PurgeEvents and with their tenant.
type EventKeeper interface {
	Transactor
	events.Reader

	// PurgeEvents removes the kept events of those runs, of all tenants, whose first and last one
	// are from before an instant: all events of a run or none, and at most limit runs. It
	// reports whether there may be more such runs.
	PurgeEvents(ctx context.Context, before time.Time, limit int) (more bool, err error)
}

// Scheduler is a store that finds what is due over all tenants.
type Scheduler interface {
	// Due returns documents of the class [Machinery] and of that kind, of all tenants,
	// whose Due is set and not after the instant at: by Due ascending and at most
	// limit of them. Its cost grows with what it returns, not with what is kept.
	Due(ctx context.Context, kind string, at time.Time, limit int) ([]Document, error)
}

// Tenants is a store that tells whom it holds memory for, and lets go of them.
type Tenants interface {
	// Scopes yields the scopes that hold a record or a document, behind the scope after, in
	// the byte order of tenant and ref, and stops after an error. A scope with an empty Ref
	// is that of the tenant's own documents. The loop may call the store again, to change it
	// too.
	Scopes(ctx context.Context, after Scope) iter.Seq2[Scope, error]

	// DropTenant removes what is held of a tenant, about limit records, documents and
	// events, kept ones too, at a time, and reports whether anything is left. Every version that the
	// tenant had becomes unavailable with the first call, and none is given out again. That of a
	// tenant that was never written may stay.
	DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error)
}

// Changes is a store that tells what has changed, so that a cache can follow it.
type Changes interface {
	// Changes returns the ids of a scope that were touched by the mutations after the
	// version from, up to and with the version to: none if from is not before to. Both must
	// be available. An id is told even if a purge has removed its record since.
	Changes(ctx context.Context, s Scope, from, to Version) (ChangeSet, error)
}

// ChangeSet is what was touched between two versions, each list without repetitions
// and in no particular order. An id can be in several of them.
type ChangeSet struct {
	Put, Retired, Restored, Erased []string
}

// Describer is a store that says what no call could show. One that does not is taken as
// volatile and writable.
type Describer interface {
	Durable() bool  // reports whether what it holds outlives its process
	ReadOnly() bool // reports whether it refuses every change
}

// As returns a as a T, if the store offers T. A wrapper that has a method
//
//	As(target any) bool
//
// decides alone what it offers: As never looks behind it otherwise, so that a
// wrapper which encrypts, say, cannot be bypassed.
func As[T any](a Adapter) (T, bool) {
	var none T
	if w, ok := a.(interface{ As(target any) bool }); ok {
		var t T
		if !w.As(&t) {
			return none, false
		}
		return t, true
	}
	t, ok := a.(T)
	return t, ok
}
