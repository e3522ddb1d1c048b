package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
)

// Version is a major version of the protocol.
type Version int

// The versions. The zero value of an [Encoder] is version 1.
const (
	V1 Version = 1
	V2 Version = 2
)

// Encoder writes what a host says in one version of the protocol.
type Encoder struct {
	// Version is V1 if it is zero.
	Version Version
	// Log is told of every answer that is internal_error, with the code, the method and the
	// route. Nil tells nobody.
	Log *slog.Logger
}

// Path is a path of the protocol, given without its version: "/runs" is /v1/runs in version
// 1 and /runs in version 2.
func (e Encoder) Path(path string) string {
	if e.Version == V2 {
		return path
	}
	return "/v1" + path
}

// Seam is a path of the conformance seams: "/memory/distill" is
// /v1/host/sample/memory/distill in version 1 and
// /conformance/seams/sample/memory/distill in version 2.
func (e Encoder) Seam(path string) string {
	if e.Version == V2 {
		return "/conformance/seams/sample" + path
	}
	return "/v1/host/sample" + path
}

// renamed are the events of this module that have another name in version 2.
var renamed = map[events.Type]string{events.TypeMemoryConsolidated: "agent.memory-consolidated"}

// EventType is the name of a type of events in the version.
func (e Encoder) EventType(t events.Type) string {
	if name, ok := renamed[t]; ok && e.Version == V2 {
		return name
	}
	return string(t)
}

// RunEvent returns the JSON form of an event (RunEventDoc) in the version. An invalid event is
// an error that matches events.ErrInvalid.
func (e Encoder) RunEvent(ev events.RunEvent) ([]byte, error) {
	raw, err := json.Marshal(ev)
	if err != nil {
		return nil, err
	}
	return e.Rename(raw)
}

// Rename returns a RunEventDoc, as a log of version 1 holds it, with its type as the version
// names it; all else, and what is no event of this module, stays as it is.
func (e Encoder) Rename(doc []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		return nil, fmt.Errorf("wire: not an event: %w", events.ErrInvalid)
	}
	var typ events.Type
	if json.Unmarshal(fields["type"], &typ) != nil || e.EventType(typ) == string(typ) {
		return doc, nil
	}
	name, err := json.Marshal(e.EventType(typ))
	if err != nil {
		return nil, err
	}
	fields["type"] = name
	return json.Marshal(fields)
}

// Discovery returns a discovery document in the version, of one in the form of version 1
// such as the JSON of a *capability.Model. In version 2 the families of memory claim by
// their presence: a block whose "supported" is false is left out, and "supported" is left
// out of the others; families are at the root only.
func (e Encoder) Discovery(document []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root map[string]any
	if !json.Valid(document) || decoder.Decode(&root) != nil || root == nil {
		return nil, fmt.Errorf("wire: the discovery document is not a JSON object")
	}
	if e.Version != V2 {
		return document, nil
	}
	if inner, ok := root["capabilities"].(map[string]any); ok {
		for name, family := range inner {
			if _, atRoot := root[name]; !atRoot {
				root[name] = family
			}
		}
		delete(root, "capabilities")
	}
	for _, name := range []string{"memory", "agents", "multiAgent", "scheduling", "workspace", "heartbeat"} {
		if family, ok := root[name]; ok && !present(family) {
			delete(root, name)
		}
	}
	if version, ok := root["protocolVersion"].(string); ok && strings.HasPrefix(version, "1.") {
		root["protocolVersion"] = "2.0"
	}
	return json.Marshal(root)
}

// present turns a block and those within it to the form of version 2, and reports whether it
// claims anything.
func present(block any) bool {
	fields, ok := block.(map[string]any)
	if !ok {
		return true
	}
	if supported, ok := fields["supported"]; ok {
		if supported != true {
			return false
		}
		delete(fields, "supported")
	}
	for name, field := range fields {
		if list, ok := field.([]any); ok {
			fields[name] = slices.DeleteFunc(list, func(block any) bool { return !present(block) })
		} else if !present(field) {
			delete(fields, name)
		}
	}
	return true
}
