package events

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"
)

// Record is an event on its way to a run's log: everything but its place there.
// All its strings are valid UTF-8.
type Record struct {
	// ID names the event, 1 to 128 bytes. It stays the same however often the
	// record is delivered. Version 2 of the protocol takes 16 to 128 letters, digits and
	// . _ ~ - only (identity.md §5), as the ids of events and runs that this module issues
	// have; those of a host are not refused for it, since version 1 has them.
	ID string
	// Tenant owns the run, at most 256 bytes. It routes the record and is never
	// on the wire.
	Tenant string `json:"-"`
	// RunID is the run whose log the event belongs to, 1 to 128 bytes. A
	// background pass has one of its own (E5).
	RunID string
	// NodeID is the workflow node that caused the event, if one did; at most 128
	// bytes.
	NodeID string
	// CausationID names the event that caused this one, and EngineVersion and
	// SchemaVersion are the host's own; the texts have at most 128 bytes. All are optional in the protocol: empty or 0
	// is none. A log keeps them; nothing in this module sets them, and an outbox has no
	// place for them.
	CausationID, EngineVersion string
	SchemaVersion              int64
	// Time is the event's timestamp: whole milliseconds, years 1 to 9999 in UTC,
	// not the zero time.
	Time time.Time
	// Payload is a value, not a pointer, of one of this package's payload types.
	Payload Payload
}

// Limits of a record.
const (
	maxIDBytes     = 128
	maxTenantBytes = 256

	// MaxPayloadText is how many bytes the strings of a payload may have
	// together, each counted with three bytes more. It keeps every event that
	// can be emitted below [MaxDocBytes]. A host that would list more ids than
	// that leaves the list out where the protocol lets it.
	MaxPayloadText = 512 << 10

	// MaxDocBytes is how long a JSON document may be that this package or its
	// schemas read.
	MaxDocBytes = 4 << 20
)

// Validate reports the first rule that the record breaks, as an error that
// matches [ErrInvalid]: the limits of its own fields, the payload's schema, and
// what the protocol asks of the emitter of the payload but its schema cannot say:
//
//   - sourceIds of memory.compacted has sourceCount items, and is absent only
//     where sourceCount is above [MaxListedSources] (RFC 0012 §B);
//   - tokensUsed of a distillation is at most tokenBudget (RFC 0062);
//   - outputCount of agent.memory.consolidated is at most inputCount (RFC 0068 §B);
//   - the text of a payload is at most [MaxPayloadText] bytes.
//
// These rules bind what is emitted here. They are no part of the payload's own
// Validate, nor of [Decode], so that the log of a host which breaks them can
// be read.
func (r Record) Validate() error {
	var f fields
	if !f.known(r.Payload) {
		f.fail("payload", "is not a value of one of this package's payload types")
	}
	f.bounded("eventId", r.ID, 1)
	f.bounded("runId", r.RunID, 1)
	f.bounded("nodeId", r.NodeID, 0)
	f.bounded("causationId", r.CausationID, 0)
	f.bounded("engineVersion", r.EngineVersion, 0)
	f.integer("schemaVersion", &r.SchemaVersion, 0)
	if len(r.Tenant) > maxTenantBytes || !utf8.ValidString(r.Tenant) {
		f.failAt("tenant", "is longer than 256 bytes or not UTF-8")
	}
	f.timestamp("timestamp", r.Time)
	switch p := r.Payload.(type) {
	case MemoryCompacted:
		listed := int64(len(p.SourceIDs))
		if listed != p.SourceCount && (listed > 0 || p.SourceCount <= MaxListedSources) {
			f.fail("sourceIds", "is not the complete list of sources")
		}
		if d := p.Distillation; d != nil && d.TokensUsed > d.TokenBudget {
			f.fail("distillation/tokensUsed", "is above tokenBudget")
		}
	case MemoryConsolidated:
		if p.OutputCount > p.InputCount {
			f.fail("outputCount", "is above inputCount")
		}
	}
	if f.size > MaxPayloadText {
		f.failAt("", "has too much text")
	}
	return f.err()
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
// drops a (RunID, ID) that it already has with the same payload, and fails for one
// that it has with another, see [SamePayload]. It logs its own errors: those of the bank say
// that the sink failed and unwrap to them. Implementations are safe for concurrent use and do
// not keep the slice.
type Sink interface {
	Emit(ctx context.Context, recs ...Record) error
}

// SamePayload reports whether two payloads are of one type and say the same: their JSON is
// equal, byte for byte, apart from the blanks in that of a [HostPayload].
func SamePayload(a, b Payload) bool {
	x, err := json.Marshal(a)
	if err != nil || a.EventType() != b.EventType() {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// Clone copies a record so that it shares no memory that a caller could change.
func (r Record) Clone() Record {
	switch p := r.Payload.(type) {
	case MemoryCompacted:
		p.SourceIDs = slices.Clone(p.SourceIDs)
		if p.Distillation != nil {
			d := *p.Distillation
			if d.IndexUpdated != nil {
				updated := *d.IndexUpdated
				d.IndexUpdated = &updated
			}
			p.Distillation = &d
		}
		r.Payload = p
	case MemoryConsolidated:
		p.MergedIDs = slices.Clone(p.MergedIDs)
		r.Payload = p
	case ProposalCreated:
		p.SourceRunIDs = slices.Clone(p.SourceRunIDs)
		r.Payload = p
	case HostPayload:
		p.JSON = slices.Clone(p.JSON)
		r.Payload = p
	}
	return r
}
