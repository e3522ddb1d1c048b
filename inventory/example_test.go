package inventory_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/inventory"
)

func ExampleProject() {
	// A host whose memory ends with its process.
	host, err := capability.Parse([]byte(`{"memory": {"supported": true}}`))
	if err != nil {
		log.Fatal(err)
	}
	response := inventory.Project([]inventory.Agent{
		{ID: "acme.support", Persona: "Support", MemoryShape: &capability.Shape{LongTerm: true}},
		{ID: "acme.router", Persona: "Router", MemoryShape: &capability.Shape{Scratchpad: true}},
	}, host)
	for _, e := range response.Agents {
		fmt.Println(e.ID, e.MemoryDegraded, e.DegradedMemoryDimensions)
	}
	entry, err := json.Marshal(response.Agents[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(entry))
	// Output:
	// acme.router false []
	// acme.support true [long-term-durability]
	// {"agentId":"acme.support","persona":"Support","label":"Support","modelClass":"","packName":"","packVersion":"","toolAllowlist":[],"hasHandoffSchemas":false,"memoryShape":{"longTerm":true},"memoryDegraded":true,"degradedMemoryDimensions":["long-term-durability"]}
}
