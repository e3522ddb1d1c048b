package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// families are those that this module knows, which a suite can witness.
var families = []string{
	"memory", "agents", "multiAgent", "scheduling", "workspace", "secrets", "heartbeat", "replay", "limits", "supportedEnvelopes", "schemaVersions",
}

// EventLogSchema is version 2's number of the form in which a log is written.
const EventLogSchema = 3

// Discovery returns a discovery document in the version, of one in the form of version 1 such as a
// *capability.Model. In version 2 a family claims by its presence, at the root
// only: a block whose "supported" is false is left out, "supported" is left out of the others, and
// each family says its status, since when it is there, and how it is witnessed. A document that is no
// JSON object is memory.ErrValidation.
func (e Encoder) Discovery(document any) (root map[string]any, err error) {
	raw, err := json.Marshal(document)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err != nil || decoder.Decode(&root) != nil || root == nil {
		return nil, memory.ErrValidation.In("wire", "the discovery document is not a JSON object", nil)
	}
	if e.Version == V1 {
		return root, nil
	}
	if inner, ok := root["capabilities"].(map[string]any); ok {
		for name, family := range inner {
			if _, atRoot := root[name]; !atRoot {
				root[name] = family
			}
		}
		delete(root, "capabilities")
	}
	for _, name := range families {
		family, ok := root[name]
		if list, isList := family.([]any); isList { // of kinds, which version 2 gives a name
			family = map[string]any{"kinds": list}
		}
		record, isRecord := family.(map[string]any)
		if !ok || !isRecord || !present(record) {
			delete(root, name)
			continue
		}
		record["status"], record["since"], record["witness"] = "stable", V2.String(), "witnessable-gated"
		if name == "multiAgent" {
			record["witness"] = "claims-check"
		}
		root[name] = record
	}
	if _, said := root["protocolVersion"]; said {
		root["protocolVersion"], root["eventLogSchemaVersion"] = V2.String(), EventLogSchema
	}
	return root, nil
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
