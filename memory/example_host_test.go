package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// exampleBank is a bank whose writes are announced to a log.
func exampleBank() (*memory.Bank, *events.Log) {
	events := new(events.Log)
	bank, err := memory.New(inmem.New(), memory.Config{Sink: events, WriteEvents: true})
	if err != nil {
		log.Fatal(err)
	}
	return bank, events
}

// noSecrets is an empty registry: it declares that there are no secrets.
func noSecrets() *redact.SecretRegistry { return redact.New(redact.Config{}) }

// startRun starts a run that has no secrets, or repeats one.
func startRun(bank *memory.Bank, id string, replay *memory.Replay) *memory.Run {
	run, err := bank.Start(context.Background(), memory.RunConfig{ID: id, Tenant: "acme", Redactor: noSecrets(), Replay: replay})
	if err != nil {
		log.Fatal(err)
	}
	return run
}

// Lena has moved: the new fact takes the place of the old one, and keeps its subject.
func ExampleRun_Replace() {
	ctx := context.Background()
	bank, _ := exampleBank()
	run := startRun(bank, "run-1", nil)
	old, err := run.Put(ctx, "support", memory.Draft{Content: "Lena lives in Bern.", Subjects: []string{"customer:lena"}})
	if err != nil {
		log.Fatal(err)
	}
	moved, err := run.Replace(ctx, "support", old.ID, memory.Draft{Content: "Lena lives in Graz."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(moved.Content, moved.Subjects)
	outcomes, err := bank.Lineage(ctx, "acme", "support", old.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcomes[old.ID].State, outcomes[old.ID].Head.Content)
	// Output:
	// Lena lives in Graz. [customer:lena]
	// superseded Lena lives in Graz.
}

// An inspector shows what a run saw, also if memory has changed since.
func ExampleBank_AsOf() {
	ctx := context.Background()
	bank, _ := exampleBank()
	run := startRun(bank, "run-1", nil)
	run.Put(ctx, "support", memory.Draft{Content: "asked for a refund"})
	token, _ := run.Token(ctx)

	later := startRun(bank, "run-2", nil)
	later.Put(ctx, "support", memory.Draft{Content: "got the refund"})

	then, err := bank.AsOf(ctx, "acme", token)
	if err != nil {
		log.Fatal(err)
	}
	entries, err := then.List(ctx, "support", memory.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Content)
	}
	// Output: asked for a refund
}

// A replay takes the two tokens that the host recorded and the run's events. It writes
// nothing.
func ExampleReplay() {
	ctx := context.Background()
	bank, recorded := exampleBank()
	work := func(run *memory.Run) string {
		e, err := run.Put(ctx, "support", memory.Draft{Content: "asked for a refund"})
		if err != nil {
			log.Fatal(err)
		}
		return e.ID
	}

	run := startRun(bank, "run-1", nil)
	from, _ := run.Token(ctx)
	first := work(run)
	to, _ := run.Token(ctx)
	if err := run.End(ctx); err != nil {
		log.Fatal(err)
	}

	replay := startRun(bank, "run-1-replayed", &memory.Replay{Events: recorded.Events("acme", "run-1"), From: from, To: to})
	fmt.Println("the same entry:", work(replay) == first)
	all, _ := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	fmt.Println("entries:", len(all))
	// Output:
	// the same entry: true
	// entries: 1
}

// A child run sees what its parent sees, and the parent sees what the child wrote once
// it has completed.
func ExampleRun_Child() {
	ctx := context.Background()
	bank, _ := exampleBank()
	parent := startRun(bank, "run-1", nil)
	child, err := parent.Child("run-1-child")
	if err != nil {
		log.Fatal(err)
	}
	child.Put(ctx, "support", memory.Draft{Content: "found by the child"})
	before, _ := parent.Memory().List(ctx, "support", memory.ListOptions{})
	if err := child.End(ctx); err != nil {
		log.Fatal(err)
	}
	after, _ := parent.Memory().List(ctx, "support", memory.ListOptions{})
	fmt.Println(len(before), len(after))
	// Output: 0 1
}

// A child in another process is started with its parent's token, and comes back by its
// own last one.
func ExampleRun_Join() {
	ctx := context.Background()
	bank, _ := exampleBank()
	parent := startRun(bank, "run-1", nil)
	handedOver, _ := parent.Token(ctx)

	child, err := bank.Start(ctx, memory.RunConfig{ID: "run-1-child", Tenant: "acme", Redactor: noSecrets(), Resume: handedOver})
	if err != nil {
		log.Fatal(err)
	}
	child.Put(ctx, "support", memory.Draft{Content: "found elsewhere"})
	last, _ := child.Token(ctx)
	if err := child.End(ctx); err != nil {
		log.Fatal(err)
	}

	if err := parent.Join(ctx, last); err != nil {
		log.Fatal(err)
	}
	entries, _ := parent.Memory().List(ctx, "support", memory.ListOptions{})
	fmt.Println(entries[0].Content)
	// Output: found elsewhere
}

// A secret that was registered too late is taken out of what is stored.
func ExampleBank_Scrub() {
	ctx := context.Background()
	bank, _ := exampleBank()
	startRun(bank, "run-1", nil).Put(ctx, "support", memory.Draft{Content: "the key is acme-live-7Qm2vT9x"})

	secrets := redact.New(redact.Config{})
	if err := secrets.Register("billing-key", []byte("acme-live-7Qm2vT9x")); err != nil {
		log.Fatal(err)
	}
	done, err := bank.Scrub(ctx, "acme", secrets)
	if err != nil {
		log.Fatal(err)
	}
	entries, _ := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	fmt.Println(len(done.Erased), entries[0].Content)
	// Output: 1 the key is [REDACTED:billing-key]
}

// A customer asks what is held about them.
func ExampleBank_Export() {
	ctx := context.Background()
	bank, _ := exampleBank()
	run := startRun(bank, "run-1", nil)
	run.Put(ctx, "support", memory.Draft{Content: "Lena prefers e-mail.", Subjects: []string{"customer:lena"}})
	run.Put(ctx, "support", memory.Draft{Content: "Deploys are on Tuesdays."})
	for held, err := range bank.Export(ctx, "acme", "customer:lena") {
		if err != nil {
			log.Fatal(err)
		}
		if held.Record != nil {
			fmt.Println(held.Record.Ref, held.Record.State, held.Record.Entry.Content)
		}
	}
	// Output: support live Lena prefers e-mail.
}

// A retry after a lost answer writes once.
func ExampleDraft_key() {
	ctx := context.Background()
	bank, _ := exampleBank()
	run := startRun(bank, "run-1", nil)
	d := memory.Draft{Content: "paid invoice 42", Key: "invoice-42"}
	first, err := run.Put(ctx, "billing", d)
	if err != nil {
		log.Fatal(err)
	}
	again, err := run.Put(ctx, "billing", d)
	if err != nil {
		log.Fatal(err)
	}
	d.Content = "paid invoice 43"
	_, err = run.Put(ctx, "billing", d)
	fmt.Println(first.ID == again.ID, errors.Is(err, memory.ErrConflict))
	// Output: true true
}

// One goroutine of the host keeps memory in order.
func ExampleBank_Keep() {
	bank, delivered := exampleBank()
	startRun(bank, "run-1", nil).Put(context.Background(), "support", memory.Draft{Content: "asked for a refund"})

	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, stop) // as the host does when it ends
	err := bank.Keep(ctx, time.Second)
	fmt.Println(err, len(delivered.Events("acme", "run-1")))
	// Output: context canceled 1
}

// What was forgotten stays so after a backup was restored.
func ExampleBank_EraseAgain() {
	ctx := context.Background()
	bank, _ := exampleBank()
	run := startRun(bank, "run-1", nil)
	run.Put(ctx, "support", memory.Draft{Content: "about customer 7", Subjects: []string{"customer:7"}})
	if _, err := bank.Forget(ctx, "acme", "customer:7"); err != nil {
		log.Fatal(err)
	}
	var ledger []memory.Erasure // the host keeps it apart from its backups
	for step, err := range bank.Erasures(ctx, "acme") {
		if err != nil {
			log.Fatal(err)
		}
		ledger = append(ledger, step)
	}

	// After the restoration:
	done, err := bank.EraseAgain(ctx, "acme", ledger, nil)
	fmt.Println(len(ledger), len(done.Erased), err)
	// Output: 1 0 <nil>
}
