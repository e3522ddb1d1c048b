package events

import "math"

// Decode reads the payload of an event from JSON, strictly by its schema, and
// returns it valid.
//
// Required fields are there, none is of another type or null but for those that
// the protocol lets be null, and names are compared with case. A field that the
// schema does not know is refused in the payloads that are closed and dropped in
// those that are open, so that nothing but identifiers, counts, enums and
// references can get in (E1). An integer may be written as 1.0 or 1e2. A field
// twice, an integer beyond [MaxInteger], a lone surrogate, or a document longer
// than [MaxDocBytes] or nested deeper than 100 is refused.
//
// An absent field, an empty list and a nullable field with null or "" read the
// same. An event of a type that this package has no payload for comes as a [HostPayload],
// whatever it says: a reader of memory's events passes it over. The error matches
// [ErrInvalid].
func Decode(t Type, raw []byte) (Payload, error) {
	if decoders[t] == nil {
		p := HostPayload{t, raw}
		if err := p.Validate(); err != nil {
			return nil, err
		}
		return HostPayload{t, plain(raw)}, nil
	}
	v, err := parse(raw)
	if err != nil {
		return nil, &InvalidError{Type: t, Rule: err.Error()}
	}
	return decode(t, v)
}

// decode makes a payload of a parsed document.
func decode(t Type, doc any) (Payload, error) {
	m, ok := doc.(map[string]any)
	if !ok {
		return nil, &InvalidError{Type: t, Rule: "is not an object"}
	}
	f := &fields{m: m, check: &check{typ: t}}
	p := decoders[t](f)
	if err := f.err(); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

var decoders = map[Type]func(*fields) Payload{
	TypeMemoryWritten: func(f *fields) Payload {
		f.list("tags") // by the schema, and then dropped: a tag may be anything
		return MemoryWritten{
			MemoryRef: f.required("memoryRef"), MemoryID: f.required("memoryId"),
			NodeID: f.optional("nodeId"), AgentID: f.optional("agentId"),
		}
	},
	TypeMemoryCompacted: func(f *fields) Payload {
		return MemoryCompacted{
			MemoryRef: f.required("memoryRef"), OutputID: f.required("outputId"),
			SourceIDs: f.list("sourceIds"), SourceCount: f.integer("sourceCount"),
			Trigger: CompactionTrigger(f.required("trigger")), ByteSize: f.integer("byteSize"),
			Distillation: f.distillation("distillation"),
		}
	},
	TypeMemoryConsolidated: func(f *fields) Payload {
		return MemoryConsolidated{
			MemoryRef: f.required("memoryRef"), InputCount: f.integer("inputCount"), OutputCount: f.integer("outputCount"),
			MergedIDs: f.list("mergedIds"), Trigger: ConsolidationTrigger(f.optional("trigger")),
		}
	},
	TypeCommitmentFired: func(f *fields) Payload {
		return CommitmentFired{
			CommitmentID: f.required("commitmentId"), MemoryRef: f.required("memoryRef"), MemoryID: f.optional("memoryId"),
			Condition: Condition(f.required("condition")), EnqueuedRunID: f.optional("enqueuedRunId"),
		}
	},
	TypeWorkspaceUpdated: func(f *fields) Payload {
		p := WorkspaceUpdated{Path: f.required("path"), Version: f.integer("version")}
		f.close()
		return p
	},
	TypeProposalCreated: func(f *fields) Payload {
		p := ProposalCreated{
			ProposalID: f.required("proposalId"), Kind: ArtifactKind(f.required("kind")),
			SourceRunIDs: f.list("sourceRunIds"), DuplicateOf: f.nullable("duplicateOf"),
		}
		f.close()
		return p
	},
	TypeProposalActivated: func(f *fields) Payload {
		p := ProposalActivated{
			ProposalID: f.required("proposalId"), Kind: ArtifactKind(f.required("kind")),
			ApprovalID: f.nullable("approvalId"), InstalledArtifactRef: f.required("installedArtifactRef"),
		}
		f.close()
		return p
	},
}

// fields takes known fields out of an object, each once. What is wrong with them
// goes to the check; what a payload's Validate finds in the value alone does not
// have to be found here.
type fields struct {
	*check
	m     map[string]any
	path  string // of the object
	taken int
}

// take returns a field and whether it is there; an absent one that is required
// is reported.
func (f *fields) take(name string, required bool) (any, bool) {
	v, ok := f.m[name]
	if ok {
		f.taken++
	} else if required {
		f.fail(f.path+"/"+name, -1, "is missing")
	}
	return v, ok
}

// close reports fields that nobody took, without their names.
func (f *fields) close() {
	if f.taken != len(f.m) {
		f.fail(f.path, -1, "has a field that its schema does not allow")
	}
}

func (f *fields) text(name string, v any) string {
	s, ok := v.(string)
	if !ok {
		f.fail(f.path+"/"+name, -1, "is not a string")
	}
	return s
}

func (f *fields) required(name string) string {
	v, ok := f.take(name, true)
	if !ok {
		return ""
	}
	return f.text(name, v)
}

// optional is a string that is not empty where it is there.
func (f *fields) optional(name string) string {
	v, ok := f.take(name, false)
	if !ok {
		return ""
	}
	s := f.text(name, v)
	if s == "" {
		f.fail(f.path+"/"+name, -1, "is empty")
	}
	return s
}

// nullable is a string, null or absent.
func (f *fields) nullable(name string) string {
	v, _ := f.take(name, false)
	if v == nil {
		return ""
	}
	return f.text(name, v)
}

func (f *fields) list(name string) []string {
	v, ok := f.take(name, false)
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		f.fail(f.path+"/"+name, -1, "is not an array")
	}
	var list []string
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			f.fail(f.path+"/"+name, i, "is not a string")
		}
		list = append(list, s)
	}
	return list
}

func (f *fields) integer(name string) int64 {
	v, ok := f.take(name, true)
	if !ok {
		return 0
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || math.Abs(n) > MaxInteger {
		f.fail(f.path+"/"+name, -1, "is not an integer of at most 2^53-1")
		return 0
	}
	return int64(n)
}

func (f *fields) distillation(name string) *Distillation {
	v, ok := f.take(name, false)
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.fail(f.path+"/"+name, -1, "is not an object")
		return nil
	}
	sub := &fields{check: f.check, m: m, path: f.path + "/" + name}
	d := &Distillation{TokenBudget: sub.integer("tokenBudget"), TokensUsed: sub.integer("tokensUsed")}
	if v, ok := sub.take("indexUpdated", false); ok {
		b, ok := v.(bool)
		if !ok {
			f.fail(sub.path+"/indexUpdated", -1, "is not a boolean")
		}
		d.IndexUpdated = &b
	}
	sub.close()
	return d
}
