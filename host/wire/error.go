package wire

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// Codes of the protocol that no package of this module has for itself.
const (
	CodeUnauthenticated   memory.Code = "unauthenticated"
	CodePayloadTooLarge   memory.Code = "payload_too_large"
	CodeInvalidFromSeq    memory.Code = "invalid_from_seq"
	CodeForkPointInvalid  memory.Code = "fork_point_invalid"
	CodeWorkspaceConflict memory.Code = "workspace_conflict"
	CodeWorkspaceTooLarge memory.Code = "workspace_too_large"
	CodeVersionConflict   memory.Code = "version_conflict"

	CodeIDTenantMismatch   memory.Code = "id_tenant_mismatch"
	CodeVersionMismatch    memory.Code = "protocol_version_mismatch"
	CodeVersionUnsupported memory.Code = "protocol_version_unsupported"
	CodeStreamMode         memory.Code = "unsupported_stream_mode"

	// What is wrong with the header Idempotency-Key.
	CodeKeyInvalid  memory.Code = "idempotency_key_invalid"
	CodeKeyMismatch memory.Code = "idempotency_key_mismatch"

	// Why a run fails that names a secret which it may not have, or does not have (RFC 0229).
	CodeCredentialForbidden memory.Code = "credential_forbidden"
	CodeCredentialNotFound  memory.Code = "credential_not_found"

	// CodeArtifactInvalid is for an artifact that is not one of its kind. The protocol gives
	// the status 422 and no code (RFC 0096): it goes out as validation_error.
	CodeArtifactInvalid memory.Code = "artifact_invalid"
)

// Error is a refusal in a host's own words. Its message is a fixed phrase, and its details
// hold no more than a client may know: both go out as they are.
type Error struct {
	Kind    memory.Code
	Message string
	Details map[string]any
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Code is the code, for memory.CodeOf.
func (e *Error) Code() memory.Code { return e.Kind }

// Invalid is a validation_error about a field of a request, which details.field names.
func Invalid(field, message string) *Error {
	return &Error{Kind: memory.CodeValidation, Message: message, Details: map[string]any{"field": field}}
}

// Envelope is the body of an answer that refuses a request (error-envelope, closed).
type Envelope struct {
	Code    memory.Code    `json:"error"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// answer is what a version makes of a code: the code that it registers, and its status.
type answer struct {
	code   memory.Code
	status int
}

// answers are the codes of this module with what both versions make of them. A code of
// version 1 that version 2 does not register has the one of the same state.
var answers = map[memory.Code][2]answer{
	memory.CodeValidation:          both(memory.CodeValidation, 400),
	memory.CodeForbidden:           both(memory.CodeForbidden, 403),
	memory.CodeNotFound:            both(memory.CodeNotFound, 404),
	memory.CodeStorageLimit:        both(memory.CodeStorageLimit, 422),
	memory.CodeSecretLeakage:       {{memory.CodeSecretLeakage, 422}, {memory.CodeValidation, 400}},
	memory.CodeNotProvided:         {{memory.CodeNotProvided, 501}, {memory.CodeNotProvided, 422}},
	memory.CodeSnapshotUnavailable: {{memory.CodeSnapshotUnavailable, 422}, {memory.CodeSnapshotUnavailable, 409}},
	"token_budget_exceeded":        both("token_budget_exceeded", 422),
	"schedule_horizon_exceeded":    both("schedule_horizon_exceeded", 400),
	CodeUnauthenticated:            both(CodeUnauthenticated, 401),
	CodePayloadTooLarge:            both(CodePayloadTooLarge, 413),
	CodeInvalidFromSeq:             {{CodeInvalidFromSeq, 422}, {CodeForkPointInvalid, 422}},
	CodeForkPointInvalid:           {{CodeInvalidFromSeq, 422}, {CodeForkPointInvalid, 422}},
	CodeWorkspaceConflict:          both(CodeWorkspaceConflict, 409),
	CodeWorkspaceTooLarge:          both(CodeWorkspaceTooLarge, 413),
	CodeVersionConflict:            both(CodeVersionConflict, 409),
	CodeIDTenantMismatch:           both(CodeIDTenantMismatch, 403),
	CodeVersionMismatch:            both(CodeVersionMismatch, 400),
	CodeVersionUnsupported:         both(CodeVersionUnsupported, 406),
	CodeStreamMode:                 both(CodeStreamMode, 400),
	CodeKeyInvalid:                 both(CodeKeyInvalid, 400),
	CodeKeyMismatch:                both(CodeKeyMismatch, 409),
	CodeCredentialForbidden:        both(CodeCredentialForbidden, 403),
	CodeCredentialNotFound:         both(CodeCredentialNotFound, 404),
	CodeArtifactInvalid:            {{memory.CodeValidation, 422}, {memory.CodeValidation, 400}},
}

func both(code memory.Code, status int) [2]answer {
	return [2]answer{{code, status}, {code, status}}
}

// lookup returns what the version makes of a code. A code that is not in the table, and one
// that the protocol has no word for, is the host's failure.
func (e Encoder) lookup(code memory.Code) answer {
	of, ok := answers[code]
	if !ok {
		return answer{memory.CodeInternal, http.StatusInternalServerError}
	}
	if e.Version == V1 {
		return of[0]
	}
	return of[1]
}

// Envelope returns what an error is to a client, and the status of the answer. The code is
// that of an [*Error], else that of memory.CodeOf; the message is the text of the error within
// it that has that code by a method Code, as those of this module have, and the details are
// those that the same error offers by a method Details, such as the budget of a
// *distill.BudgetError. Version 2 adds details.service, the protocol's name
// of the family, to the generic codes of memory (RFC 0228).
func (e Encoder) Envelope(err error) (Envelope, int) {
	own, said := (*Error)(nil), coded(nil)
	code := memory.CodeOf(err)
	if errors.As(err, &own) {
		code = own.Kind
	}
	to := e.lookup(code)
	if to.code == memory.CodeInternal {
		return Envelope{Code: memory.CodeInternal, Message: "the host failed"}, to.status
	}
	out := Envelope{Code: to.code}
	details := map[string]any{}
	if own != nil {
		out.Message = own.Message
		maps.Copy(details, own.Details)
	} else {
		if errors.As(err, &said) {
			out.Message = said.Error()
		}
		if detailed, ok := said.(interface{ Details() map[string]any }); ok {
			maps.Copy(details, detailed.Details())
		}
		if e.Version != V1 && slices.Contains(generic, to.code) {
			details["service"] = "memory"
		}
	}
	if to.code != code {
		details["reason"] = strings.ReplaceAll(string(code), "_", "-")
	}
	if len(details) > 0 {
		out.Details = details
	}
	if out.Message == "" {
		out.Message = strings.ReplaceAll(string(to.code), "_", " ")
	}
	return out, to.status
}

// coded is an error of this module, whose text holds nothing of an entry (M2).
type coded interface {
	error
	Code() memory.Code
}

// generic are the codes that say nothing of the family that they come from.
var generic = []memory.Code{memory.CodeValidation, memory.CodeForbidden, memory.CodeNotFound, memory.CodeStorageLimit}
