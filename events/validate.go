package events

// Validate checks the payload against its schema (RFC 0057 §A).
func (p MemoryWritten) Validate() error {
	c := check{typ: TypeMemoryWritten}
	c.required("/memoryRef", p.MemoryRef)
	c.required("/memoryId", p.MemoryID)
	c.text("/nodeId", p.NodeID)
	c.text("/agentId", p.AgentID)
	return c.err()
}

// Validate checks the payload against its schema (RFC 0012 §B, RFC 0062). That
// the list of sources is complete is a rule for emitters: see [Record.Validate].
func (p MemoryCompacted) Validate() error {
	c := check{typ: TypeMemoryCompacted}
	c.required("/memoryRef", p.MemoryRef)
	c.required("/outputId", p.OutputID)
	c.texts("/sourceIds", p.SourceIDs, 1)
	c.integer("/sourceCount", p.SourceCount, 1)
	c.enum("/trigger", p.Trigger.valid())
	c.integer("/byteSize", p.ByteSize, 0)
	if d := p.Distillation; d != nil {
		c.integer("/distillation/tokenBudget", d.TokenBudget, 1)
		c.integer("/distillation/tokensUsed", d.TokensUsed, 0)
	}
	return c.err()
}

// Validate checks the payload against its schema (RFC 0068 §B).
func (p MemoryConsolidated) Validate() error {
	c := check{typ: TypeMemoryConsolidated}
	c.required("/memoryRef", p.MemoryRef)
	c.integer("/inputCount", p.InputCount, 0)
	c.integer("/outputCount", p.OutputCount, 0)
	c.texts("/mergedIds", p.MergedIDs, 1)
	c.enum("/trigger", p.Trigger == "" || p.Trigger.valid())
	return c.err()
}

// Validate checks the payload against its schema (RFC 0068 §C).
func (p CommitmentFired) Validate() error {
	c := check{typ: TypeCommitmentFired}
	c.required("/commitmentId", p.CommitmentID)
	c.required("/memoryRef", p.MemoryRef)
	c.text("/memoryId", p.MemoryID)
	c.enum("/condition", p.Condition.valid())
	c.text("/enqueuedRunId", p.EnqueuedRunID)
	return c.err()
}

// Validate checks the payload against its schema (RFC 0059).
func (p WorkspaceUpdated) Validate() error {
	c := check{typ: TypeWorkspaceUpdated}
	c.required("/path", p.Path)
	c.integer("/version", p.Version, 1)
	return c.err()
}

// Validate checks the payload against its schema (RFC 0096).
func (p ProposalCreated) Validate() error {
	c := check{typ: TypeProposalCreated}
	c.required("/proposalId", p.ProposalID)
	c.enum("/kind", p.Kind.valid())
	c.texts("/sourceRunIds", p.SourceRunIDs, 0)
	c.text("/duplicateOf", p.DuplicateOf)
	return c.err()
}

// Validate checks the payload against its schema (RFC 0096).
func (p ProposalActivated) Validate() error {
	c := check{typ: TypeProposalActivated}
	c.required("/proposalId", p.ProposalID)
	c.enum("/kind", p.Kind.valid())
	c.text("/approvalId", p.ApprovalID)
	c.required("/installedArtifactRef", p.InstalledArtifactRef)
	return c.err()
}

func (t CompactionTrigger) valid() bool {
	return t == CompactionHostManaged || t == CompactionClientRequested || t == CompactionBoth
}

func (t ConsolidationTrigger) valid() bool {
	return t == ConsolidationHostManaged || t == ConsolidationScheduled || t == ConsolidationOnDemand
}

func (c Condition) valid() bool { return c == ConditionTime || c == ConditionPredicate }

func (k ArtifactKind) valid() bool {
	return k == KindAgentPack || k == KindWorkflowChainPack || k == KindPromptTemplate || k == KindAutomation
}

// known reports whether p is a value of a payload type of this package. The
// unexported method alone does not ensure it: a type that embeds a payload has
// that method too, and could carry more.
func known(p Payload) bool {
	switch p.(type) {
	case MemoryWritten, MemoryCompacted, MemoryConsolidated, CommitmentFired,
		WorkspaceUpdated, ProposalCreated, ProposalActivated, HostPayload:
		return true
	}
	return false
}

// emitterRules checks what [Record.Validate] asks of a payload beyond its schema.
func emitterRules(p Payload) error {
	c := check{typ: p.EventType()}
	switch p := p.(type) {
	case MemoryCompacted:
		listed := int64(len(p.SourceIDs))
		if listed != p.SourceCount && (listed > 0 || p.SourceCount <= MaxListedSources) {
			c.fail("/sourceIds", -1, "is not the complete list of sources")
		}
		if d := p.Distillation; d != nil && d.TokensUsed > d.TokenBudget {
			c.fail("/distillation/tokensUsed", -1, "is above tokenBudget")
		}
	case MemoryConsolidated:
		if p.OutputCount > p.InputCount {
			c.fail("/outputCount", -1, "is above inputCount")
		}
	}
	if textSize(p) > MaxPayloadText {
		c.fail("", -1, "has too much text")
	}
	return c.err()
}

// textSize is what [MaxPayloadText] limits. Enums need no counting.
func textSize(p Payload) int {
	switch p := p.(type) {
	case MemoryWritten:
		return sizes(p.MemoryRef, p.MemoryID, p.NodeID, p.AgentID)
	case MemoryCompacted:
		return sizes(p.MemoryRef, p.OutputID) + sizes(p.SourceIDs...)
	case MemoryConsolidated:
		return sizes(p.MemoryRef) + sizes(p.MergedIDs...)
	case CommitmentFired:
		return sizes(p.CommitmentID, p.MemoryRef, p.MemoryID, p.EnqueuedRunID)
	case WorkspaceUpdated:
		return sizes(p.Path)
	case ProposalCreated:
		return sizes(p.ProposalID, p.DuplicateOf) + sizes(p.SourceRunIDs...)
	case HostPayload:
		return len(plain(p.JSON))
	case ProposalActivated:
		return sizes(p.ProposalID, p.ApprovalID, p.InstalledArtifactRef)
	}
	return 0
}

func sizes(texts ...string) int {
	n := 0
	for _, s := range texts {
		n += len(s) + 3
	}
	return n
}
