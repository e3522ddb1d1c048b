package events

// Type is the wire name of an event.
type Type string

// The event types of the agent-memory layer.
const (
	TypeMemoryWritten      Type = "memory.written"            // RFC 0057 §A
	TypeMemoryCompacted    Type = "memory.compacted"          // RFC 0012 §B, RFC 0062
	TypeMemoryConsolidated Type = "agent.memory.consolidated" // RFC 0068 §B
	TypeCommitmentFired    Type = "commitment.fired"          // RFC 0068 §C
	TypeWorkspaceUpdated   Type = "workspace.updated"         // RFC 0059
	TypeProposalCreated    Type = "proposal.created"          // RFC 0096
	TypeProposalActivated  Type = "proposal.activated"        // RFC 0096
)

// Payload is what an event says. The set is closed, so that no event of the agent-memory
// layer can carry content (E1): a record with anything but a value of one of this package's
// types is invalid, also with a type that embeds one of them. What a host says in events of
// its own is a [HostPayload].
//
// All strings are valid UTF-8 and all integers at most [MaxInteger]. The JSON form
// is that of [encoding/json]; to read one, use [Decode].
type Payload interface {
	// EventType is the wire name of the event that carries this payload.
	EventType() Type
	// Validate reports the first rule of the payload's schema that does not
	// hold, as an error that matches [ErrInvalid].
	Validate() error

	sealed()
}

// MemoryWritten says that one entry was written (RFC 0057).
type MemoryWritten struct {
	MemoryRef string `json:"memoryRef"`
	MemoryID  string `json:"memoryId"`
	// NodeID is the workflow node whose call caused the write; empty for a write
	// that no node made, such as one of a background pass.
	NodeID  string `json:"nodeId,omitempty"`
	AgentID string `json:"agentId,omitempty"`
}

// CompactionTrigger says what started a compaction or a distillation. A
// scheduled distillation is host-managed: the host owns the schedule.
type CompactionTrigger string

// The triggers of RFC 0012 §A. The protocol gives rules for host-managed only.
const (
	CompactionHostManaged     CompactionTrigger = "host-managed"
	CompactionClientRequested CompactionTrigger = "client-requested"
	CompactionBoth            CompactionTrigger = "both"
)

// MemoryCompacted says that source entries were condensed into one (RFC 0012 §B).
type MemoryCompacted struct {
	MemoryRef string `json:"memoryRef"`
	OutputID  string `json:"outputId"`
	// SourceIDs is either complete or absent. It may be left out only when
	// SourceCount is above [MaxListedSources]. See [Record.Validate].
	SourceIDs   []string          `json:"sourceIds,omitempty"`
	SourceCount int64             `json:"sourceCount"`
	Trigger     CompactionTrigger `json:"trigger"`
	// ByteSize is the length of the new entry's content in bytes.
	ByteSize int64 `json:"byteSize"`
	// Distillation is set when the compaction ran under a token budget (RFC 0062).
	Distillation *Distillation `json:"distillation,omitempty"`
}

// MaxInteger is the largest integer an event may carry, 2^53-1: beyond it JSON
// numbers round silently (RFC 8785).
const MaxInteger = 1<<53 - 1

// MaxListedSources is the source count up to which a [MemoryCompacted] event
// lists its sources (RFC 0012 §B).
const MaxListedSources = 100

// Distillation is the token account of a distillation (RFC 0062).
type Distillation struct {
	TokenBudget int64 `json:"tokenBudget"`
	TokensUsed  int64 `json:"tokensUsed"`
	// IndexUpdated tells whether the run rewrote the memory index; nil says nothing.
	IndexUpdated *bool `json:"indexUpdated,omitempty"`
}

// ConsolidationTrigger says what started a consolidation pass.
type ConsolidationTrigger string

// The triggers of RFC 0068 §A.
const (
	ConsolidationHostManaged ConsolidationTrigger = "host-managed"
	ConsolidationScheduled   ConsolidationTrigger = "scheduled"
	ConsolidationOnDemand    ConsolidationTrigger = "on-demand"
)

