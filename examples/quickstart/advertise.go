package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
)

// document is what the host says of itself beside its memory.
const document = `{
	"protocolVersion": "1.1", "supportedEnvelopes": [], "schemaVersions": {},
	"limits": {"clarificationRounds": 3, "schemaRounds": 3, "envelopesPerTurn": 8},
	"multiAgent": {"executionModel": {"supported": true, "version": 2}},
	"agents": {"manifestRuntime": {"supported": true}}
}`

// advertise says what the host may claim, and what three agents get of it.
func (h *host) advertise(context.Context) error {
	h.title("What the host may claim")
	in := h.wired
	in.Bank, in.Declare = h.bank, []byte(document)
	model, err := capability.Derive(in)
	if err != nil {
		return err
	}
	for line := range strings.Lines(model.Explain()) {
		h.say("  %s", strings.TrimRight(line, "\n"))
	}
	if lasting := model.Status(capability.LongTerm); !lasting.Satisfied {
		h.say("This memory is not durable: %s.", lasting.Why)
	}
	_, err = capability.Derive(capability.Inputs{Bank: h.bank, Declare: []byte(`{"agents": {"memoryBackends": ["long-term"]}}`)})
	h.say("If it claimed more: %v", err)

	archive, err := memory.New(h.store, memory.Config{Resolver: tenantOf, ReadOnly: true})
	if err != nil {
		return err
	}
	ofArchive, err := capability.Derive(capability.Inputs{Bank: archive})
	if err != nil {
		return err
	}
	return h.agents(model, []inventory.Agent{
		{ID: "acme.triage", Persona: "Triage", MemoryShape: &capability.Shape{Scratchpad: true}},
		{ID: "acme.support", Persona: "Support", MemoryShape: &capability.Shape{LongTerm: true}},
		{ID: "acme.auditor", Persona: "Auditor", MemoryShape: &capability.Shape{Conversation: true}, Memory: ofArchive},
	})
}

// agents prints the inventory as people want it, with the reasons, which are not on
// the wire.
func (h *host) agents(model *capability.Model, agents []inventory.Agent) error {
	h.title("Three agents (GET /v1/agents)")
	models := map[string]*capability.Model{}
	for _, a := range agents {
		models[a.ID] = cmp.Or(a.Memory, model)
	}
	for _, e := range inventory.Project(agents, model).Agents {
		asks, err := json.Marshal(e.MemoryShape)
		if err != nil {
			return err
		}
		h.say("  %-12s  memoryShape %-21s  memoryDegraded %t", e.ID, asks, e.MemoryDegraded)
		for _, d := range e.DegradedMemoryDimensions {
			h.say("      %s: %s", d, models[e.ID].Status(d).Why)
		}
	}
	return nil
}
