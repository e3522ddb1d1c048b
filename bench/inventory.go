package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/inventory"
)

// inventorySize is how many agents are projected at a time.
const inventorySize = 10_000

// inventoryRows measures the projection of installed agents into the response of
// GET /v1/agents, without its JSON. One operation is one agent of 10,000, which come
// in no order: half of them have a label, a description and tools, seven eighths a
// memoryShape, one eighth a store of their own.
//
// The peer is the projection as one would write it down first: for each agent a set
// of what its shape needs, from which what the model has is taken out, and a sort of
// the entries by agentId.
func inventoryRows() []row {
	return []row{{name: "inventory/project", peer: "map and sort", setup: func() (sides, error) {
		agents, host, err := inventoryFleet()
		if err != nil {
			return sides{}, err
		}
		each := func(project func([]inventory.Agent, *capability.Model) inventory.Response) func(int) {
			return func(n int) {
				for ; n > 0; n -= inventorySize {
					project(agents[:min(n, inventorySize)], host)
				}
			}
		}
		return sides{
			check: func() error {
				ours, err := json.Marshal(inventory.Project(agents, host))
				if err != nil {
					return err
				}
				theirs, err := json.Marshal(mapAndSort(agents, host))
				if err == nil && !bytes.Equal(ours, theirs) {
					err = errors.New("the projections differ")
				}
				return err
			},
			ours: each(inventory.Project), theirs: each(mapAndSort),
		}, nil
	}}}
}

func inventoryFleet() ([]inventory.Agent, *capability.Model, error) {
	host, err := capability.Parse([]byte(`{"memory":{"supported":true}}`))
	if err != nil {
		return nil, nil, err
	}
	readOnly, err := capability.Parse([]byte(`{"memory":{"supported":true,"writable":false}}`))
	if err != nil {
		return nil, nil, err
	}
	rnd := rand.New(rand.NewPCG(80, 0))
	agents := make([]inventory.Agent, inventorySize)
	for i := range agents {
		a := inventory.Agent{
			ID: fmt.Sprintf("acme.agents.team-%02d.agent-%05d", rnd.IntN(40), i), Persona: fmt.Sprint("Agent ", i),
			ModelClass: "tool-using", PackName: "acme.agents", PackVersion: "1.4.0", HasHandoffSchemas: rnd.IntN(2) == 0,
		}
		if rnd.IntN(2) == 0 {
			a.Label, a.Description, a.ToolAllowlist = "Label", "What it is for", []string{"search", "mail"}
		}
		if rnd.IntN(8) > 0 {
			a.MemoryShape = &capability.Shape{Scratchpad: rnd.IntN(2) == 0, Conversation: rnd.IntN(2) == 0, LongTerm: rnd.IntN(2) == 0}
		}
		if rnd.IntN(8) == 0 {
			a.Memory = readOnly
		}
		agents[i] = a
	}
	rnd.Shuffle(len(agents), func(i, j int) { agents[i], agents[j] = agents[j], agents[i] })
	return agents, host, nil
}

func mapAndSort(agents []inventory.Agent, host *capability.Model) inventory.Response {
	entries := make([]inventory.Entry, 0, len(agents))
	for _, a := range agents {
		e := inventory.Entry{
			ID: a.ID, Persona: a.Persona, Label: a.Label, Description: a.Description, ModelClass: a.ModelClass,
			PackName: a.PackName, PackVersion: a.PackVersion, ToolAllowlist: a.ToolAllowlist, HasHandoffSchemas: a.HasHandoffSchemas,
			MemoryShape: a.MemoryShape, ConfidenceThreshold: a.ConfidenceThreshold, Degraded: a.Degraded, Roster: a.Roster,
		}
		if e.Label == "" {
			e.Label = a.Persona
		}
		if e.ToolAllowlist == nil {
			e.ToolAllowlist = []string{}
		}
		model := host
		if a.Memory != nil {
			model = a.Memory
		}
		if s := a.MemoryShape; s != nil {
			needs := map[capability.Dimension]bool{}
			if s.Scratchpad || s.Conversation || s.LongTerm {
				needs[capability.Read], needs[capability.Write] = true, true
			}
			if s.LongTerm {
				needs[capability.LongTerm] = true
			}
			for _, d := range capability.Dimensions() {
				if needs[d] && !model.Satisfies(d) {
					e.DegradedMemoryDimensions = append(e.DegradedMemoryDimensions, d)
				}
			}
			e.MemoryDegraded = len(e.DegradedMemoryDimensions) > 0
		}
		entries = append(entries, e)
	}
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].ID < entries[j].ID })
	return inventory.Response{Agents: entries, Total: len(entries)}
}
