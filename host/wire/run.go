package wire

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/openwop/agentmemory/events"
)

// RunID is the id of a tenant's run in documents of the version: version 2 binds it to the tenant
// (tenant/id).
func (e Encoder) RunID(tenant, id string) string {
	if e.Version == V1 || tenant == "" || strings.HasPrefix(id, tenant+"/") {
		return id
	}
	return tenant + "/" + id
}

// RunPath is the path of a run, as a link in a document has it. In version 2 the bound id is one
// segment of it: each byte but letters, digits, ".", "_" and "-" is "~" and two hex digits.
func (e Encoder) RunPath(tenant, id string) string {
	return e.Path("/runs/" + project(e.RunID(tenant, id)))
}

func project(id string) string {
	return strings.NewReplacer("%", "~", "+", "~20", "~", "~7E").Replace(url.QueryEscape(id))
}

// ParseRunID reads the id of a run out of a segment of a path, as the caller's tenant named it:
// bare or, in version 2, bound. An id that is bound to another tenant is id_tenant_mismatch.
func (e Encoder) ParseRunID(tenant, segment string) (string, error) {
	if e.Version == V1 {
		return segment, nil
	}
	id, err := url.PathUnescape(strings.NewReplacer("%", "%25", "~", "%").Replace(segment))
	if err != nil {
		return "", errProjection
	}
	if of, own, bound := strings.Cut(id, "/"); bound {
		if of != tenant {
			return "", &Error{Kind: CodeIDTenantMismatch, Message: "the id is bound to another tenant"}
		}
		return own, nil
	}
	return id, nil
}

var errProjection = Invalid("runId", "a ~ is not followed by two hex digits")

// Owner says in version 2 whose a run is. Its subject is a holder of one of the tenant's keys, as
// [Bearer] tells it.
func Owner(tenant string) map[string]any {
	return map[string]any{"tenant": tenant, "subject": map[string]any{
		"issuer": "urn:agentmemory:api-key", "subjectId": tenant, "tenant": tenant, "lane": "api-key", "kind": "workload",
	}}
}

// RunEvent returns the JSON form of an event (RunEventDoc) in the version. An invalid event is
// an error that matches events.ErrInvalid.
func (e Encoder) RunEvent(ev events.RunEvent) ([]byte, error) {
	raw, err := json.Marshal(ev)
	if err != nil || e.Version == V1 {
		return raw, err
	}
	doc := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	delete(doc, "engineVersion") // a text in version 1 and a number in version 2
	if doc["payload"], err = e.Payload(ev.Tenant, ev.Payload); err != nil {
		return nil, err
	}
	for name, value := range map[string]any{
		"runId": e.RunID(ev.Tenant, ev.RunID), "type": e.EventType(ev.Payload.EventType()), "schemaVersion": max(1, ev.SchemaVersion),
	} {
		if doc[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(doc)
}

// Payload returns the JSON form of a tenant's payload in the version: version 2 binds the ids of runs
// in it, and run.started says whose the run is.
func (e Encoder) Payload(tenant string, p events.Payload) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil || e.Version == V1 || tenant == "" {
		return raw, err
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return raw, nil // a payload of the host's own may be no object
	}
	changed := map[string]any{}
	for _, name := range []string{"enqueuedRunId", "parentRunId", "childRunId"} {
		if id := ""; json.Unmarshal(fields[name], &id) == nil {
			changed[name] = e.RunID(tenant, id)
		}
	}
	if ids := []string(nil); json.Unmarshal(fields["sourceRunIds"], &ids) == nil {
		for i := range ids {
			ids[i] = e.RunID(tenant, ids[i])
		}
		changed["sourceRunIds"] = ids
	}
	if p.EventType() == "run.started" {
		changed["owner"] = Owner(tenant)
	}
	if len(changed) == 0 {
		return raw, nil
	}
	for name, value := range changed {
		if fields[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// isTerminal reports whether an event of a type is the last of its run, and the status of the run then.
func isTerminal(t events.Type) (status string, ok bool) {
	switch t {
	case "run.completed", "run.failed", "run.cancelled":
		return strings.TrimPrefix(string(t), "run."), true
	}
	return "", false
}
