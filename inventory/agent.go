package inventory

import (
	"encoding/json"

	"github.com/openwop/agentmemory/capability"
)

// Agent is an installed agent, as far as the inventory is concerned: fields of its
// manifest, and what the host knows beside it.
type Agent struct {
	// ID is the agentId, unique among the agents that one caller may see.
	ID string
	// Persona, ModelClass and the optional Description and Label are the
	// manifest's.
	Persona, ModelClass, Description, Label string
	// PackName and PackVersion say where the agent came from.
	PackName, PackVersion string
	// ToolAllowlist are the tools that it may use.
	ToolAllowlist []string
	// HasHandoffSchemas reports whether the manifest has any; they themselves
	// are not for the inventory.
	HasHandoffSchemas bool
	// MemoryShape is the memory that the manifest asks for; nil if it asks for
	// none.
	MemoryShape *capability.Shape
	// ConfidenceThreshold is between 0 and 1; nil if the manifest has none.
	ConfidenceThreshold *float64
	// Degraded are markers of the host for other things that the agent has to do
	// without (RFC 0072 §C).
	Degraded []string
	// Roster are the workforce entries that run the agent.
	Roster []RosterEntry

	// Tenant is the one for which the agent is installed; empty for an agent of
	// the whole host. It never gets into an entry.
	Tenant string
	// Memory is the model of the agent's own store; nil if it uses the host's.
	Memory *capability.Model
}

// RosterEntry is a position of an agent in the host's workforce.
type RosterEntry struct {
	ID        string   `json:"rosterId"`
	Persona   string   `json:"persona"`
	Workflows []string `json:"workflows"`
}

// MarshalJSON writes the entry; no workflows are an empty list.
func (e RosterEntry) MarshalJSON() ([]byte, error) {
	type wire RosterEntry
	if e.Workflows == nil {
		e.Workflows = none
	}
	return json.Marshal(wire(e))
}

// Entry is an agent in the inventory (AgentInventoryEntry). Absent optional fields
// are left out of its JSON.
type Entry struct {
	ID                  string            `json:"agentId"`
	Persona             string            `json:"persona"`
	Label               string            `json:"label"`
	Description         string            `json:"description,omitempty"`
	ModelClass          string            `json:"modelClass"`
	PackName            string            `json:"packName"`
	PackVersion         string            `json:"packVersion"`
	ToolAllowlist       []string          `json:"toolAllowlist"`
	HasHandoffSchemas   bool              `json:"hasHandoffSchemas"`
	MemoryShape         *capability.Shape `json:"memoryShape,omitempty"`
	ConfidenceThreshold *float64          `json:"confidenceThreshold,omitempty"`
	Degraded            []string          `json:"degraded,omitempty"`
	// MemoryDegraded says that the agent gets less memory than it asks for. If it
	// does not, both fields are absent.
	MemoryDegraded           bool                   `json:"memoryDegraded,omitempty"`
	DegradedMemoryDimensions []capability.Dimension `json:"degradedMemoryDimensions,omitempty"`
	Roster                   []RosterEntry          `json:"roster,omitempty"`
}

// Response is the body of GET /v1/agents (AgentInventoryResponse).
type Response struct {
	Agents []Entry `json:"agents"`
	Total  int     `json:"total"`
}
