package proposal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/openwop/agentmemory/events"
)

// State is the stage of a proposal's review.
type State string

// The states of RFC 0096.
const (
	StateDraft    State = "draft"
	StateRevised  State = "revised"
	StateApplied  State = "applied"
	StateRejected State = "rejected"
	StateArchived State = "archived"
)

// Proposal is an artifact under review. Its JSON form is the protocol's, which is closed.
type Proposal struct {
	ID         string              `json:"id"`
	Kind       events.ArtifactKind `json:"kind"`
	State      State               `json:"state"`
	Title      string              `json:"title,omitempty"`
	Rationale  string              `json:"rationale,omitempty"`
	Artifact   json.RawMessage     `json:"artifact"` // an object, compact
	Provenance Provenance          `json:"provenance"`
	// DuplicateOf is an earlier proposal with the same artifact; empty if none is known.
	DuplicateOf string      `json:"duplicateOf,omitempty"`
	Owner       Owner       `json:"owner"`
	Activation  *Activation `json:"activation,omitempty"`
	CreatedAt   time.Time   `json:"createdAt"`
	UpdatedAt   time.Time   `json:"updatedAt,omitzero"`
}

// Provenance says what a proposal was made from.
type Provenance struct {
	SourceRunIDs     []string `json:"sourceRunIds"`
	SynthesizerModel string   `json:"synthesizerModel,omitempty"`
}

// Owner says whose a proposal is. The tenant is the job's.
type Owner struct {
	Tenant    string `json:"tenant"`
	Workspace string `json:"workspace,omitempty"`
	Principal string `json:"principal,omitempty"`
}

// Activation says how a proposal was applied.
type Activation struct {
	ApprovalID string `json:"approvalId,omitempty"`
	// InstalledArtifactRef names the proposal and the digest of what was installed.
	InstalledArtifactRef string `json:"installedArtifactRef,omitempty"`
}

// Digest names the bytes of the artifact: "sha256:" and hex digits.
func (p *Proposal) Digest() string {
	sum := sha256.Sum256(p.Artifact)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// MarshalJSON writes the artifact byte for byte as it is stored.
func (p Proposal) MarshalJSON() ([]byte, error) {
	type wire Proposal
	if p.Provenance.SourceRunIDs == nil {
		p.Provenance.SourceRunIDs = []string{}
	}
	return encode(wire(p))
}

func newID(prefix string) string { return prefix + rand.Text() }
