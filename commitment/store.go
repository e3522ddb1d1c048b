package commitment

import (
	"context"
	"iter"
	"time"
)

// Store keeps commitments. Its one primitive is compare-and-set on one commitment:
// claims, leases, deliveries and cancellations are all swaps, so that what holds for
// Swap holds for all of them, whatever number of processes share the store.
//
// Every implementation keeps these rules:
//
//   - Tenants are compared byte for byte. A commitment of another tenant is absent.
//   - A call sees every swap that was acknowledged before it began. After an error
//     other than memory.ErrConflict it is unknown whether the swap took place.
//   - A store has no clock; the instant is a parameter.
//   - Instants are whole milliseconds and come back equal and in UTC.
//   - Errors hold nothing of a commitment.
//
// All methods are safe for concurrent use. What they return is the caller's own.
type Store interface {
	// Get returns a commitment, or [memory.ErrNotFound].
	//
	// [memory.ErrNotFound]: https://pkg.go.dev/github.com/openwop/agentmemory/memory#ErrNotFound
	Get(ctx context.Context, tenant, id string) (Commitment, error)

	// Swap puts c in place of the commitment of the same tenant and id whose
	// revision is c.Rev, and returns the new revision, which is greater. Rev 0
	// stands for a commitment that is not there yet. If the revision is another one,
	// memory.ErrConflict is returned and nothing happened.
	Swap(ctx context.Context, c Commitment) (rev int64, err error)

	// Due returns commitments of all tenants whose Due is set and not after now, by
	// Due ascending and at most limit of them; nil if there are none. Its cost grows
	// with what it returns, not with what is armed (K9).
	Due(ctx context.Context, now time.Time, limit int) ([]Commitment, error)

	// OfTenant yields the commitments of a tenant in the order of their ids, or if
	// predicate is not empty those that wait for it: with that Arm.Predicate and in
	// no final state. What is swapped meanwhile shows in either form. It stops after
	// an error. The loop may call the store.
	OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[Commitment, error]
}

// Firing is a commitment on its way to a run.
type Firing struct {
	// Key is the idempotency key. It names the firing for ever.
	Key string
	// Tenant owns the run that is started; it is the tenant of the memory (CTI-1).
	Tenant string
	// CommitmentID is the commitment that fires.
	CommitmentID string
	// Ref and MemoryID say what to do, to whoever reads them there. MemoryID may be
	// empty.
	Ref, MemoryID string
	// Arm is what the commitment waited for.
	Arm Arm
	// Instant is the scheduled instant, for a firing by time; Position that of the
	// observed transition, for one by predicate.
	Instant  time.Time
	Position int64
	// Try counts the deliveries that were begun, from 1. Fence ascends from one
	// delivery of the commitment to the next.
	Try   int
	Fence int64
}

// Enqueuer starts runs.
//
// The contract on which firing once rests: for the same Key the same run, whatever
// happened to earlier calls, at least as long as the engine may still try, which is
// its tries and its backoff taken together. A host does it by deriving the run's id
// from the key or by keeping keys beside runs; they are no keys of its callers. The
// run belongs to Tenant.
type Enqueuer interface {
	// Enqueue starts the run of a firing, or finds it started, and returns its id:
	// 1 to 128 bytes. It is called outside any lock and with a deadline. After an
	// error the engine tries again.
	Enqueue(ctx context.Context, f Firing) (runID string, err error)
}
