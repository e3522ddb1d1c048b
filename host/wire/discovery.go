package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// families are those that this module knows, with how version 2 says that a claim of each is
// witnessed.
var families = map[string]string{
	"memory": "witnessable-gated", "agents": "witnessable-gated", "multiAgent": "claims-check", "scheduling": "witnessable-gated",
	"workspace": "witnessable-gated", "secrets": "witnessable-gated", "heartbeat": "witnessable-gated", "replay": "witnessable-gated", "limits": "witnessable-gated",
	"supportedEnvelopes": "witnessable-gated", "schemaVersions": "witnessable-gated",
}

// EventLogSchema is version 2's number of the form in which a log is written.
const EventLogSchema = 3

// Discovery returns a discovery document in the version, of one in the form of version 1
// such as the JSON of a *capability.Model. In version 2 a family claims by its presence, at the root
// only: a block whose "supported" is false is left out, "supported" is left out of the others, and
// each family says its status, since when it is there, and how it is witnessed.
func (e Encoder) Discovery(document []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root map[string]any
	if !json.Valid(document) || decoder.Decode(&root) != nil || root == nil {
		return nil, memory.ErrValidation.In("wire", "the discovery document is not a JSON object", nil)
	}
	if e.Version == V1 {
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
	for name, witness := range families {
		family, ok := root[name]
		if !ok {
			continue
		}
		if list, ok := family.([]any); ok { // of kinds, which version 2 gives a name
			family = map[string]any{"kinds": list}
			root[name] = family
		}
		record, ok := family.(map[string]any)
		if !present(family) || !ok {
			delete(root, name)
			continue
		}
		maps.Copy(record, map[string]any{"status": "stable", "since": V2.String(), "witness": witness})
	}
	if _, said := root["protocolVersion"]; said {
		root["protocolVersion"], root["eventLogSchemaVersion"] = V2.String(), EventLogSchema
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
