package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
	"github.com/openwop/agentmemory/telemetry"
)

// bankRows measures what the layers above a store cost.
//
//	bank/put     a run writes an entry of 1 KB through a registry of 100 secrets,
//	             against the bare in-memory store's Put of the same entry: what
//	             redaction, validation, ids and the run's view add. After 1,000
//	             writes the next run starts, which is timed too
//	bank/job     a background pass writes an entry of 1 KB, against a run, both without a secret
//	bank/put+tracer  the same put with a Config.Tracer that counts, against one without: what
//	             it costs to be told of it. That no Tracer costs nothing is a test of
//	             package telemetry, which counts allocations
//	events/emit  one typed event through the checks to a sink that keeps nothing
func bankRows() []row {
	ctx := context.Background()
	content := strings.Repeat("The customer asked for a delivery before noon. ", 22)[:1024]
	return []row{
		{"bank/put", "inmem.Store.Put", func() (sides, error) {
			putBank, err := putting(memory.Config{}, content)
			if err != nil {
				return sides{}, err
			}
			bare, scope := inmem.New(), memory.Scope{Tenant: "acme", Ref: "support"}
			at, next := time.UnixMilli(1_760_000_000_000).UTC(), 0
			putBare := func() memory.Entry {
				next++
				e := memory.Entry{ID: fmt.Sprintf("mem_%026d", next), Content: content, Tags: []string{"delivery"}, CreatedAt: at, RunID: "run-1"}
				must(bare.Put(ctx, scope, e))
				return e
			}
			return sides{
				check: func() error {
					a, b := putBank(), putBare()
					if a.Content != b.Content || a.Tags[0] != b.Tags[0] || a.RunID != b.RunID {
						return errors.New("the entries differ")
					}
					return nil
				},
				ours:   repeat(func() { putBank() }),
				theirs: repeat(func() { putBare() }),
			}, nil
		}},
		{"bank/job", "Run.Put", func() (sides, error) {
			bank, err := memory.New(inmem.New(), memory.Config{})
			if err != nil {
				return sides{}, err
			}
			run, err := bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
			must(err)
			draft := memory.Draft{Content: content, Tags: []string{"delivery"}}
			inPass := func(n int) {
				must(bank.Pass(ctx, memory.JobConfig{ID: "pass-1", Tenant: "acme", Redactor: redact.New(redact.Config{})}, func(job *memory.Job) error {
					for range n {
						if _, err := job.Put(ctx, "jobs", draft); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			inRun := repeat(func() { _, err := run.Put(ctx, "support", draft); must(err) })
			return sides{ours: inPass, theirs: inRun}, nil
		}},
		{"bank/put+tracer", "without a tracer", func() (sides, error) {
			told := new(counter)
			with, err := putting(memory.Config{Tracer: told}, content)
			if err != nil {
				return sides{}, err
			}
			without, err := putting(memory.Config{}, content)
			if err != nil {
				return sides{}, err
			}
			return sides{
				check: func() error {
					if a, b := with(), without(); a.Content != b.Content || told.ended != 2 {
						return errors.New("the entries differ, or the tracer was not told of the run and the entry")
					}
					return nil
				},
				ours:   repeat(func() { with() }),
				theirs: repeat(func() { without() }),
			}, nil
		}},
		{"events/emit", "", func() (sides, error) {
			at := time.UnixMilli(1_760_000_000_000).UTC()
			emit := func() {
				must(events.Emit(ctx, discard{}, events.Record{
					ID: "evt_1", Tenant: "acme", RunID: "run-1", NodeID: "summarise", Time: at,
					Payload: events.MemoryWritten{MemoryRef: "support", MemoryID: "mem_1", NodeID: "summarise"},
				}))
			}
			return sides{ours: repeat(emit)}, nil
		}},
	}
}

// putting returns what puts an entry into a bank, by a run with a registry of 100 secrets.
func putting(cfg memory.Config, content string) (func() memory.Entry, error) {
	ctx := context.Background()
	bank, err := memory.New(inmem.New(), cfg)
	if err != nil {
		return nil, err
	}
	secrets := redact.New(redact.Config{})
	for i := range 100 {
		value := fmt.Sprintf("live-%04d-%08x-%08x", i, i*2654435761, i*40503)
		if err := secrets.Register(fmt.Sprintf("key-%d", i), []byte(value)); err != nil {
			return nil, err
		}
	}
	var run *memory.Run
	writes := 0
	return func() memory.Entry {
		if writes%1000 == 0 {
			run, err = bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets})
			must(err)
		}
		writes++
		e, err := run.Put(ctx, "support", memory.Draft{Content: content, Tags: []string{"delivery"}})
		must(err)
		return e
	}, nil
}

// counter is a tracer that counts what has ended.
type counter struct{ ended int }

func (c *counter) Start(ctx context.Context, _ telemetry.Op) (context.Context, func(telemetry.Result)) {
	return ctx, func(telemetry.Result) { c.ended++ }
}

type discard struct{}

func (discard) Emit(context.Context, ...events.Record) error { return nil }
