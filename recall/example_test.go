package recall_test

import (
	"context"
	"fmt"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

func Example() {
	ctx := context.Background()
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: recall.New(recall.Config{})})
	if err != nil {
		panic(err)
	}
	job, err := bank.Background(memory.JobConfig{ID: "import", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{
		"The lease of the Berlin office ends on 30 June 2027.",
		"Lena prefers calls before noon.",
		"Deploys of billing-api go through ./deploy/run.sh --canary 5.",
	} {
		if _, err := job.Put(ctx, "support", memory.Draft{Content: text}); err != nil {
			panic(err)
		}
	}
	hits, err := bank.Recall(ctx, "acme", "support", memory.Search{Text: "When do our leases in Berlin end?"})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Println(h.Entry.Content, h.Terms)
	}
	// Output:
	// The lease of the Berlin office ends on 30 June 2027. [leas berlin end]
}
