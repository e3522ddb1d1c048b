package driver

import (
	"maps"
	"slices"

	"github.com/openwop/agentmemory/internal/identifier"
)

// Validate reports why a mutation of the tenant can never be committed, as an error that
// matches [ErrValidation]: a scope or an event of another tenant, a malformed name or
// instant, a retirement in favour of nothing or of itself, a document that breaks the rules
// of its class, an event without a payload. Every store calls it first.
func (m *Mutation) Validate(tenant string) error {
	if rule := m.broken(tenant); rule != "" {
		return ErrValidation.With(rule, nil)
	}
	return nil
}

// broken returns the first rule that the mutation breaks, or "".
func (m *Mutation) broken(tenant string) string {
	in := func(s Scope) bool { return s.Tenant == tenant && len(s.Ref) <= MaxRefBytes }
	if len(tenant) > MaxTenantBytes {
		return "the tenant is longer than 256 bytes"
	}
	if min(m.Limits.Entries, m.Limits.Bytes, m.Limits.Waiting) < 0 {
		return "a limit of Limits is below zero: 0 is no limit"
	}
	named := slices.Concat(m.Live, m.Restore, m.Erase, slices.Collect(maps.Keys(m.MergedInto)))
	for _, x := range m.Retire {
		named = append(named, x.Located)
	}
	for _, l := range named {
		if !in(l.Scope) {
			return "a scope of another tenant"
		}
		if !validStored(l.ID) {
			return "the id of an entry is empty or too long"
		}
	}
	for i := range m.Put {
		if !in(m.Put[i].Scope) {
			return "a scope of another tenant"
		}
		if !identifier.Valid(m.Put[i].Entry.ID, MaxIDBytes) {
			return "the id of an entry is malformed"
		}
	}
	for _, x := range m.Retire {
		switch x.State {
		case Merged, Superseded:
			if !validStored(x.For) || x.For == x.ID {
				return "a retirement as Merged or Superseded needs For, another entry"
			}
		case Deleted:
			if x.For != "" {
				return "a retirement with the state Deleted has a For"
			}
		default:
			return "the State of a retirement is not Merged, Superseded or Deleted"
		}
	}
	if rule := documentRule(m, in); rule != "" {
		return rule
	}
	if m.Keep && len(m.Events) == 0 {
		return "Keep is set without Events"
	}
	seen := make(map[[2]string]bool, len(m.Events))
	for i := range m.Events {
		e := &m.Events[i]
		name := [2]string{e.RunID, e.ID}
		switch {
		case seen[name]:
			return "an event is named twice"
		case e.Payload == nil:
			return "an event without a payload"
		case e.Tenant != tenant:
			return "an event of another tenant"
		case !identifier.Valid(e.ID, MaxRunBytes), !identifier.Valid(e.RunID, MaxRunBytes), e.NodeID != "" && !identifier.Valid(e.NodeID, MaxRunBytes):
			return "the id of an event, a run or a node is malformed"
		case e.Validate() != nil:
			return "an event breaks its schema"
		}
		seen[name] = true
	}
	return ""
}

// validStored reports whether a stored entry can have the id.
func validStored(id string) bool { return id != "" && len(id) <= MaxIDBytes }

// documentRule returns the first rule that the swaps of m break, or "".
func documentRule(m *Mutation, in func(Scope) bool) string {
	type name struct{ ref, kind, key string }
	swaps := m.Documents
	seen := make(map[name]bool, len(swaps))
	for i := range swaps {
		d := &swaps[i].Document
		at := name{d.Ref, d.Kind, d.Key}
		switch {
		case !in(d.Scope):
			return "a scope of another tenant"
		case seen[at]:
			return "a document is named twice"
		case !identifier.Valid(d.Kind, MaxKindBytes), !identifier.Valid(d.Key, MaxKeyBytes), d.Group != "" && !identifier.Valid(d.Group, MaxKeyBytes):
			return "the kind, key or group of a document is malformed"
		case len(d.Value) > MaxDocumentBytes:
			return "the value of a document is too large"
		case d.Rev < 0, d.Class > HostText, swaps[i].Act > Remove, swaps[i].Act == Retain && d.Rev == 0:
			return "the Rev, Class or Act of a document is out of range, or it is retained without a Rev"
		}
		if swaps[i].Act == Set || swaps[i].Act == Retain {
			if rule := classRule(d); rule != "" {
				return rule
			}
			if d.Whole && d.Rev == 0 && len(d.Value) > 0 {
				return "a document that is Whole is first set without a Value"
			}
			if d.Whole && slices.ContainsFunc(m.Erase, func(l Located) bool { return l.Ref == d.Ref }) {
				return "a document that is Whole is set beside an erasure in its ref"
			}
		}
		seen[at] = true
	}
	return ""
}

func classRule(d *Document) string {
	switch {
	case d.Class != Machinery && !d.Due.IsZero(), !validInstant(d.Due):
		return "Document.Due is no whole millisecond, or set on a document that is not Machinery"
	case d.Class == Content && (d.Ref == "" || d.Whole == (len(d.Of) > 0)), d.Class != Content && (d.Whole || len(d.Of) > 0):
		return "a document of the class Content needs a Ref, and either Of or Whole, which no other class has"
	case d.Class != HostText && len(d.Subjects) > 0:
		return "Document.Subjects is set on a document that is not HostText"
	case slices.ContainsFunc(d.Of, func(id string) bool { return !validStored(id) }):
		return "the id of an entry is empty or too long"
	case slices.ContainsFunc(d.Subjects, func(s string) bool { return !identifier.Valid(s, MaxLabelBytes) }):
		return "a subject is malformed"
	}
	return ""
}
