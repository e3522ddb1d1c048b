package capability_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// A host derives its model from the bank and the engines that it runs, and serves
// the document that comes out.
func ExampleDerive() {
	// A durable store of every step.
	store := &store{traits: traits{Durable: true}, transacts: true, versioned: true}
	bank, err := memory.New(store, memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := capability.Derive(capability.Inputs{
		Bank:         bank,
		Consolidator: consolidator(events.ConsolidationOnDemand),
		Declare:      []byte(`{"multiAgent": {"executionModel": {"supported": true, "version": 4}}}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(m.Explain())
	document, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(document))
	// Output:
	// dimension             satisfied  why                                                          field
	// read                  yes        list and get                                                 /memory/supported
	// write                 yes        put and delete                                               /memory/writable
	// search                yes        filter                                                       /memory/search/supported
	// long-term-durability  yes        long-term                                                    /agents/memoryBackends
	// compaction            no         there is no distiller                                        /memory/compaction/supported
	// attribution           no         the bank announces no writes: set memory.Config.WriteEvents  /memory/attribution/supported
	// replay-snapshot       yes        execution model 4                                            /agents/memoryBackends, /multiAgent/executionModel/version
	// retention             yes        expiry and forgetting                                        /memory/retention/ttl, /memory/retention/forget
	// memoryConsolidation   yes        on-demand                                                    /agents/memoryConsolidation
	// commitments           no         there is no commitment engine                                /agents/commitments
	// indexEmitted          no         there is no distiller                                        /memory/distillation/indexEmitted
	// scheduled             no         there is no distiller                                        /memory/distillation/scheduled
	// openwop-memory        no         protocolVersion is not 1.x                                   (profile)
	// {
	//   "agents": {
	//     "memoryBackends": [
	//       "long-term"
	//     ],
	//     "memoryConsolidation": {
	//       "schedule": "on-demand",
	//       "supported": true
	//     }
	//   },
	//   "memory": {
	//     "maxEntrySizeBytes": 65536,
	//     "retention": {
	//       "forget": true,
	//       "ttl": true
	//     },
	//     "search": {
	//       "modes": [
	//         "filter"
	//       ],
	//       "supported": true
	//     },
	//     "supported": true,
	//     "ttlSupported": true,
	//     "writable": true
	//   },
	//   "multiAgent": {
	//     "executionModel": {
	//       "supported": true,
	//       "version": 4
	//     }
	//   }
	// }
}

// Claims that nothing bears are refused, with the missing piece.
func ExampleDerive_claim() {
	bank, err := memory.New(&store{traits: traits{ReadOnly: true}}, memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = capability.Derive(capability.Inputs{
		Bank:    bank,
		Declare: []byte(`{"memory": {"retention": {"forget": true}}, "agents": {"memoryBackends": ["long-term"]}}`),
	})
	fmt.Println(err)
	// Output:
	// capability: the host would claim more than it has: /memory/retention/forget: the store is read-only
	// capability: the host would claim more than it has: /agents/memoryBackends: the store does not outlive its process
}

// Any host's document can be read, here that of an older one with a wrapper.
func ExampleParse() {
	m, err := capability.Parse([]byte(`{"capabilities": {"memory": {"supported": true, "writable": false}}}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Degraded(capability.Shape{LongTerm: true}))
	fmt.Println(m.Status(capability.Write).Why)
	// Output:
	// [write long-term-durability]
	// memory.writable is false
}
