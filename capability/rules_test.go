package capability_test

import (
	"math"
	"reflect"
	"slices"
	"strconv"
)

// The rules of the schemas once more, by hand: rules returns every rule that the
// memory and agents families of a document break, as "pointer keyword kind". The
// document is what encoding/json makes of it.
func rules(doc map[string]any) []string {
	var r ruling
	for _, name := range []string{"memory", "agents"} {
		path, family, ok := lookup(doc, name)
		if !ok {
			continue
		}
		if name == "memory" {
			r.memory(path, family)
		} else {
			r.agents(path, family)
		}
	}
	slices.Sort(r.broken)
	return r.broken
}

// lookup finds a family at the root, or else in the wrapper.
func lookup(doc map[string]any, name string) (path string, family any, ok bool) {
	if family, ok := doc[name]; ok {
		return "/" + name, family, true
	}
	inner, _ := doc["capabilities"].(map[string]any)
	family, ok = inner[name]
	return "/capabilities/" + name, family, ok
}

type ruling struct{ broken []string }

func (r *ruling) fail(path, rule string, v any) {
	r.broken = append(r.broken, path+" "+rule+" "+kindOf(v))
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func (r *ruling) memory(path string, v any) {
	m, ok := r.object(path, v)
	if !ok {
		return
	}
	for _, name := range []string{"supported", "writable", "ttlSupported"} {
		r.boolean(path, m, name)
	}
	r.integer(path, m, "maxEntrySizeBytes", 1)

	if b, at, ok := r.block(path, m, "search", []string{"supported", "modes"}, "supported"); ok {
		r.boolean(at, b, "supported")
		r.enums(at, b, "modes", "semantic", "filter")
	}
	if b, at, ok := r.block(path, m, "retention", []string{"ttl", "forget"}); ok {
		r.boolean(at, b, "ttl")
		r.boolean(at, b, "forget")
	}
	if b, at, ok := r.block(path, m, "attribution", []string{"supported", "emitsWriteEvents"}, "supported"); ok {
		if s, ok := b["supported"]; ok && s != true {
			r.fail(at+"/supported", "const", s)
		}
		r.boolean(at, b, "emitsWriteEvents")
	}
	known := []string{"supported", "trigger", "maxInputEntries", "maxOutputBytes"}
	if b, at, ok := r.block(path, m, "compaction", known, "supported"); ok {
		r.boolean(at, b, "supported")
		r.enum(at, b, "trigger", "host-managed", "client-requested", "both")
		r.integer(at, b, "maxInputEntries", 1)
		r.integer(at, b, "maxOutputBytes", 0)
		if _, ok := b["trigger"]; !ok && b["supported"] == true {
			r.broken = append(r.broken, at+"/trigger required absent")
		}
	}
	known = []string{"supported", "maxTokenBudget", "scheduled", "indexEmitted", "tokenizerName", "archiveRetention"}
	if b, at, ok := r.block(path, m, "distillation", known, "supported"); ok {
		r.boolean(at, b, "supported")
		r.integer(at, b, "maxTokenBudget", 1)
		r.boolean(at, b, "scheduled")
		r.boolean(at, b, "indexEmitted")
		r.text(at, b, "tokenizerName")
		r.text(at, b, "archiveRetention")
	}
}

func (r *ruling) agents(path string, v any) {
	m, ok := r.object(path, v)
	if !ok {
		return
	}
	r.enums(path, m, "memoryBackends", "long-term")
	if b, at, ok := r.block(path, m, "memoryConsolidation", []string{"supported", "schedule"}, "supported"); ok {
		r.boolean(at, b, "supported")
		r.enum(at, b, "schedule", "host-managed", "scheduled", "on-demand")
	}
	if b, at, ok := r.block(path, m, "commitments", []string{"supported", "fireConditions"}, "supported"); ok {
		r.boolean(at, b, "supported")
		r.enums(at, b, "fireConditions", "time", "predicate")
	}
	known := []string{"artifactKinds", "duplicationDetection", "activation"}
	if b, at, ok := r.block(path, m, "proposals", known, "artifactKinds", "activation"); ok {
		r.enums(at, b, "artifactKinds", "agent-pack", "workflow-chain-pack", "prompt-template", "automation")
		r.boolean(at, b, "duplicationDetection")
		r.enum(at, b, "activation", "approval-gate", "direct-rbac")
	}
	known = []string{"supported", "handoffValidation", "installScope"}
	if b, at, ok := r.block(path, m, "manifestRuntime", known, "supported"); ok {
		r.boolean(at, b, "supported")
		r.boolean(at, b, "handoffValidation")
		r.enum(at, b, "installScope", "host", "tenant")
	}
}

func (r *ruling) object(path string, v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail(path, "type", v)
	}
	return m, ok
}

// block is a closed object with required fields.
func (r *ruling) block(path string, m map[string]any, name string, known []string, required ...string) (map[string]any, string, bool) {
	v, ok := m[name]
	if !ok {
		return nil, "", false
	}
	path += "/" + name
	b, ok := r.object(path, v)
	if !ok {
		return nil, "", false
	}
	for field := range b {
		if !slices.Contains(known, field) {
			r.fail(path, "additionalProperties", b)
			break
		}
	}
	for _, field := range required {
		if _, ok := b[field]; !ok {
			r.broken = append(r.broken, path+"/"+field+" required absent")
		}
	}
	return b, path, true
}

func (r *ruling) boolean(path string, m map[string]any, name string) {
	if v, ok := m[name]; ok && kindOf(v) != "boolean" {
		r.fail(path+"/"+name, "type", v)
	}
}

func (r *ruling) text(path string, m map[string]any, name string) {
	if v, ok := m[name]; ok && kindOf(v) != "string" {
		r.fail(path+"/"+name, "type", v)
	}
}

func (r *ruling) integer(path string, m map[string]any, name string, least float64) {
	v, ok := m[name]
	if !ok {
		return
	}
	switch n, ok := v.(float64); {
	case !ok || n != math.Trunc(n):
		r.fail(path+"/"+name, "type", v)
	case n < least:
		r.fail(path+"/"+name, "minimum", v)
	}
}

func (r *ruling) enum(path string, m map[string]any, name string, values ...string) {
	if v, ok := m[name]; ok {
		r.oneOf(path+"/"+name, v, values)
	}
}

func (r *ruling) oneOf(path string, v any, values []string) {
	switch s, ok := v.(string); {
	case !ok:
		r.fail(path, "type", v)
	case !slices.Contains(values, s):
		r.fail(path, "enum", v)
	}
}

// enums is a list of unique values.
func (r *ruling) enums(path string, m map[string]any, name string, values ...string) {
	v, ok := m[name]
	if !ok {
		return
	}
	path += "/" + name
	items, ok := v.([]any)
	if !ok {
		r.fail(path, "type", v)
		return
	}
	for i, item := range items {
		r.oneOf(path+"/"+strconv.Itoa(i), item, values)
		if slices.ContainsFunc(items[:i], func(other any) bool { return reflect.DeepEqual(other, item) }) &&
			!slices.Contains(r.broken, path+" uniqueItems array") {
			r.fail(path, "uniqueItems", v)
		}
	}
}
