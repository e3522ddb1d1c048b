package distill_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

func Example() {
	ctx := context.Background()
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		panic(err)
	}
	job, err := bank.Background(memory.JobConfig{
		ID: "dream-1", Tenant: "acme", Redactor: redact.New(redact.Config{}),
	})
	if err != nil {
		panic(err)
	}
	for _, note := range []string{"Lena prefers e-mail.", "The invoice of 3 March 2026 is paid.", "Lena prefers e-mail."} {
		if _, err := job.Put(ctx, "support", memory.Draft{Content: note}); err != nil {
			panic(err)
		}
	}

	runner, err := distill.New(distill.Config{ArchiveRetention: "P90D"})
	if err != nil {
		panic(err)
	}
	_, err = runner.Distill(ctx, job, "support", distill.Options{TokenBudget: 1})
	var over *distill.BudgetError
	if errors.As(err, &over) {
		fmt.Println(over.Code())
	}
	first, err := runner.Distill(ctx, job, "support", distill.Options{TokenBudget: 100})
	if err != nil {
		panic(err)
	}
	fmt.Println(first.Output.Content)
	again, err := runner.Distill(ctx, job, "support", distill.Options{TokenBudget: 100})
	if err != nil {
		panic(err)
	}
	fmt.Println(again.Existing, again.Archive == first.Archive)
	index, _, err := runner.Index(ctx, job)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(index.Refs["support"]), "archive")
	// Output:
	// token_budget_exceeded
	// The invoice of 3 March 2026 is paid.
	// Lena prefers e-mail.
	// true true
	// 1 archive
}