// MemoryConsolidated says that a consolidation pass over one memoryRef is
// complete (RFC 0068 §B).
type MemoryConsolidated struct {
	MemoryRef string `json:"memoryRef"`
	// InputCount and OutputCount are the long-term entries before and after.
	InputCount  int64 `json:"inputCount"`
	OutputCount int64 `json:"outputCount"`
	// MergedIDs are the entries that the pass merged or superseded; a host may
	// leave them out of the event of a large pass.
	MergedIDs []string             `json:"mergedIds,omitempty"`
	Trigger   ConsolidationTrigger `json:"trigger,omitempty"`
}

// Condition is the kind of arm that a commitment fired on.
type Condition string

// The fire conditions of RFC 0068 §C.
const (
	ConditionTime      Condition = "time"
	ConditionPredicate Condition = "predicate"
)

// CommitmentFired says that a standing commitment fired (RFC 0068 §C).
type CommitmentFired struct {
	CommitmentID string `json:"commitmentId"`
	MemoryRef    string `json:"memoryRef"`
	// MemoryID is the entry the commitment was inferred from, if it was one.
	MemoryID  string    `json:"memoryId,omitempty"`
	Condition Condition `json:"condition"`
	// EnqueuedRunID is the run that the firing started, if it started one.
	EnqueuedRunID string `json:"enqueuedRunId,omitempty"`
}

// WorkspaceUpdated says that a workspace file has a new version (RFC 0059).
type WorkspaceUpdated struct {
	Path string `json:"path"`
	// Version counts from 1; of a deleted file it is the tombstone's.
	Version int64 `json:"version"`
}

// ArtifactKind is the kind of artifact that a proposal holds.
type ArtifactKind string

// The artifact kinds of RFC 0096.
const (
	KindAgentPack         ArtifactKind = "agent-pack"
	KindWorkflowChainPack ArtifactKind = "workflow-chain-pack"
	KindPromptTemplate    ArtifactKind = "prompt-template"
	KindAutomation        ArtifactKind = "automation"
)

// ProposalCreated says that a proposal was drafted (RFC 0096).
type ProposalCreated struct {
	ProposalID   string       `json:"proposalId"`
	Kind         ArtifactKind `json:"kind"`
	SourceRunIDs []string     `json:"sourceRunIds,omitempty"`
	// DuplicateOf is the proposal that this one repeats; empty if none is known.
	DuplicateOf string `json:"duplicateOf,omitempty"`
}

// ProposalActivated says that a proposal's artifact was installed (RFC 0096).
type ProposalActivated struct {
	ProposalID string       `json:"proposalId"`
	Kind       ArtifactKind `json:"kind"`
	// ApprovalID is the approval that allowed it; empty when the caller's own
	// right did.
	ApprovalID           string `json:"approvalId,omitempty"`
	InstalledArtifactRef string `json:"installedArtifactRef"`
}

// EventType returns [TypeMemoryWritten].
func (MemoryWritten) EventType() Type { return TypeMemoryWritten }

// EventType returns [TypeMemoryCompacted].
func (MemoryCompacted) EventType() Type { return TypeMemoryCompacted }

// EventType returns [TypeMemoryConsolidated].
func (MemoryConsolidated) EventType() Type { return TypeMemoryConsolidated }

// EventType returns [TypeCommitmentFired].
func (CommitmentFired) EventType() Type { return TypeCommitmentFired }

// EventType returns [TypeWorkspaceUpdated].
func (WorkspaceUpdated) EventType() Type { return TypeWorkspaceUpdated }

// EventType returns [TypeProposalCreated].
func (ProposalCreated) EventType() Type { return TypeProposalCreated }

// EventType returns [TypeProposalActivated].
func (ProposalActivated) EventType() Type { return TypeProposalActivated }

func (MemoryWritten) sealed()      {}
func (MemoryCompacted) sealed()    {}
func (MemoryConsolidated) sealed() {}
func (CommitmentFired) sealed()    {}
func (WorkspaceUpdated) sealed()   {}
func (ProposalCreated) sealed()    {}
func (ProposalActivated) sealed()  {}
