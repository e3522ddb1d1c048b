package dates_test

import (
	"context"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/bridges/dates"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

func Example() {
	ctx := context.Background()
	now := time.Date(2026, 3, 2, 9, 58, 0, 0, time.UTC) // a Monday
	bank, err := memory.New(inmem.New(), memory.Config{Now: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	engine, err := commitment.New(bank, commitment.Config{
		Inferrer: dates.Inferrer{Zone: time.UTC},
		Schedule: dates.Cron,
		Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
	})
	if err != nil {
		panic(err)
	}
	job, err := bank.Background(memory.JobConfig{ID: "infer-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		panic(err)
	}
	for _, d := range []memory.Draft{
		{Content: "Follow up with Lena next Monday at 2 pm.", Tags: []string{"intent"}},
		{Content: "Send Beth the weekly report.", Tags: []string{"every:0 14 * * 5"}},
		{Content: "Lena called on Friday at 2 pm.", Tags: []string{"intent"}},
	} {
		if _, err := job.Put(ctx, "support", d); err != nil {
			panic(err)
		}
	}
	found, err := engine.Infer(ctx, job, "support")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found.Armed), "armed;", found.Unread[0].Why)
	for range 2 {
		now = now.AddDate(0, 0, 7)
		done, err := engine.Tick(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println(done.Fired, "fired")
	}
	// Output:
	// 2 armed; it does not ask its reader for anything
	// 1 fired
	// 2 fired
}
