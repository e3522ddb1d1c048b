package commitment_test

import (
	"context"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// starter starts runs by deriving their ids from the key, so that the same firing
// always finds the same run.
type starter struct{}

func (starter) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	fmt.Println("run for", f.Ref, "at", f.Instant.Format(time.DateTime))
	return "run-" + f.Key, nil
}

func Example() {
	ctx := context.Background()
	now := time.Date(2026, 3, 2, 9, 58, 0, 0, time.UTC) // a Monday
	log := new(events.Log)
	bank, err := memory.New(inmem.New(), memory.Config{Now: func() time.Time { return now }, Sink: log})
	if err != nil {
		panic(err)
	}
	secrets := func(context.Context, string) (memory.Redactor, error) {
		return redact.New(redact.Config{}), nil
	}
	engine, err := commitment.New(bank, commitment.Config{Redactor: secrets, Enqueuer: starter{}})
	if err != nil {
		panic(err)
	}

	job, err := bank.Background(memory.JobConfig{ID: "infer-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		panic(err)
	}
	if _, err := job.Put(ctx, "support", memory.Draft{Content: "Follow up with Lena next Monday.", Tags: []string{"due:2026-03-09T09:00Z"}}); err != nil {
		panic(err)
	}
	found, err := engine.Infer(ctx, job, "support")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found.Armed), "armed")

	now = now.AddDate(0, 0, 7) // in real life, a loop
	for range 2 {
		done, err := engine.Tick(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println(done.Fired, "fired")
	}
	fmt.Println(log.All()[0].Payload.EventType())
	// Output:
	// 1 armed
	// run for support at 2026-03-09 09:00:00
	// 1 fired
	// 0 fired
	// commitment.fired
}
