package events

import (
	"encoding/json"
	"regexp"
	"time"
	"unicode/utf8"
)

// wireTime is RFC 3339 with milliseconds, for times in UTC.
const wireTime = "2006-01-02T15:04:05.000Z"

// wireEvent is the protocol's RunEventDoc.
type wireEvent struct {
	EventID       string  `json:"eventId"`
	RunID         string  `json:"runId"`
	NodeID        string  `json:"nodeId,omitempty"`
	CausationID   string  `json:"causationId,omitempty"`
	EngineVersion string  `json:"engineVersion,omitempty"`
	SchemaVersion int64   `json:"schemaVersion,omitempty"`
	Type          Type    `json:"type"`
	Payload       Payload `json:"payload"`
	Timestamp     string  `json:"timestamp"`
	Sequence      int64   `json:"sequence"`
}

// MarshalJSON returns the protocol's RunEventDoc. The timestamp has milliseconds
// and is in UTC. An event whose record is invalid, or whose sequence is negative
// or above [MaxInteger], is an error that matches [ErrInvalid].
func (ev RunEvent) MarshalJSON() ([]byte, error) {
	if err := ev.Record.Validate(); err != nil {
		return nil, err
	}
	f := fields{typ: ev.Payload.EventType()}
	if f.integer("sequence", &ev.Sequence, 0); f.err() != nil {
		return nil, f.err()
	}
	return json.Marshal(wireEvent{
		EventID: ev.ID, RunID: ev.RunID, NodeID: ev.NodeID,
		CausationID: ev.CausationID, EngineVersion: ev.EngineVersion, SchemaVersion: ev.SchemaVersion,
		Type: ev.Payload.EventType(), Payload: ev.Payload,
		Timestamp: ev.Time.UTC().Format(wireTime), Sequence: ev.Sequence,
	})
}

// UnmarshalJSON reads a RunEventDoc as strictly as [Decode] reads payloads. Fields
// that a [RunEvent] has no place for are checked and dropped. It leaves the tenant
// empty: only the reader knows whose log it is. Ids may have 128 characters, as the
// protocol says, not just 128 bytes. A time is turned to UTC and cut to milliseconds.
//
// An event of a type that this package has no payload for has a [HostPayload], which
// readers pass over. The error matches [ErrInvalid]; the event is then as it was.
func (ev *RunEvent) UnmarshalJSON(raw []byte) error {
	doc, err := object("", raw)
	if err != nil {
		return err
	}
	var typ string
	var read RunEvent
	f := &fields{doc: doc}
	f.text("type", &typ, required)
	if readers[Type(typ)] != nil {
		f.typ = Type(typ)
	}
	f.id("eventId", &read.ID, required)
	f.id("runId", &read.RunID, required)
	f.id("nodeId", &read.NodeID, optional)
	f.id("causationId", &read.CausationID, optional)
	f.text("engineVersion", &read.EngineVersion, lax)
	if _, ok := doc["schemaVersion"]; ok {
		f.integer("schemaVersion", &read.SchemaVersion, 0)
	}
	f.time("timestamp", &read.Time)
	f.integer("sequence", &read.Sequence, 0)
	if _, ok := doc["payload"]; !ok {
		f.fail("payload", "is missing")
	}
	if err := f.err(); err != nil {
		return err
	}
	var parts map[string]json.RawMessage // a map's keys are as they are written
	if err := json.Unmarshal(raw, &parts); err != nil {
		return &InvalidError{Rule: "is not JSON"}
	}
	if read.Payload, err = Decode(Type(typ), parts["payload"]); err != nil {
		return err
	}
	*ev = read
	return nil
}

// id takes an identifier of at most 128 characters.
func (f *fields) id(name string, s *string, p presence) {
	f.text(name, s, p)
	if utf8.RuneCountInString(*s) > maxIDBytes {
		f.fail(name, "has a wrong length")
	}
}

// rfc3339 is the form of a time. Package time alone would also read a decimal
// comma, an hour of one digit, and an offset of more than a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func (f *fields) time(name string, t *time.Time) {
	var s string
	f.text(name, &s, required)
	read, err := time.Parse(time.RFC3339, s)
	if err != nil || !rfc3339.MatchString(s) {
		f.fail(name, "is not a time of RFC 3339")
	}
	*t = read.UTC().Truncate(time.Millisecond)
	f.timestamp(name, *t)
}
