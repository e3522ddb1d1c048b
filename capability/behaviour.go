package capability

import (
	"cmp"
	"math"
	"strings"

	"github.com/openwop/agentmemory/events"
)

const (
	consolidation = "agents/memoryConsolidation"
	commitments   = "agents/commitments"
	proposals     = "agents/proposals"
)

// Consolidation is the reconciling of long-term memory in the background (RFC 0068). It is
// supported only by a host that is long-term, and on a schedule only by one that
// has scheduling: a document that says otherwise contradicts itself.
func (m *Model) Consolidation() Status {
	d := &m.doc
	s := d.behaviour(consolidation)
	if !s.Satisfied {
		return s
	}
	trigger, _ := get[string](d, consolidation+"/schedule")
	trigger = cmp.Or(trigger, string(events.ConsolidationHostManaged))
	switch {
	case !m.Satisfies(LongTerm):
		s.Satisfied, s.Why = false, m.Status(LongTerm).Why
	case trigger == string(events.ConsolidationScheduled) && !d.isTrue(scheduling):
		s.Satisfied, s.Why = false, "it is scheduled, and "+d.lacks(scheduling)
	default:
		s.Why = trigger
	}
	return s
}

// Commitments are intentions that the host finds in memory and acts upon later (RFC 0068).
func (m *Model) Commitments() Status {
	s := m.doc.behaviour(commitments)
	if _, said := m.doc.at(commitments + "/fireConditions"); s.Satisfied && said {
		s.Why = strings.Join(m.doc.texts(commitments+"/fireConditions"), ", ")
	} else if s.Satisfied {
		s.Why = string(events.ConditionTime) // if the block does not say
	}
	return s
}

// behaviour is the status of a block beside the dimensions, to which the protocol's model refers.
func (d *document) behaviour(block string) Status {
	s := d.flag(block+"/supported", "")
	s.Name, s.Source = block[strings.IndexByte(block, '/')+1:], d.pointer(block)
	return s
}

// Inventory reports whether the host serves the inventory of its agents, and
// whether each agent is installed for one tenant (RFC 0072, RFC 0074).
func (m *Model) Inventory() (served, perTenant bool) {
	const runtime = "agents/manifestRuntime"
	scope, _ := get[string](&m.doc, runtime+"/installScope")
	return m.doc.isTrue(runtime + "/supported"), scope == "tenant"
}

// Profile evaluates the profile openwop-memory: a version 1 document with the core
// fields, memory that can be read and written, and long-term durability. It says in
// one line why the profile does not hold. The claim of a host is more than this
// predicate: the protocol's scenarios must pass too.
func (m *Model) Profile() (holds bool, why string) {
	d := &m.doc
	if why := d.core(); why != "" {
		return false, why
	}
	for _, dimension := range []Dimension{Read, Write, LongTerm} {
		if s := m.Status(dimension); !s.Satisfied {
			return false, s.Why
		}
	}
	return true, ""
}

// core evaluates the profile openwop-core, which every other one contains.
func (d *document) core() (why string) {
	if version, _ := get[string](d, "protocolVersion"); !strings.HasPrefix(version, "1.") {
		return "protocolVersion is not 1.x"
	}
	if _, ok := get[[]any](d, "supportedEnvelopes"); !ok {
		return "supportedEnvelopes is not a list"
	}
	if _, ok := get[object](d, "schemaVersions"); !ok {
		return "schemaVersions is not an object"
	}
	for _, name := range []string{"clarificationRounds", "schemaRounds", "envelopesPerTurn"} {
		if n, ok := get[float64](d, "limits/"+name); !ok || n < 0 || n != math.Trunc(n) {
			return "limits." + name + " is not a count"
		}
	}
	return ""
}
