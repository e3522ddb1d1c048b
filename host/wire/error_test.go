package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

const canary = "hunter2-and-the-entry's-text"

// said are errors of this module, each with what both versions answer.
var said = []struct {
	err    error
	v1, v2 string
}{
	{memory.ErrValidation, "400 validation_error", "400 validation_error"},
	{memory.ErrForbidden, "403 forbidden", "403 forbidden"},
	{memory.ErrNotFound, "404 not_found", "404 not_found"},
	{memory.ErrDeleted, "404 not_found", "404 not_found"},
	{memory.ErrSecretLeakage, "422 secret_leakage", "400 validation_error"},
	{memory.ErrSnapshotUnavailable, "422 replay_memory_snapshot_unavailable", "409 replay_memory_snapshot_unavailable"},
	{memory.ErrNotProvided, "501 capability_not_provided", "422 capability_not_provided"},
	{memory.ErrStorageLimit, "422 storage_limit_exceeded", "422 storage_limit_exceeded"},
	{memory.ErrBacklog, "422 storage_limit_exceeded", "422 storage_limit_exceeded"},
	{memory.ErrConflict, "500 internal_error", "500 internal_error"},
	{memory.ErrEnded, "500 internal_error", "500 internal_error"},
	{memory.ErrDiverged, "500 internal_error", "500 internal_error"},
	{memory.ErrOutcomeUnknown, "500 internal_error", "500 internal_error"},
	{memory.ErrInternal, "500 internal_error", "500 internal_error"},
	{context.Canceled, "500 internal_error", "500 internal_error"},
	{errors.New(canary), "500 internal_error", "500 internal_error"},
	{&distill.BudgetError{Budget: 100, MinimumRequired: 900}, "422 token_budget_exceeded", "422 token_budget_exceeded"},
	{&commitment.HorizonError{Max: 90 * 24 * time.Hour}, "400 schedule_horizon_exceeded", "400 schedule_horizon_exceeded"},
	{redactError(), "422 secret_leakage", "400 validation_error"},
	{&wire.Error{Kind: wire.CodeUnauthenticated, Message: "no token"}, "401 unauthenticated", "401 unauthenticated"},
	{&wire.Error{Kind: wire.CodePayloadTooLarge, Message: "too long"}, "413 payload_too_large", "413 payload_too_large"},
	{&wire.Error{Kind: wire.CodeInvalidFromSeq, Message: "beyond the log"}, "422 invalid_from_seq", "422 fork_point_invalid"},
	{&wire.Error{Kind: wire.CodeWorkspaceConflict, Message: "another version"}, "409 workspace_conflict", "409 workspace_conflict"},
	{&wire.Error{Kind: wire.CodeWorkspaceTooLarge, Message: "too long"}, "413 workspace_too_large", "413 workspace_too_large"},
	{&wire.Error{Kind: wire.CodeVersionConflict, Message: "another state"}, "409 version_conflict", "409 version_conflict"},
	{&wire.Error{Kind: wire.CodeArtifactInvalid, Message: "no steps"}, "422 validation_error", "400 validation_error"},
	{&wire.Error{Kind: "made_up", Message: canary}, "500 internal_error", "500 internal_error"},
}

func redactError() error {
	r := redact.New(redact.Config{Policy: redact.Reject})
	if err := r.Register("key", []byte("a-secret-of-some-length")); err != nil {
		panic(err)
	}
	_, err := r.Redact("it is a-secret-of-some-length")
	return err
}

func TestM2_EnvelopesHaveTheirVersionsCodeAndNothingFromInside(t *testing.T) {
	for _, c := range said {
		wraps := []error{
			c.err,
			fmt.Errorf("%s: %w", canary, c.err),
			errors.Join(errors.New(canary), c.err),
		}
		if kind, ok := c.err.(*driver.Kind); ok {
			wraps = append(wraps, kind.With("a fixed phrase", errors.New(canary)))
		}
		for _, err := range wraps {
			for version, want := range map[wire.Version]string{0: c.v2, wire.V1: c.v1, wire.V2: c.v2} {
				enc := wire.Encoder{Version: version}
				envelope, status := enc.Envelope(err)
				assert.Equal(t, want, fmt.Sprintf("%d %s", status, envelope.Code), "%v in version %d", err, version)
				raw, err := json.Marshal(envelope)
				require.NoError(t, err)
				assert.NotContains(t, string(raw), "hunter2")
				assert.NotContains(t, string(raw), "a-secret")
				closed(t, raw)
			}
		}
	}
}

// foreign is an error of something else, with details of its own.
type foreign struct{ error }

func (f foreign) Unwrap() error { return f.error }

func (foreign) Details() map[string]any { return map[string]any{"body": canary} }

func TestM2_DetailsAreThoseOfTheErrorThatIsAnswered(t *testing.T) {
	for _, err := range []error{
		errors.Join(foreign{errors.New(canary)}, memory.ErrNotFound),
		foreign{fmt.Errorf("%s: %w", canary, memory.ErrNotFound)},
	} {
		envelope, status := wire.Encoder{Version: wire.V1}.Envelope(err)
		assert.Equal(t, 404, status)
		assert.Equal(t, wire.Envelope{Code: memory.CodeNotFound, Message: memory.ErrNotFound.Error()}, envelope)
	}
}

// closed checks the shape of the protocol's error envelope.
func closed(t *testing.T, raw []byte) {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(raw, &fields))
	for _, name := range []string{"error", "message"} {
		text, ok := fields[name].(string)
		assert.True(t, ok && text != "", "%s in %s", name, raw)
		delete(fields, name)
	}
	if details, ok := fields["details"]; ok {
		assert.IsType(t, map[string]any{}, details)
		delete(fields, "details")
	}
	assert.Empty(t, fields, "%s", raw)
}

func TestEnvelopeDetails(t *testing.T) {
	for _, c := range []struct {
		err     error
		version wire.Version
		want    map[string]any
	}{
		{&distill.BudgetError{Budget: 100, MinimumRequired: 900}, wire.V1, map[string]any{"budget": 100, "minimumRequired": 900}},
		{&commitment.HorizonError{Max: 90 * 24 * time.Hour}, wire.V1, map[string]any{"maxFutureHorizon": "P90D"}},
		{memory.ErrNotFound, wire.V1, nil},
		{memory.ErrNotFound, wire.V2, map[string]any{"service": "memory"}},
		{memory.ErrSecretLeakage, wire.V2, map[string]any{"service": "memory", "reason": "secret-leakage"}},
		{wire.Invalid("limit", "must not be negative"), wire.V2, map[string]any{"field": "limit"}},
	} {
		envelope, _ := wire.Encoder{Version: c.version}.Envelope(c.err)
		assert.Equal(t, c.want, envelope.Details, "%v", c.err)
	}
}

func TestEnvelopeNamesTheLimit(t *testing.T) {
	limits := func(context.Context, string) (driver.Limits, error) { return driver.Limits{Entries: 1}, nil }
	bank, err := memory.New(inmem.New(), memory.Config{Limits: limits})
	require.NoError(t, err)
	run, err := bank.Start(t.Context(), memory.RunConfig{Tenant: "acme", ID: "run-1", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	_, err = run.Put(t.Context(), "notes", memory.Draft{Content: "one"})
	require.NoError(t, err)
	_, err = run.Put(t.Context(), "notes", memory.Draft{Content: "two"})
	envelope, status := wire.Encoder{Version: wire.V2}.Envelope(err)
	assert.Equal(t, 422, status)
	assert.Equal(t, map[string]any{"service": "memory", "limit": int64(1)}, envelope.Details)
}
