package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
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
	// RunSecrets are the run's own (RFC 0229): to be registered with its redactor, and kept nowhere.
	RunSecrets []RunSecret `json:"runSecrets"`
	RunOptions
	// Key is the header Idempotency-Key: a second request of the tenant with it is answered as the first.
	// Digest is of the body without its secrets; that of the first request is another if the key is
	// used for something else, which is CodeKeyMismatch.
	Key, Digest string `json:"-"`
}

// RunSecret is a secret that comes with a run. Its ref is "run:" and 1 to 64 letters, digits and . _ -,
// and its value has 16 to 4,096 characters.
type RunSecret struct {
	Ref   string `json:"ref"`
	Value string `json:"value"`
}

// MaxRunSecrets is how many secrets a run may have, as a host advertises it (secrets.runSecrets.maxEntries).
const MaxRunSecrets = 16

var requestKey = regexp.MustCompile(`^[A-Za-z0-9._~-]{22,128}$`)

var secretRef = regexp.MustCompile(`^run:[A-Za-z0-9_.-]{1,64}$`)

// checkSecrets returns an error that names no secret's ref or value.
func checkSecrets(secrets []RunSecret) error {
	if len(secrets) > MaxRunSecrets {
		return Invalid("runSecrets", fmt.Sprintf("there are more than %d", MaxRunSecrets))
	}
	seen := map[string]bool{}
	for _, s := range secrets {
		switch n := utf8.RuneCountInString(s.Value); {
		case !secretRef.MatchString(s.Ref):
			return Invalid("runSecrets", "a ref is not run: and 1 to 64 letters, digits and . _ -")
		case seen[s.Ref]:
			return Invalid("runSecrets", "a ref is there twice")
		case n < 16 || n > 4096:
			return Invalid("runSecrets", "a value does not have 16 to 4096 characters")
		}
		seen[s.Ref] = true
	}
	return nil
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
	if e.Version != V1 && body.Configurable != nil && body.Configurable["version"] != 1.0 {
		return body, Invalid("configurable", "its version is not 1")
	}
	if err := checkSecrets(body.RunSecrets); err != nil {
		return body, err
	}
	if body.Key = r.Header.Get("Idempotency-Key"); body.Key != "" && e.Version != V1 && !requestKey.MatchString(body.Key) {
		return body, &Error{Kind: CodeKeyInvalid, Message: "the header Idempotency-Key is not 22 to 128 letters, digits and . _ ~ -"}
	}
	open := body
	open.RunSecrets = nil
	raw, err := json.Marshal(open)
	sum := sha256.Sum256(raw)
	body.Digest = hex.EncodeToString(sum[:])
	return body, err
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
	case body.Mode == "branch" && body.FromSeq == nil && e.Version != V1:
		return body, Invalid("fromSeq", "a branch begins somewhere")
	case body.FromSeq == nil:
		body.FromSeq = new(int64)
	case *body.FromSeq < 0:
		return body, Invalid("fromSeq", "it is below 0")
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
	if e.Version == V1 {
		out.Owner, out.Workspace = map[string]any{"tenant": tenant}, files
		return out
	}
	out.Owner, out.EventLogSchemaVersion = Owner(tenant), EventLogSchema
	out.Extensions = map[string]any{"example.workspace": map[string]any{"files": files}}
	return out
}
