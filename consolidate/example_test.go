package consolidate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

func Example() {
	ctx := context.Background()
	log := new(events.Log)
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	bank, err := memory.New(inmem.New(), memory.Config{
		Sink: log,
		Now:  func() time.Time { now = now.Add(time.Second); return now },
	})
	if err != nil {
		panic(err)
	}
	open := func(id string) *memory.Job {
		job, err := bank.Background(memory.JobConfig{ID: id, Tenant: "acme", Redactor: redact.New(redact.Config{})})
		if err != nil {
			panic(err)
		}
		return job
	}
	for _, d := range []memory.Draft{
		{Content: "Lena prefers e-mail over phone calls."},
		{Content: "Lena prefers  e-mail over phone calls"},
		{Content: "The night shift of Kestrel starts at 22:00."},
		{Content: "Kestrel's night shift starts at 22:00 in the harbour."},
		{Content: "The night shift of Kestrel starts at 23:00."},
		{Content: "Kestrel is on the Starter plan.", Tags: []string{"slot:kestrel/plan"}},
		{Content: "Kestrel is on the Team plan.", Tags: []string{"slot:kestrel/plan"}},
	} {
		if _, err := open("import").Put(ctx, "support", d); err != nil {
			panic(err)
		}
	}

	c, err := consolidate.New(consolidate.Config{})
	if err != nil {
		panic(err)
	}
	plan, err := c.Plan(ctx, open("dry-run"), "support", consolidate.Options{})
	if err != nil {
		panic(err)
	}
	for _, group := range plan {
		fmt.Println(len(group.Retire), "retired:", group.Reason)
	}
	for _, id := range []string{"pass-1", "pass-2"} {
		job := open(id)
		done, err := c.Run(ctx, job, "support", consolidate.Options{Trigger: events.ConsolidationOnDemand})
		if err != nil {
			panic(err)
		}
		if err := job.End(ctx); err != nil {
			panic(err)
		}
		fmt.Println(id, done.InputCount, "to", done.OutputCount)
	}
	fmt.Println(len(log.All()), "events")
	// Output:
	// 1 retired: equal in canonical form
	// 1 retired: a newer value of the same slot
	// pass-1 7 to 5
	// pass-2 5 to 5
	// 2 events
}

func ExampleSimilar() {
	entries := []memory.Entry{
		{ID: "m1", Content: "The night shift of Kestrel starts at 22:00."},
		{ID: "m2", Content: "The harbour office closes on Fridays."},
		{ID: "m3", Content: "Kestrel's night shift starts at 22:00."},
	}
	found, err := consolidate.Similar(context.Background(), entries, 0.5)
	if err != nil {
		panic(err)
	}
	for _, c := range found {
		fmt.Printf("%v %.2f\n", c.IDs, c.Score)
	}
	// Output:
	// [m1 m3] 0.73
}

func ExampleConsolidator_Undo() {
	ctx := context.Background()
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		panic(err)
	}
	open := func(id string) *memory.Job {
		job, err := bank.Background(memory.JobConfig{ID: id, Tenant: "acme", Redactor: redact.New(redact.Config{})})
		if err != nil {
			panic(err)
		}
		return job
	}
	for _, text := range []string{"Lena prefers e-mail over phone calls.", "Lena prefers  e-mail over phone calls"} {
		if _, err := open("import").Put(ctx, "support", memory.Draft{Content: text}); err != nil {
			panic(err)
		}
	}
	c, err := consolidate.New(consolidate.Config{})
	if err != nil {
		panic(err)
	}
	done, err := c.Run(ctx, open("pass-1"), "support", consolidate.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(done.InputCount, "to", done.OutputCount)
	back, err := c.Undo(ctx, open("undo-1"), "support", "pass-1")
	if err != nil {
		panic(err)
	}
	fmt.Println("live again:", back)
	// Output:
	// 2 to 1
	// live again: 1
}
