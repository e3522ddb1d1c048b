package recall_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

func Example() {
	ctx := context.Background()
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		panic(err)
	}
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: ranker})
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
	run, err := bank.Start(ctx, memory.RunConfig{ID: "run-7", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		panic(err)
	}
	if _, err := job.Put(ctx, "support", memory.Draft{Content: "Dana says that the Berlin lease was ended.", Subjects: []string{"dana"}}); err != nil {
		panic(err)
	}
	question := memory.Search{Text: "When do our leases in Berlin end?"}
	show := func(who string, hits []memory.Hit, err error) {
		if err != nil {
			panic(err)
		}
		fmt.Println(who)
		for _, h := range hits {
			fmt.Println(" ", h.Entry.Content, h.Terms)
		}
	}
	hits, err := bank.Search(ctx, "acme", "support", question)
	show("live memory", hits, err)
	hits, err = run.Search(ctx, "support", question)
	show("a run that began before", hits, err)
	if _, err := bank.Forget(ctx, "acme", "dana"); err != nil {
		panic(err)
	}
	hits, err = bank.Search(ctx, "acme", "support", question)
	show("after dana was forgotten", hits, err)
	// Output:
	// live memory
	//   Dana says that the Berlin lease was ended. [leas berlin end]
	//   The lease of the Berlin office ends on 30 June 2027. [leas berlin end]
	// a run that began before
	//   The lease of the Berlin office ends on 30 June 2027. [leas berlin end]
	// after dana was forgotten
	//   The lease of the Berlin office ends on 30 June 2027. [leas berlin end]
}

// thesaurus stands in for a model of the host that is asked to say each text in other words.
type thesaurus struct{}

func (thesaurus) Model() string { return "thesaurus/1" }

func (thesaurus) Expand(_ context.Context, texts []string) (said []string, _ error) {
	for _, text := range texts {
		said = append(said, strings.ReplaceAll(text, "lease", "rental contract"))
	}
	return said, nil
}

func ExampleExpander() {
	ctx := context.Background()
	secretsOf := func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil }
	ranker, err := recall.New(recall.Config{Expander: thesaurus{}, Redactor: secretsOf})
	if err != nil {
		panic(err)
	}
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: ranker})
	if err != nil {
		panic(err)
	}
	job, err := bank.Background(memory.JobConfig{ID: "import", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"The lease ends on 30 June 2027.", "Lena prefers calls before noon."} {
		if _, err := job.Put(ctx, "support", memory.Draft{Content: text}); err != nil {
			panic(err)
		}
	}
	if _, err := bank.Maintain(ctx); err != nil { // a host does so by Bank.Keep
		panic(err)
	}
	hits, err := bank.Search(ctx, "acme", "support", memory.Search{Text: "until when do we have the rental?"})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Println(h.Entry.Content, h.Terms)
	}
	// Output:
	// The lease ends on 30 June 2027. []
}
