package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/capability"
)

// none is an empty list that is not null in JSON. Nothing can be put into it.
var none = make([]string, 0)

// Project returns the inventory of installed agents on a host. It reads nothing but
// its arguments and does not change them; entries share slices and pointers with
// the agents and with each other. An agent without a model of its own is judged by
// the host's; a nil host has no memory. Agents of equal ID stay in their order.
//
// A ConfidenceThreshold that is no number between 0 and 1 is left out, since the
// wire has no place for it.
func Project(agents []Agent, host *capability.Model) Response {
	if host == nil {
		host = new(capability.Model)
	}
	entries := make([]Entry, len(agents))
	known := map[*capability.Model]*missing{}
	ofHost := &missing{model: host}
	for i, at := range order(agents) {
		a := &agents[at]
		m := ofHost
		if a.Memory != nil && a.Memory != host {
			if m = known[a.Memory]; m == nil {
				m = &missing{model: a.Memory}
				known[a.Memory] = m
			}
		}
		project(&entries[i], a, m)
	}
	return Response{Agents: entries, Total: len(entries)}
}

// order returns the places of the agents in the order of the inventory: by ID, and
// those of equal ID as they came.
func order(agents []Agent) []int {
	places := make([]int, len(agents))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return strings.Compare(agents[a].ID, agents[b].ID) })
	return places
}

// missing remembers what agents miss on one model, shape by shape, so that a fleet
// does not need a list for each agent.
type missing struct {
	model *capability.Model
	known [8]bool
	lists [8][]capability.Dimension
}

func (m *missing) of(s capability.Shape) []capability.Dimension {
	i := 0
	for bit, asked := range [...]bool{s.Scratchpad, s.Conversation, s.LongTerm} {
		if asked {
			i |= 1 << bit
		}
	}
	if !m.known[i] {
		m.known[i], m.lists[i] = true, m.model.Degraded(s)
	}
	return m.lists[i]
}

func project(e *Entry, a *Agent, m *missing) {
	e.ID, e.Persona, e.Label, e.Description = a.ID, a.Persona, cmp.Or(a.Label, a.Persona), a.Description
	e.ModelClass, e.PackName, e.PackVersion = a.ModelClass, a.PackName, a.PackVersion
	e.ToolAllowlist, e.HasHandoffSchemas = a.ToolAllowlist, a.HasHandoffSchemas
	if e.ToolAllowlist == nil {
		e.ToolAllowlist = none
	}
	e.Degraded, e.Roster = a.Degraded, a.Roster
	if t := a.ConfidenceThreshold; t != nil && *t >= 0 && *t <= 1 {
		e.ConfidenceThreshold = t
	}
	if a.MemoryShape == nil {
		return
	}
	e.MemoryShape = a.MemoryShape
	e.DegradedMemoryDimensions = m.of(*a.MemoryShape)
	e.MemoryDegraded = len(e.DegradedMemoryDimensions) > 0
}
