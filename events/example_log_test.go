package events_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openwop/agentmemory/events"
)

// A host without a run log of its own keeps it in a file, its own events in one sequence with
// those of memory, and serves an event stream from it.
func ExampleRunLog() {
	dir, _ := os.MkdirTemp("", "events")
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	file, err := events.OpenFile(filepath.Join(dir, "runs.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = file.Close() }()
	var log events.RunLog = file // memory.Config.Sink takes it, too

	own := func(id string, typ events.Type, text string) events.Record {
		return events.Record{ID: id, Tenant: "acme", RunID: "run-1", Time: noon, Payload: events.HostPayload{Type: typ, JSON: []byte(text)}}
	}
	err = log.Emit(ctx, own("e1", "run.started", `{"input":{"question":42}}`), written("e2", "run-1", "m1"))
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
