package events

import "github.com/openwop/agentmemory/internal/jsonguard"

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
// same. An event of a type that this package has no payload for comes as a [HostPayload]: a reader
// of memory's events skips it. The error matches [ErrInvalid].
func Decode(t Type, raw []byte) (Payload, error) {
	read := readers[t]
	if read == nil {
		p := HostPayload{t, raw}
		if err := p.Validate(); err != nil {
			return nil, err
		}
		p.JSON = []byte(plain.Replace(string(raw)))
		return p, nil
	}
	doc, err := object(t, raw)
	if err != nil {
		return nil, err
	}
	f := &fields{typ: t, doc: doc}
	p := read(f)
	if err := f.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// object reads a JSON object.
func object(t Type, raw []byte) (map[string]any, error) {
	doc, err := jsonguard.Decode(raw, MaxDocBytes)
	if err != nil {
		return nil, &InvalidError{Type: t, Rule: err.Error()}
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return nil, &InvalidError{Type: t, Rule: "is not an object"}
	}
	return m, nil
}

// readers read the payloads of this package from a document.
var readers = map[Type]func(*fields) Payload{
	TypeMemoryWritten:      reader[MemoryWritten],
	TypeMemoryCompacted:    reader[MemoryCompacted],
	TypeMemoryConsolidated: reader[MemoryConsolidated],
	TypeCommitmentFired:    reader[CommitmentFired],
	TypeWorkspaceUpdated:   reader[WorkspaceUpdated],
	TypeProposalCreated:    reader[ProposalCreated],
	TypeProposalActivated:  reader[ProposalActivated],
}

func reader[P Payload, Fields interface {
	*P
	fields(*fields)
}](f *fields) Payload {
	var p P
	Fields(&p).fields(f)
	return p
}
