package eventschema

import (
	"embed"
	"strings"

	"github.com/openwop/agentmemory/events"
)

//go:embed schemas
var files embed.FS

// envelope is the name of the schema of the run event around a payload.
const envelope = "run-event"

// Schema returns the JSON Schema of a type's payload, nil for a type that has none.
func Schema(t events.Type) []byte {
	if t == envelope {
		return nil
	}
	data, err := files.ReadFile("schemas/" + string(t) + ".json")
	if err != nil {
		return nil
	}
	return data
}

// Validate checks a payload against the schema of its type. It accepts what
// [events.Decode] accepts. The error matches [events.ErrUnknownType] or
// [events.ErrInvalid].
func Validate(t events.Type, raw []byte) error {
	if Schema(t) == nil {
		return events.ErrUnknownType
	}
	doc, err := decode(raw)
	if err != nil {
		return &events.InvalidError{Type: t, Rule: err.Error()}
	}
	return validate(string(t), t, doc)
}

// ValidateEvent checks a run event (RunEventDoc), as the test of a host does with its log: the envelope, and the payload too
// where its type has a schema. A payload of another type may be anything, for
// readers ignore those. Beyond the schema, the first segment of the type is none of
// openwop, core, community, vendor, private and local.
//
// What [events.RunEvent] reads or writes as JSON is valid here. The schema is wider
// in a few times: lower-case t and z, leap seconds, and the year 0, which are valid
// here and which a [time.Time] does not read.
func ValidateEvent(raw []byte) error {
	doc, err := decode(raw)
	if err != nil {
		return &events.InvalidError{Rule: err.Error()}
	}
	if err := validate(envelope, "", doc); err != nil {
		return err
	}
	event := doc.(map[string]any)
	name := event["type"].(string)
	switch first, _, _ := strings.Cut(name, "."); first {
	case "openwop", "core", "community", "vendor", "private", "local":
		return &events.InvalidError{Path: "/type", Rule: "has a reserved first segment"}
	}
	t := events.Type(name)
	if Schema(t) == nil {
		return nil
	}
	return validate(name, t, event["payload"])
}
