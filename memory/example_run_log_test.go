package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A host without a log of its own has the bank keep the events of its runs. What it says in its events is
// redacted, and nothing has to be relayed.
func ExampleRun_Emit() {
	ctx := context.Background()
	store := inmem.New() // or that of memory/sqlite or memory/postgres
	bank, err := memory.New(store, memory.Config{KeepEvents: 30 * 24 * time.Hour, WriteEvents: true})
	if err != nil {
		log.Fatal(err)
	}
	secrets := noSecrets()
	if err := secrets.Register("billing-key", []byte("acme-live-7Qm2vT9x")); err != nil {
		log.Fatal(err)
	}
	run, err := bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets})
	if err != nil {
		log.Fatal(err)
	}
	own := func(typ events.Type, text string) events.Record {
		return events.Record{Payload: events.HostPayload{Type: typ, JSON: []byte(text)}}
	}
	run.Emit(ctx, own("run.started", `{"input":"use acme-live-7Qm2vT9x"}`))
	run.Put(ctx, "support", memory.Draft{Content: "asked for a refund"})
	if err := run.End(ctx, own("run.completed", `{"status":"ok"}`)); err != nil {
		log.Fatal(err)
	}

	page, err := bank.Log().Read(ctx, "acme", "run-1", 0, 0)
	for _, ev := range page {
		if p, own := ev.Payload.(events.HostPayload); own {
			fmt.Println(ev.Sequence, p.Type, string(p.JSON))
		} else {
			fmt.Println(ev.Sequence, ev.Payload.EventType())
		}
	}
	fmt.Println(err)
	// Output:
	// 0 run.started {"input":"use [REDACTED:billing-key]"}
	// 1 memory.written
	// 2 run.completed {"status":"ok"}
	// <nil>
}
