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

func wire(ev RunEvent) (wireEvent, error) {
	if err := ev.Record.Validate(); err != nil {
		return wireEvent{}, err
	}
	c := check{typ: ev.Payload.EventType()}
	c.integer("/sequence", ev.Sequence, 0)
	return wireEvent{
		EventID: ev.ID, RunID: ev.RunID, NodeID: ev.NodeID,
		CausationID: ev.CausationID, EngineVersion: ev.EngineVersion, SchemaVersion: ev.SchemaVersion,
		Type: ev.Payload.EventType(), Payload: ev.Payload,
		Timestamp: ev.Time.UTC().Format(wireTime), Sequence: ev.Sequence,
	}, c.err()
}

// MarshalJSON returns the protocol's RunEventDoc. The timestamp has milliseconds
// and is in UTC. An event whose record is invalid, or whose sequence is negative
// or above [MaxInteger], is an error that matches [ErrInvalid].
func (ev RunEvent) MarshalJSON() ([]byte, error) {
	w, err := wire(ev)
	if err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a RunEventDoc as strictly as [Decode] reads payloads. Fields
// that a [RunEvent] has no place for are checked and dropped. It leaves the tenant
// empty: only the reader knows whose log it is. Ids may have 128 characters, as the
// protocol says, not just 128 bytes. A time is turned to UTC and cut to milliseconds.
//
// An event of a type that this package has no payload for has a [HostPayload], which
// readers pass over. The error matches [ErrInvalid]; the event is then as it was.
func (ev *RunEvent) UnmarshalJSON(raw []byte) error {
	doc, err := parse(raw)
	if err != nil {
		return &InvalidError{Rule: err.Error()}
	}
	read, err := readEvent(doc, raw)
	if err != nil {
		return err
	}
	*ev = read
	return nil
}

// readEvent makes an event of a document, which was parsed from raw.
func readEvent(doc any, raw []byte) (RunEvent, error) {
	m, ok := doc.(map[string]any)
	if !ok {
		return RunEvent{}, &InvalidError{Rule: "is not an object"}
	}
	c := &check{}
	f := &fields{m: m, check: c}
	typ := Type(f.required("type"))
	if decoders[typ] != nil {
		c.typ = typ
	}
	ev := RunEvent{
		Record:   Record{ID: f.id("eventId"), RunID: f.id("runId"), Time: f.time("timestamp")},
		Sequence: f.integer("sequence"),
	}
	c.integer("/sequence", ev.Sequence, 0)
	if _, ok := m["nodeId"]; ok {
		ev.NodeID = f.id("nodeId")
	}
	if _, ok := m["causationId"]; ok {
		ev.CausationID = f.id("causationId")
	}
	if _, ok := m["schemaVersion"]; ok {
		ev.SchemaVersion = f.integer("schemaVersion")
		c.integer("/schemaVersion", ev.SchemaVersion, 0)
	}
	if v, ok := m["engineVersion"]; ok {
		ev.EngineVersion = f.text("engineVersion", v)
	}
	payload, _ := f.take("payload", true)
	if err := c.err(); err != nil {
		return RunEvent{}, err
	}
	var err error
	if decoders[typ] != nil {
		ev.Payload, err = decode(typ, payload)
		return ev, err
	}
	var parts map[string]json.RawMessage // a map's keys are as they are written
	if err := json.Unmarshal(raw, &parts); err != nil {
		return RunEvent{}, &InvalidError{Rule: err.Error()}
	}
	ev.Payload, err = Decode(typ, parts["payload"])
	return ev, err
}

func (f *fields) id(name string) string {
	s := f.required(name)
	if n := utf8.RuneCountInString(s); n < 1 || n > maxIDBytes {
		f.fail("/"+name, -1, "has a wrong length")
	}
	return s
}

// rfc3339 is the form of a time. Package time alone would also read a decimal
// comma, an hour of one digit, and an offset of more than a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func (f *fields) time(name string) time.Time {
	s := f.required(name)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !rfc3339.MatchString(s) {
		f.fail("/"+name, -1, "is not a time of RFC 3339")
		return t
	}
	t = t.UTC().Truncate(time.Millisecond)
	f.timestamp("/"+name, t)
	return t
}
