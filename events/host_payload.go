package events

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/openwop/agentmemory/internal/jsonguard"
)

// HostPayload is the payload of an event that is none of the agent-memory layer's, such as
// run.started, node.completed or a vendor's own: a host gives it to its log so that all
// events of a run have one sequence. No package of this module makes one.
//
// What it says is the host's, and E1 does not bind it: a log keeps it for as long as the
// run's log, no Forget reaches it (RFC 0080 §A), and nothing redacts it but a memory.Run,
// which rewrites its strings as it does those of an entry. A host that wants a log without
// content puts none in.
type HostPayload struct {
	// Type is the event's wire name: segments of letters, digits, "_" and "-" between
	// dots, at least two of them and at most 128 bytes, and none of this package's own
	// types. The protocol keeps the first segments openwop, core, community, vendor,
	// private and local to itself.
	Type Type
	// JSON is any JSON value; an event with nothing to say has {}, since an empty one is
	// refused. It is as strict as RFC 8785 has it: no field twice, no integer beyond
	// [MaxInteger], no lone surrogate. It is emitted with at most [MaxPayloadText] bytes, where
	// <, >, &, U+2028 and U+2029 count without an escape. A log returns the same value, which
	// it may have written down in another way.
	JSON json.RawMessage
}

// hostType is how a type is written that has no payload in this package.
var hostType = regexp.MustCompile(`^[a-z][a-zA-Z0-9_-]*(\.[a-zA-Z0-9_-]+)+$`)

func validHostType(t Type) bool {
	if len(t) > maxIDBytes || readers[t] != nil || !hostType.MatchString(string(t)) {
		return false
	}
	switch first, _, _ := strings.Cut(string(t), "."); first {
	case "openwop", "core", "community", "vendor", "private", "local":
		return false
	}
	return true
}

// EventType returns the Type.
func (p HostPayload) EventType() Type { return p.Type }

// Validate checks the name, and that the JSON is well-formed. Its length is a rule for
// emitters: see Record.Validate.
func (p HostPayload) Validate() error { return validate(p) }

func (p *HostPayload) fields(f *fields) {
	if !validHostType(p.Type) {
		f.fail("type", "is not a host's event type, such as run.completed")
	}
	if _, err := jsonguard.Decode(p.JSON, MaxDocBytes); err != nil {
		f.fail("payload", err.Error())
	}
	f.size = len(plain.Replace(string(p.JSON)))
}

// MarshalJSON returns the JSON.
func (p HostPayload) MarshalJSON() ([]byte, error) { return p.JSON, nil }

func (HostPayload) sealed() {}

// plain undoes the escapes that encoding/json makes for the sake of HTML, so that JSON does
// not grow as it is written and read. A backslash that is escaped begins none.
var plain = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003C`, "<", `\u003e`, ">", `\u003E`, ">", `\u0026`, "&",
	`\u2028`, "\u2028", `\u2029`, "\u2029")
