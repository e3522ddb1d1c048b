package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

func Example() {
	ctx := context.Background()
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	secrets := redact.New(redact.Config{})
	if err := secrets.Register("billing-key", []byte("acme-live-7Qm2vT9x")); err != nil {
		log.Fatal(err)
	}
	run, err := bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := run.Put(ctx, "support", memory.Draft{Content: "The key is acme-live-7Qm2vT9x."}); err != nil {
		log.Fatal(err)
	}
	entries, err := run.Memory().List(ctx, "support", memory.ListOptions{Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entries[0].Content)
	fmt.Println(run.End(ctx))
	// Output:
	// The key is [REDACTED:billing-key].
	// <nil>
}

// example is a bank with one run that has no secrets.
func example(id string) (*memory.Bank, *memory.Run) {
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := bank.Start(context.Background(), memory.RunConfig{
		ID: id, Tenant: "acme", Redactor: redact.New(redact.Config{}),
	})
	if err != nil {
		log.Fatal(err)
	}
	return bank, run
}

// A run is suspended, and a later process goes on where it stood. The first handle is aborted: it is
// closed with its secrets, and the run has no terminal event yet. The second one needs the secrets
// again.
func ExampleRun_Token() {
	ctx := context.Background()
	bank, run := example("run-1")
	run.Put(ctx, "support", memory.Draft{Content: "asked for approval"})
	token, err := run.Token(ctx) // the host keeps it with the suspended run
	if err != nil {
		log.Fatal(err)
	}
	if err := run.Abort(ctx); err != nil {
		log.Fatal(err)
	}

	resumed, err := bank.Start(ctx, memory.RunConfig{
		ID: "run-1", Tenant: "acme", Redactor: redact.New(redact.Config{}), Resume: token,
	})
	if err != nil {
		log.Fatal(err)
	}
	entries, err := resumed.Memory().List(ctx, "support", memory.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(entries), entries[0].Content)
	resumed.Put(ctx, "support", memory.Draft{Content: "approved"})
	fmt.Println(resumed.End(ctx))
	// Output:
	// 1 asked for approval
	// <nil>
}

func ExampleBank_Forget() {
	ctx := context.Background()
	bank, run := example("run-1")
	run.Put(ctx, "support", memory.Draft{Content: "Lena prefers e-mail", Subjects: []string{"customer:lena"}})
	run.Put(ctx, "sales", memory.Draft{Content: "Lena signed", Subjects: []string{"customer:lena", "org:hofer"}})
	run.Put(ctx, "sales", memory.Draft{Content: "Hofer pays late", Subjects: []string{"org:hofer"}})

	done, err := bank.Forget(ctx, "acme", "customer:lena")
	if err != nil {
		log.Fatal(err)
	}
	left, err := bank.Reader("acme").List(ctx, "sales", memory.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(done.Erased), "erased;", left[0].Content)
	// Output: 2 erased; Hofer pays late
}

// Events are committed with the writes that they announce; the relay takes them to
// the host's log.
func ExampleBank_Maintain() {
	ctx := context.Background()
	eventLog := new(events.Log)
	bank, err := memory.New(inmem.New(), memory.Config{Sink: eventLog, WriteEvents: true})
	if err != nil {
		log.Fatal(err)
	}
	run, err := bank.Start(ctx, memory.RunConfig{
		ID: "run-1", Tenant: "acme", Redactor: redact.New(redact.Config{}),
	})
	if err != nil {
		log.Fatal(err)
	}
	run.Put(ctx, "support", memory.Draft{Content: "x", NodeID: "summarise"})
	relayed, err := bank.Maintain(ctx)
	if err != nil {
		log.Fatal(err)
	}
	ev := eventLog.Events("acme", "run-1")[0]
	fmt.Println(relayed.Delivered, ev.Payload.EventType(), ev.NodeID, ev.Sequence)
	// Output: 1 memory.written summarise 0
}

// A background pass replaces two entries by one that says both.
func ExampleJob_Rewrite() {
	ctx := context.Background()
	bank, run := example("run-1")
	a, _ := run.Put(ctx, "support", memory.Draft{Content: "Lena prefers e-mail"})
	b, _ := run.Put(ctx, "support", memory.Draft{Content: "lena prefers email!"})

	job, err := bank.Background(memory.JobConfig{
		ID: "pass-1", Tenant: "acme", Redactor: redact.New(redact.Config{}),
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = job.Rewrite(ctx, "support", memory.Rewrite{Derive: []memory.Derived{{
		Draft:   memory.Draft{Content: "Lena prefers e-mail.", ExpiresAt: time.Now().Add(24 * time.Hour)},
		Sources: []string{a.ID, b.ID},
		Merges:  []string{a.ID, b.ID},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	live, _ := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	seen, _ := run.Memory().List(ctx, "support", memory.ListOptions{})
	fmt.Println(len(live), "live; the open run still sees", len(seen))
	// Output: 1 live; the open run still sees 2
}
