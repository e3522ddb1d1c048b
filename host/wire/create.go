package wire

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
)

// RunOptions are what a caller says of a run. A host keeps them, and its snapshot shows them unchanged.
type RunOptions struct {
	Configurable map[string]any `json:"configurable,omitempty"`
	Tags         []string       `json:"tags,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
}

// RunRequest is the body of POST /runs, which is closed. TenantID is what the caller says: whose the
// run is, its credentials say.
type RunRequest struct {
	WorkflowID string         `json:"workflowId"`
	Inputs     map[string]any `json:"inputs"`
	TenantID   string         `json:"tenantId"`
	ScopeID    string         `json:"scopeId"`
	AgentID    string         `json:"agentId"`
	// RunSecrets are the run's own by their ids (RFC 0229), in version 2: to be registered with its
	// redactor, and kept nowhere.
	RunSecrets map[string]string `json:"runSecrets"`
	RunOptions
}

// ReadRun reads the body of POST /runs. What breaks a rule of the version is validation_error.
func (e Encoder) ReadRun(r *http.Request) (body RunRequest, err error) {
	if err := Read(r, 0, &body); err != nil {
		return body, err
	}
	for _, tag := range body.Tags {
		if utf8.RuneCountInString(tag) > 256 {
			return body, Invalid("tags", "one has more than 256 characters")
		}
	}
	if len(body.Tags) > 100 {
		return body, Invalid("tags", "there are more than 100")
	}
	if e.Version == V2 && body.Configurable != nil && body.Configurable["version"] != 1.0 {
		return body, Invalid("configurable", "its version is not 1")
	}
	if e.Version != V2 && body.RunSecrets != nil {
		return body, Invalid("runSecrets", "version 1 has none")
	}
	for _, secret := range body.RunSecrets {
		if n := utf8.RuneCountInString(secret); n < 16 || n > 4096 {
			return body, Invalid("runSecrets", "a value does not have 16 to 4096 characters")
		}
	}
	return body, nil
}

// Accepted is the answer to POST /runs, with status 201. A run that was accepted is running; its
// snapshot says more.
func (e Encoder) Accepted(tenant, runID string) map[string]any {
	at := e.RunPath(tenant, runID)
	return map[string]any{"runId": e.RunID(tenant, runID), "status": "running", "eventsUrl": at + "/events", "statusUrl": at}
}

// ForkRequest is the body of POST /runs/{id}:fork.
type ForkRequest struct {
	FromSeq           *int64         `json:"fromSeq"` // ReadFork sets it
	Mode              string         `json:"mode"`    // replay or branch
	RunOptionsOverlay map[string]any `json:"runOptionsOverlay"`
}

// ReadFork reads the body of POST /runs/{id}:fork.
func (e Encoder) ReadFork(r *http.Request) (body ForkRequest, err error) {
	err = Read(r, 0, &body)
	switch {
	case err != nil:
		return body, err
	case body.Mode != "replay" && body.Mode != "branch":
		return body, Invalid("mode", "the mode is neither replay nor branch")
	case body.Mode == "replay" && len(body.RunOptionsOverlay) > 0:
		return body, Invalid("runOptionsOverlay", "a replay has none")
	case body.Mode == "branch" && body.FromSeq == nil && e.Version == V2:
		return body, Invalid("fromSeq", "a branch begins somewhere")
	case body.FromSeq == nil:
		body.FromSeq = new(int64)
	}
	return body, nil
}

// Run is a run as its snapshot shows it, but for whose it is.
type Run struct {
	RunID       string            `json:"runId"`
	WorkflowID  string            `json:"workflowId"`
	Status      string            `json:"status"` // such as running, completed or failed
	Agent       map[string]string `json:"agent,omitempty"`
	Inputs      map[string]any    `json:"inputs,omitempty"`
	Variables   map[string]any    `json:"variables,omitempty"`
	Error       *Failure          `json:"error,omitempty"`
	StartedAt   time.Time         `json:"startedAt"`
	CompletedAt time.Time         `json:"completedAt,omitzero"`
	// ParentRunID is the run of which this one is a fork.
	ParentRunID string `json:"parentRunId,omitempty"`
	RunOptions
}

// Failure is why a run failed, as run.failed and the run's snapshot say it.
type Failure struct {
	Code    memory.Code `json:"code"`
	Message string      `json:"message"`
}

// FailureOf is the failure of a run by an error, by a code that both versions register.
func FailureOf(err error) *Failure {
	envelope, _ := Encoder{Version: V2}.Envelope(err)
	return &Failure{envelope.Code, envelope.Message}
}

// Snapshot is the answer to GET /runs/{id} about a tenant's run. files are those of the workspace that
// the run sees (RFC 0059 §D), without their content. Version 2, whose snapshot is closed, has them
// among the extensions.
func (e Encoder) Snapshot(tenant string, run Run, files any) any {
	run.RunID = e.RunID(tenant, run.RunID)
	if run.ParentRunID != "" {
		run.ParentRunID = e.RunID(tenant, run.ParentRunID)
	}
	out := struct {
		Run
		Owner                 map[string]any `json:"owner"`
		Workspace             any            `json:"workspace,omitempty"`
		EventLogSchemaVersion int            `json:"eventLogSchemaVersion,omitempty"`
		Extensions            map[string]any `json:"extensions,omitempty"`
	}{Run: run}
	if e.Version != V2 {
		out.Owner, out.Workspace = map[string]any{"tenant": tenant}, files
		return out
	}
	out.Owner, out.EventLogSchemaVersion = Owner(tenant), EventLogSchema
	out.Extensions = map[string]any{"example.workspace": map[string]any{"files": files}}
	return out
}
