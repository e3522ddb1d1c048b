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
	host = cmp.Or(host, new(capability.Model))
	entries := make([]Entry, len(agents))
	for i := range agents {
		project(&entries[i], &agents[i], cmp.Or(agents[i].Memory, host))
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return Response{Agents: entries, Total: len(entries)}
}

func project(e *Entry, a *Agent, m *capability.Model) {
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
	e.DegradedMemoryDimensions = m.Degraded(*a.MemoryShape)
	e.MemoryDegraded = len(e.DegradedMemoryDimensions) > 0
}
