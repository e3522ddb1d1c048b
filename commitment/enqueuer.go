package commitment

import (
	"context"
	"time"
)

// Firing is a commitment on its way to a run.
type Firing struct {
	// Key is the idempotency key. It names the firing for ever.
	Key string
	// Tenant owns the run that is started; it is the tenant of the memory (CTI-1).
	Tenant string
	// CommitmentID is the commitment that fires.
	CommitmentID string
	// Ref and MemoryID are where the run reads what it is to do. MemoryID may be empty.
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
// The contract on which firing once rests: for the same Key the same run, also
// after calls that failed or whose answer was lost, until the firing is acknowledged or
// [Engine.Retry] refuses it, since what was given up can be taken up again. A host does it by deriving the run's id
// from the key or by keeping keys beside runs; they are no keys of its callers. The
// run belongs to Tenant.
type Enqueuer interface {
	// Enqueue starts the run of a firing, or finds it started, and returns its id,
	// which is that of memory.RunConfig.ID. It returns once the run is stored durably: the engine does not ask
	// again, so that a queue in memory loses what waits in it when the process ends. It is called outside any lock, from several goroutines
	// at once for different tenants, and with a deadline. After an error the engine
	// tries again.
	Enqueue(ctx context.Context, f Firing) (runID string, err error)
}
