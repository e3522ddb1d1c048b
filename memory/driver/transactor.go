package driver

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/events"
)

// Transactor is a store that commits a whole [Mutation] or nothing of it.
// Consolidation, distillation, forgetting, leases, commitments and the outbox of
// events are built on this one primitive; without it a host gets none of them.
//
// Mutations of one tenant are serialised. They never wait for another tenant's, as
// far as the store can help it. A mutation that changes machinery only, see
// [Mutation.Unversioned], does not wait for the tenant's others either.
//
// A loop, that of [Tenants] too, reads when it is ranged over, and can be ranged over again.
type Transactor interface {
	Adapter

	// Apply commits m for the tenant. For a mutation that could never be committed, see
	// [Mutation.Validate], it returns [ErrValidation]; else, if a condition of m does not hold
	// [ErrConflict], and if m goes beyond its limits [ErrStorageLimit] or [ErrBacklog], see
	// [Stored.Plan]; else, if the id of one of its events has another payload, [ErrConflict].
	// In all these cases nothing happened. After any other error the outcome may be unknown.
	//
	// When Apply returns nil, everything that m's conditions read is durable too, even if m changed
	// nothing: a primary may show a commit that its standby lacks.
	Apply(ctx context.Context, tenant string, m Mutation) (Applied, error)

	// Lookup returns the records of those ids that the scope holds, in every
	// state, in the order of the ids, all as they are at one moment. An id that the
	// scope never held or has purged is left out, and one that is named twice comes
	// twice. Expiry does not matter.
	Lookup(ctx context.Context, s Scope, ids []string) ([]Record, error)

	// History yields the records that q asks for, in every state and in no
	// particular order. Expiry does not matter. It yields every record once that was
	// there when it began and still is when it ends, and stops after an error. The
	// loop may call the store again, to change it too. An erased record carries no
	// subject, and names its successor still.
	History(ctx context.Context, tenant string, q HistoryQuery) iter.Seq2[Record, error]

	// Documents yields the documents that q asks for, in the byte order of their refs,
	// kinds and keys. It yields every document once that was there when it began and
	// still is when it ends, one that is swapped meanwhile in either form, and stops
	// after an error. The loop may call the store again, to change it too.
	Documents(ctx context.Context, q DocumentQuery) iter.Seq2[Document, error]

	// Undelivered yields the events of committed mutations that were not yet marked as
	// delivered, in commit order, and stops after an error: those of all tenants or, if a
	// tenant and a run are given, of that run. Kept events are not among them. The loop may
	// call the store again; an event that is queued while it runs may be missing. A store
	// may hide for a short while what it has just handed to another process, but never from
	// a query for one run. An event that cannot be read holds up its own run only: the
	// others are yielded, and then the error.
	Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error]

	// Waiting counts the events that wait, hidden ones too: those of the tenant, or of
	// all tenants if it is empty. It may stop counting at limit. It hands nothing out.
	Waiting(ctx context.Context, tenant string, limit int) (int, error)

	// Delivered removes events that wait, by tenant, run and id. Unknown and kept ones
	// are no error, and stay.
	Delivered(ctx context.Context, recs []events.Record) error
}

// Applied is what a committed mutation made.
type Applied struct {
	// Version is the version that it made, at which a [Versioned] store can be read.
	// It is empty for one that is [Mutation.Unversioned].
	Version Version
	// Revs are the revisions that the documents of the mutation have now, in its
	// order: 0 for one that is not there.
	Revs []int64
}
