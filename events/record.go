package events

import (
	"context"
	"errors"
	"time"
)

// ErrInvalid matches every error about a payload or an envelope that breaks its
// schema.
var ErrInvalid = errors.New("events: invalid event")

// Record is an event on its way to a run's log: everything but its place there.
type Record struct {
	// ID names the event, 1 to 128 bytes. It stays the same however often the
	// record is delivered.
	ID string
	// Tenant owns the run. It routes the record and is never on the wire.
	Tenant string
	// RunID is the run whose log the event belongs to, 1 to 128 bytes. A
	// background pass has one of its own (E5).
	RunID string
	// NodeID is the workflow node that caused the event, if one did.
	NodeID string
	// Time is the event's timestamp, in milliseconds, UTC.
	Time    time.Time
	Payload Payload
}

// RunEvent is a record in a run's log. The log numbers it, from 0 for each run.
// Its JSON form is the protocol's RunEventDoc.
type RunEvent struct {
	Record
	Sequence int64
}

// Sink takes events into a host's run-event log.
//
// One call is one commit: when Emit returns nil, every record of it is in the
// log. After an error nothing is known, and the same records come again: a sink
// drops a (RunID, ID) that it already has. Implementations are safe for
// concurrent use and do not keep the slice.
type Sink interface {
	Emit(ctx context.Context, recs ...Record) error
}
