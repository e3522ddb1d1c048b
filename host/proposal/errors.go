package proposal

import (
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// illegal refuses a move that the proposal's state does not have. Nothing has changed.
func illegal(in State) error {
	return &wire.Error{Kind: wire.CodeVersionConflict, Message: "proposal: it is " + string(in), Details: map[string]any{"state": string(in)}}
}

// ArtifactError refuses an artifact that is not one of its kind.
type ArtifactError struct {
	// Field is where, as the validator says it; it must hold no value of the artifact.
	Field string
	// Rule is what the field breaks, a fixed phrase.
	Rule string
}

// Error names the field and the rule.
func (e *ArtifactError) Error() string {
	if e.Field == "" {
		return "proposal: the artifact is not valid: " + e.Rule
	}
	return "proposal: the artifact is not valid: " + e.Field + ": " + e.Rule
}

// Code goes out as validation_error with the status 422.
func (e *ArtifactError) Code() memory.Code { return wire.CodeArtifactInvalid }

// Details is what the error envelope carries.
func (e *ArtifactError) Details() map[string]any {
	if e.Field == "" {
		return map[string]any{"field": "artifact"}
	}
	return map[string]any{"field": "artifact." + e.Field}
}

var (
	errNotFound = memory.ErrNotFound.In(pkg, "the tenant has no such proposal", nil)
	errJob      = invalid("the job is nil: open one by Bank.Background or Bank.Pass")
	errScope    = memory.ErrForbidden.In(pkg, "the caller may not activate", nil)
	errApproval = memory.ErrForbidden.In(pkg, "there is no approval for this artifact", nil)
	errOverride = memory.ErrForbidden.In(pkg, "the caller may not override the approval", nil)
	errFormat   = memory.ErrInternal.In(pkg, "it was written by a newer version of this package", nil)
	errSecret   = memory.ErrSecretLeakage.In(pkg, "a secret cannot be taken out", nil)
	errLimit    = memory.ErrStorageLimit.In(pkg, "the tenant has as many proposals as Config.MaxProposals allows", nil)
)

const pkg = "proposal"

func invalid(rule string) error { return memory.ErrValidation.In(pkg, rule, nil) }
