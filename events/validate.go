package events

// known checks p by its schema, unless it is no value of a payload type of this package. The
// unexported method alone does not ensure that it is one: a type that embeds a payload has that
// method too, and could carry more.
func (f *fields) known(p Payload) bool {
	switch p := p.(type) {
	case MemoryWritten:
		p.fields(f)
	case MemoryCompacted:
		p.fields(f)
	case MemoryConsolidated:
		p.fields(f)
	case CommitmentFired:
		p.fields(f)
	case WorkspaceUpdated:
		p.fields(f)
	case ProposalCreated:
		p.fields(f)
	case ProposalActivated:
		p.fields(f)
	case HostPayload:
		p.fields(f)
	default:
		return false
	}
	return true
}

// validate checks a payload of this package by its schema.
func validate(p Payload) error {
	var f fields
	f.known(p)
	return f.err()
}

// Validate checks the payload against its schema (RFC 0057 §A).
func (p MemoryWritten) Validate() error { return validate(p) }

func (p *MemoryWritten) fields(f *fields) {
	f.typ = TypeMemoryWritten
	f.text("memoryRef", &p.MemoryRef, required)
	f.text("memoryId", &p.MemoryID, required)
	f.text("nodeId", &p.NodeID, optional)
	f.text("agentId", &p.AgentID, optional)
	var dropped []string // a tag may be anything
	f.texts("tags", &dropped, 0)
}

// Validate checks the payload against its schema (RFC 0012 §B, RFC 0062). That
// the list of sources is complete is a rule for emitters: see [Record.Validate].
func (p MemoryCompacted) Validate() error { return validate(p) }

func (p *MemoryCompacted) fields(f *fields) {
	f.typ = TypeMemoryCompacted
	f.text("memoryRef", &p.MemoryRef, required)
	f.text("outputId", &p.OutputID, required)
	f.texts("sourceIds", &p.SourceIDs, 1)
	f.integer("sourceCount", &p.SourceCount, 1)
	enum(f, "trigger", &p.Trigger, required, CompactionHostManaged, CompactionClientRequested, CompactionBoth)
	f.integer("byteSize", &p.ByteSize, 0)
	var doc map[string]any
	if v, ok := f.take("distillation"); ok {
		if doc, ok = v.(map[string]any); !ok {
			f.fail("distillation", "is not an object")
		}
		p.Distillation = new(Distillation)
	}
	if p.Distillation != nil {
		sub := fields{path: "/distillation", doc: doc, broken: f.broken}
		p.Distillation.fields(&sub)
		f.broken = sub.broken
	}
}

func (d *Distillation) fields(f *fields) {
	f.integer("tokenBudget", &d.TokenBudget, 1)
	f.integer("tokensUsed", &d.TokensUsed, 0)
	f.boolean("indexUpdated", &d.IndexUpdated)
	f.close()
}

// Validate checks the payload against its schema (RFC 0068 §B).
func (p MemoryConsolidated) Validate() error { return validate(p) }

func (p *MemoryConsolidated) fields(f *fields) {
	f.typ = TypeMemoryConsolidated
	f.text("memoryRef", &p.MemoryRef, required)
	f.integer("inputCount", &p.InputCount, 0)
	f.integer("outputCount", &p.OutputCount, 0)
	f.texts("mergedIds", &p.MergedIDs, 1)
	enum(f, "trigger", &p.Trigger, optional, ConsolidationHostManaged, ConsolidationScheduled, ConsolidationOnDemand)
}

// Validate checks the payload against its schema (RFC 0068 §C).
func (p CommitmentFired) Validate() error { return validate(p) }

func (p *CommitmentFired) fields(f *fields) {
	f.typ = TypeCommitmentFired
	f.text("commitmentId", &p.CommitmentID, required)
	f.text("memoryRef", &p.MemoryRef, required)
	f.text("memoryId", &p.MemoryID, optional)
	enum(f, "condition", &p.Condition, required, ConditionTime, ConditionPredicate)
	f.text("enqueuedRunId", &p.EnqueuedRunID, optional)
}

// Validate checks the payload against its schema (RFC 0059).
func (p WorkspaceUpdated) Validate() error { return validate(p) }

func (p *WorkspaceUpdated) fields(f *fields) {
	f.typ = TypeWorkspaceUpdated
	f.text("path", &p.Path, required)
	f.integer("version", &p.Version, 1)
	f.close()
}

// Validate checks the payload against its schema (RFC 0096).
func (p ProposalCreated) Validate() error { return validate(p) }

func (p *ProposalCreated) fields(f *fields) {
	f.typ = TypeProposalCreated
	f.text("proposalId", &p.ProposalID, required)
	p.Kind.field(f)
	f.texts("sourceRunIds", &p.SourceRunIDs, 0)
	f.text("duplicateOf", &p.DuplicateOf, nullable)
	f.close()
}

// Validate checks the payload against its schema (RFC 0096).
func (p ProposalActivated) Validate() error { return validate(p) }

func (p *ProposalActivated) fields(f *fields) {
	f.typ = TypeProposalActivated
	f.text("proposalId", &p.ProposalID, required)
	p.Kind.field(f)
	f.text("approvalId", &p.ApprovalID, nullable)
	f.text("installedArtifactRef", &p.InstalledArtifactRef, required)
	f.close()
}

func (k *ArtifactKind) field(f *fields) {
	enum(f, "kind", k, required, KindAgentPack, KindWorkflowChainPack, KindPromptTemplate, KindAutomation)
}
