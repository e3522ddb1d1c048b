package commitment

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// A commitment is kept as a document of its tenant:
//
//	Tenant  the tenant
//	Ref     ""
//	Class   Machinery
//	Kind    "commitment"
//	Key     Commitment.ID
//	Group   Arm.Predicate, while the state is not final; otherwise ""
//	Due     Commitment.Due, or zero
//	Value   a JSON object with the members of type value
//
// This is a contract: the migrations of the SQL stores write it too. Any member but
// "format" is left out if it is zero, false or empty, or may be an empty object. An
// instant is an integer, its milliseconds since 1970; one that is left out is the zero
// time, and 0 is an instant. Members that are not known are ignored, and their order does
// not matter.
//
// A value of a newer format than [documentFormat] is refused with [ErrNewerFormat] and
// never written over.
const (
	documentKind   = "commitment"
	documentFormat = 1
)

// millis is an instant in JSON.
type millis struct{ time.Time }

// MarshalJSON writes whole milliseconds since 1970.
func (t millis) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, t.UnixMilli(), 10), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *millis) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	t.Time = time.UnixMilli(ms).UTC()
	return err
}

// value is the JSON form of a commitment: what each member holds is said at the field of
// [Commitment] that has its name. The tenant, the id and the instant at which it is due
// are the document's. EndedAt is left out of a commitment of the time before documents.
type value struct {
	Format     int      `json:"format"`
	Ref        string   `json:"ref,omitzero"`
	MemoryID   string   `json:"memoryId,omitzero"`
	Arm        armValue `json:"arm,omitzero"`
	ArmedAt    millis   `json:"armedAt,omitzero"`
	State      State    `json:"state,omitzero"`
	Reason     Reason   `json:"reason,omitzero"`
	MergedInto string   `json:"mergedInto,omitzero"`
	EndedAt    millis   `json:"endedAt,omitzero"`
	Canceled   bool     `json:"canceled,omitzero"`
	Mark       millis   `json:"mark,omitzero"`
	Position   int64    `json:"position,omitzero"`
	Digest     string   `json:"digest,omitzero"`
	Claim      claim    `json:"claim,omitzero"`
	Waiting    []int64  `json:"waiting,omitempty"`
	Fence      int64    `json:"fence,omitzero"`
	Lease      millis   `json:"lease,omitzero"`
	Fired      int      `json:"fired,omitzero"`
	RunID      string   `json:"runId,omitzero"`
}

type armValue struct {
	At        millis `json:"at,omitzero"`
	Every     int64  `json:"every,omitzero"` // in milliseconds
	Spec      string `json:"spec,omitzero"`
	Predicate string `json:"predicate,omitzero"`
	Once      bool   `json:"once,omitzero"`
}

type claim struct {
	Instant  millis `json:"instant,omitzero"`
	Position int64  `json:"position,omitzero"`
	Tries    int    `json:"tries,omitzero"`
}

// document returns the document of a commitment.
func (c *Commitment) document() memory.Document {
	a := c.Arm
	text, _ := json.Marshal(value{ // of strings and numbers, which never fails
		documentFormat, c.Ref, c.MemoryID,
		armValue{millis{a.At}, a.Every.Milliseconds(), a.Spec, a.Predicate, a.Once},
		millis{c.ArmedAt}, c.State, c.Reason, c.MergedInto, millis{c.EndedAt}, c.Canceled,
		millis{c.Mark}, c.Position, c.Digest, claim{millis{c.Claim.Instant}, c.Claim.Position, c.Claim.Tries},
		c.Waiting, c.Fence, millis{c.Lease}, c.Fired, c.RunID,
	})
	d := memory.Document{
		Scope: memory.Scope{Tenant: c.Tenant}, Class: memory.Machinery, Kind: documentKind, Key: c.ID,
		Value: text, Due: c.Due, Rev: c.Rev,
	}
	if !c.State.Final() {
		d.Group = a.Predicate
	}
	return d
}

// fromDocument reads a document that [Commitment.document] made. With an error it returns
// the names only.
func fromDocument(d *memory.Document) (Commitment, error) {
	named := Commitment{Tenant: d.Tenant, ID: d.Key}
	var head struct{ Format int }
	if err := json.Unmarshal(d.Value, &head); err != nil || head.Format < 1 {
		return named, internal("a commitment cannot be read", err)
	}
	if head.Format > documentFormat {
		return named, ErrNewerFormat
	}
	var v value
	if err := json.Unmarshal(d.Value, &v); err != nil {
		return named, internal("a commitment cannot be read", err)
	}
	a := v.Arm
	return Commitment{
		Tenant: d.Tenant, ID: d.Key, Ref: v.Ref, MemoryID: v.MemoryID,
		Arm:     Arm{a.At.Time, time.Duration(a.Every) * time.Millisecond, a.Spec, a.Predicate, a.Once},
		ArmedAt: v.ArmedAt.Time, State: v.State, Reason: v.Reason, MergedInto: v.MergedInto, EndedAt: v.EndedAt.Time,
		Canceled: v.Canceled, Due: d.Due, Mark: v.Mark.Time, Position: v.Position, Digest: v.Digest,
		Claim: Claim{v.Claim.Instant.Time, v.Claim.Position, v.Claim.Tries}, Waiting: v.Waiting,
		Fence: v.Fence, Lease: v.Lease.Time, Fired: v.Fired, RunID: v.RunID, Rev: d.Rev,
	}, nil
}
