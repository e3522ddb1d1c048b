package telemetry

import (
	"context"
	"time"
)

// Tracer is told of the operations of a bank and of its engines. It is called by the goroutine that
// asked for the operation, which waits for it: it must neither block nor call the bank. It must be
// safe for concurrent use.
type Tracer interface {
	// Start is called when an operation begins. It returns ctx, or a context derived from it that
	// ends no earlier, in which the operation continues, and what is called once when the operation
	// has ended, which may be nil.
	Start(ctx context.Context, op Op) (context.Context, func(Result))
}

// Op names an operation: of a run or a pass, of a host, or of an engine.
type Op uint8

// The operations.
const (
	Put     Op = iota + 1 // an entry is written
	Delete                // an entry is deleted
	Rewrite               // entries and documents of a ref are changed at once, or an entry is replaced
	Emit                  // a host's own events go into a run's log
	Get                   // one entry is read
	List                  // a list is read
	Search                // a question is answered
	Start                 // a run is started, resumed or replayed
	AsOf                  // memory as of a token is opened
	Flush                 // the events of one run are delivered

	Maintain    // a round of maintenance
	Relay       // the events of all runs are delivered
	Purge       // a tenant's old versions are purged
	Forget      // a subject is forgotten
	Scrub       // a secret that was registered too late is removed
	EraseAgain  // a ledger of erasures is applied to a restored backup
	DropTenant  // everything of a tenant is removed
	Consolidate // a pass of package consolidate
	Undo        // the undoing of such a pass
	Distill     // a distillation
	Compact     // a compaction
	Infer       // intentions are searched for in entries
	Tick        // commitments that are due are fired
	Observe     // a predicate is observed
	Sweep       // a tenant's commitments are tidied up
	Embed       // entries get their vectors
)

var opNames = [...]string{
	Put: "put", Delete: "delete", Rewrite: "rewrite", Emit: "emit", Get: "get", List: "list", Search: "search",
	Start: "start", AsOf: "as_of", Flush: "flush", Maintain: "maintain", Relay: "relay", Purge: "purge", Forget: "forget",
	Scrub: "scrub", EraseAgain: "erase_again", DropTenant: "drop_tenant", Consolidate: "consolidate", Undo: "undo",
	Distill: "distill", Compact: "compact", Infer: "infer", Tick: "tick", Observe: "observe", Sweep: "sweep", Embed: "embed",
}

// String returns the name of the operation in lower case, with underscores, and "unknown" for what
// is none.
func (o Op) String() string { return nameIn(opNames[:], int(o)) }

// Ops returns all operations.
func Ops() (all []Op) {
	for o := Put; int(o) < len(opNames); o++ {
		all = append(all, o)
	}
	return all
}

// Count names one of the numbers of a [Result].
type Count uint8

// Counted is how much there is of a count.
type Counted struct {
	Count Count
	N     int
}

// Of returns n of the count.
func (c Count) Of(n int) Counted { return Counted{c, n} }

// The counts.
const (
	Records    Count = iota // entries that were read, written, or changed in their state
	Redactions              // texts out of which the redactor took something as they were written
	Documents               // documents that were changed or removed
	Events                  // events that were delivered or, by Emit, put into the log; by Scrub, dropped
	Stuck                   // runs whose events the sink refused
	Tenants                 // tenants that a round maintained, or that were dropped
	Purged                  // records that were purged
	Trimmed                 // erasures that left the ledger
	Erased                  // entries that were forgotten
	Restored                // entries that are live again
	Rewritten               // entries that stand redacted in the place of erased ones
	Lost                    // entries that were erased without such a copy
	Sources                 // entries that a pass was made from
	Merged                  // entries that were retired since another one says the same
	Superseded              // entries that were retired since another one is newer
	Derived                 // entries, or vectors, that a pass made
	Refused                 // groups, intentions or lines of a summary that an engine did not accept
	Skipped                 // groups that had changed, or missed instants that were passed over
	Armed                   // commitments that were armed, or armed again
	Claimed                 // commitments that an observation made fire
	Fired                   // firings that are over
	Failed                  // deliveries that failed and are tried again
	Lapsed                  // commitments that ended without firing
	GivenUp                 // firings that were given up
	Removed                 // ended commitments that were removed

	// Waiting and Due tell how much there is at the moment, and are not to be summed up like those
	// before them. An operation that could not find out does not name them.

	Waiting // of Relay: events left in the outbox, up to one more than the bank's MaxUndelivered
	Due     // of Tick: commitments that it found due
)

var countNames = [...]string{
	Records: "records", Redactions: "redactions", Documents: "documents", Events: "events", Stuck: "stuck", Tenants: "tenants",
	Purged: "purged", Trimmed: "trimmed", Erased: "erased", Restored: "restored", Rewritten: "rewritten", Lost: "lost",
	Sources: "sources", Merged: "merged", Superseded: "superseded", Derived: "derived", Refused: "refused", Skipped: "skipped",
	Armed: "armed", Claimed: "claimed", Fired: "fired", Failed: "failed", Lapsed: "lapsed", GivenUp: "given_up", Removed: "removed",
	Waiting: "waiting", Due: "due",
}

// String returns the name of the count in lower case, and "unknown" for what is none.
func (c Count) String() string { return nameIn(countNames[:], int(c)) }

func nameIn(names []string, i int) string {
	if i >= len(names) || names[i] == "" {
		return "unknown"
	}
	return names[i]
}

// Result tells how an operation ended.
type Result struct {
	// Code is empty for an operation that succeeded. Otherwise it is the code of its error, as
	// memory.CodeOf gives it: one of validation_error, forbidden, not_found, secret_leakage,
	// replay_memory_snapshot_unavailable, capability_not_provided, storage_limit_exceeded,
	// conflict, canceled, token_budget_exceeded, schedule_horizon_exceeded, and internal_error for
	// all else.
	Code string
	// Took is how long the operation took.
	Took time.Duration
	// Oldest is the age of the oldest event that a Relay had in hand and could not deliver; zero
	// if there is none.
	Oldest time.Duration
	// Counts are those that the operation names, each once, zero included. After an error they tell
	// what was done before.
	Counts []Counted
}
