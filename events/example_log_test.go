package events_test

import (
	"context"
	"fmt"

	"github.com/openwop/agentmemory/events"
)

// A host serves an event stream from its log, its own events in one sequence with those of
// memory.
func ExampleFollow() {
	ctx := context.Background()
	log := new(events.Log) // memory.Config.Sink takes it; a bank with KeepEvents has one in its store

	own := func(id string, typ events.Type, text string) events.Record {
		return events.Record{ID: id, Tenant: "acme", RunID: "run-1", Time: noon, Payload: events.HostPayload{Type: typ, JSON: []byte(text)}}
	}
	err := log.Emit(ctx, own("e1", "run.started", `{"input":{"question":42}}`), written("e2", "run-1", "m1"))
	if err == nil {
		err = log.Emit(ctx, own("e3", "run.completed", `{}`))
	}
	fmt.Println(err)

	const lastSeen = 0 // the Last-Event-ID of a client
	for ev, err := range events.Follow(ctx, log, "acme", "run-1", lastSeen+1, 0) {
		if err != nil {
			return
		}
		fmt.Println(ev.Sequence, ev.Payload.EventType())
		if ev.Payload.EventType() == "run.completed" {
			break
		}
	}
	// Output:
	// <nil>
	// 1 memory.written
	// 2 run.completed
}
