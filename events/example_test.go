package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/events"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func written(id, run, memory string) events.Record {
	return events.Record{
		ID: id, Tenant: "acme", RunID: run, NodeID: "node-1", Time: noon,
		Payload: events.MemoryWritten{MemoryRef: "notes", MemoryID: memory},
	}
}

func ExampleEmit() {
	var log events.Log

	err := events.Emit(context.Background(), &log, written("e1", "run-1", "m1"))
	fmt.Println(err, len(log.All()))

	err = events.Emit(context.Background(), &log, written("e2", "run-1", ""))
	fmt.Println(err, len(log.All()))
	// Output:
	// <nil> 1
	// events: invalid event: memory.written /memoryId is missing or empty 1
}

func ExampleLog() {
	var log events.Log
	ctx := context.Background()
	_ = events.Emit(ctx, &log, written("e1", "run-1", "m1"))
	_ = events.Emit(ctx, &log, written("e1", "run-1", "m1"), written("e2", "run-1", "m2")) // e1 again

	for _, ev := range log.Events("acme", "run-1") {
		doc, _ := json.Marshal(ev)
		fmt.Println(string(doc))
	}
	// Output:
	// {"eventId":"e1","runId":"run-1","nodeId":"node-1","type":"memory.written","payload":{"memoryRef":"notes","memoryId":"m1"},"timestamp":"2026-05-01T12:00:00.000Z","sequence":0}
	// {"eventId":"e2","runId":"run-1","nodeId":"node-1","type":"memory.written","payload":{"memoryRef":"notes","memoryId":"m2"},"timestamp":"2026-05-01T12:00:00.000Z","sequence":1}
}

func ExampleReemit() {
	var log events.Log
	ctx := context.Background()
	_ = events.Emit(ctx, &log, written("e1", "run-1", "m1"))

	recorded := log.Events("acme", "run-1")
	for range 2 { // the second time the log has them
		_ = events.Emit(ctx, &log, events.Reemit(recorded, "run-2")...)
	}
	for _, ev := range log.Events("acme", "run-2") {
		fmt.Println(ev.Sequence, ev.Payload.(events.MemoryWritten).MemoryID, ev.Time.Format(time.TimeOnly))
	}
	// Output: 0 m1 12:00:00
}
