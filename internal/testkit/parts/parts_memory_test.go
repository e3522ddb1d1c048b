package parts_test

import (
	"context"
	"log/slog"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
	"github.com/openwop/agentmemory/telemetry"
)

// put is an operation that writes an entry.
func (w *world) put(ctx context.Context) error {
	_, err := w.job("p").Put(ctx, ref, memory.Draft{Content: "x", Tags: []string{"t"}})
	return err
}

var memoryParts = []part{
	{
		of: []string{"memory.Config.Resolver"}, says: "the resolver", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Resolver: func(context.Context, string) (string, error) { w.part(); return tenant, nil }})
			return w.put
		},
	},
	{
		of: []string{"memory.Config.Now"}, says: "the clock",
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Now: func() time.Time { w.part(); return time.Now() }})
			return w.put
		},
	},
	{
		of: []string{"memory.Config.Limits"}, says: "the limits", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Limits: func(context.Context, string) (driver.Limits, error) { w.part(); return driver.Limits{}, nil }})
			return w.put
		},
	},
	{
		of: []string{"memory.Config.Logger"}, swallowed: true,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Logger: slog.New(logger{w})})
			_, err := w.job("p").Put(context.Background(), ref, memory.Draft{Content: "x", Subjects: []string{"lena"}})
			require.NoError(w, err)
			return func(ctx context.Context) error {
				_, err := w.bank.Forget(ctx, tenant, "lena")
				return err
			}
		},
	},
	{
		of: []string{"memory.Config.Tracer.Start", "telemetry.Hooks.Tracer.Start"}, swallowed: true,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Tracer: tracer{w}})
			return w.put
		},
	},
	{
		of: []string{"memory.Config.Ranker.Rank"}, says: "the ranker", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Ranker: ranker{w, false}})
			w.note("x")
			return func(ctx context.Context) error {
				_, err := w.bank.Search(ctx, tenant, ref, memory.Search{Text: "x"})
				return err
			}
		},
	},
	{
		of: []string{"memory.Config.Ranker.Model"}, says: "the ranker",
		use: func(w *world) func(context.Context) error {
			return func(context.Context) error {
				_, err := memory.New(w.store, memory.Config{Ranker: ranker{w, true}})
				return err
			}
		},
	},
	{
		of: []string{"memory.Config.TokenCounter.Name"}, says: "the token counter",
		use: func(w *world) func(context.Context) error {
			return func(context.Context) error {
				_, err := memory.New(w.store, memory.Config{TokenCounter: counter{w, true}})
				return err
			}
		},
	},
	{
		of: []string{"memory.Config.TokenCounter.Count"}, says: "the token counter", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{TokenCounter: counter{w, false}})
			w.note("x")
			return func(ctx context.Context) error {
				_, err := w.bank.Reader(tenant).List(ctx, ref, memory.ListOptions{TokenBudget: 100})
				return err
			}
		},
	},
	{
		of: []string{"memory.Config.Sink.Emit"}, says: "the sink", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{WriteEvents: true, Sink: sink{w}})
			w.note("x")
			return func(ctx context.Context) error {
				_, err := w.bank.Maintain(ctx)
				return err
			}
		},
	},
	{
		of: []string{"memory.JobConfig.Redactor.Redact"}, says: "the redactor", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			job := w.jobWith("p", redactor{w, "redact"})
			return func(ctx context.Context) error {
				_, err := job.Put(ctx, ref, memory.Draft{Content: "x"})
				return err
			}
		},
	},
	{
		of: []string{"memory.JobConfig.Redactor.RedactDerived", "memory.RunConfig.Redactor.RedactDerived"}, says: "the redactor", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			e := w.note("x")[0]
			job := w.jobWith("p", redactor{w, "derived"})
			return func(ctx context.Context) error {
				_, err := job.Rewrite(ctx, ref, memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "y"}, Sources: []string{e.ID}}}})
				return err
			}
		},
	},
	{
		of: []string{"memory.RunConfig.Redactor.Redact"}, says: "the redactor", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			run, err := w.bank.Start(context.Background(), memory.RunConfig{ID: "r", Tenant: tenant, Redactor: redactor{w, "redact"}})
			require.NoError(w, err)
			return func(ctx context.Context) error {
				_, err := run.Put(ctx, ref, memory.Draft{Content: "x"})
				return err
			}
		},
	},
	{
		of: []string{"a redactor that is called in place"}, says: "the redactor",
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			job := w.jobWith("p", prompt{redactor{w, "redact"}})
			return func(ctx context.Context) error {
				_, err := job.Put(ctx, ref, memory.Draft{Content: "x"})
				return err
			}
		},
	},
	{
		of: []string{"whether a redactor is called in place"}, says: "the redactor",
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			return func(context.Context) error {
				_, err := w.bank.Background(memory.JobConfig{ID: "p", Tenant: tenant, Redactor: prompt{redactor{w, "inline"}}})
				return err
			}
		},
	},
	{
		of: []string{"the end of a redactor"}, says: "the redactor", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			job := w.jobWith("p", redactor{w, "close"})
			return job.End
		},
	},
	{
		of: []string{"memory.Bank.Scrub"}, says: "the redactor", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			w.note("tell nobody of acme-live-7Qm2vT9x", "nothing")
			vault := redact.New(redact.Config{})
			require.NoError(w, vault.Register("k", []byte("acme-live-7Qm2vT9x")))
			return func(ctx context.Context) error {
				_, err := w.bank.Scrub(ctx, tenant, late{vault, w})
				return err
			}
		},
	},
	{
		of: []string{"memory.Bank.EraseAgain"}, says: "the redactor", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			ledger := []memory.Erasure{{Entries: map[string][]string{ref: {w.note("x")[0].ID}}}}
			return func(ctx context.Context) error {
				_, err := w.bank.EraseAgain(ctx, tenant, ledger, redactor{w, "redact"})
				return err
			}
		},
	},
	{
		of: []string{"memory.Rewrite.Documents"}, says: "Rewrite.Documents",
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			return func(ctx context.Context) error {
				_, err := w.job("p").Rewrite(ctx, ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap { w.part(); return nil }})
				return err
			}
		},
	},
	{
		of: []string{"memory.Rewrite.Announce"}, says: "Rewrite.Announce",
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{Sink: new(events.Log)})
			return func(ctx context.Context) error {
				_, err := w.job("p").Rewrite(ctx, ref, memory.Rewrite{Announce: func([]memory.Entry) []events.Record { w.part(); return nil }})
				return err
			}
		},
	},
	{
		of: []string{"memory.Run.RecordReads"}, says: "the record of reads", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			run, err := w.bank.Start(context.Background(), memory.RunConfig{ID: "r", Tenant: tenant, Redactor: redact.New(redact.Config{})})
			require.NoError(w, err)
			reader := run.RecordReads(func(memory.RecordedRead) error { w.part(); return nil })
			return func(ctx context.Context) error {
				_, err := reader.List(ctx, ref, memory.ListOptions{})
				return err
			}
		},
	},
	{
		of: []string{"memory.Engines.Register"}, says: "the tick of part", limit: memory.ChoreTime,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			tick := func(context.Context) error { w.part(); return nil }
			require.NoError(w, w.bank.Engines().Register("part", nil, tick, nil))
			return func(ctx context.Context) error {
				_, err := w.bank.Maintain(ctx)
				return err
			}
		},
	},
}

type logger struct{ w *world }

func (l logger) Enabled(context.Context, slog.Level) bool  { l.w.part(); return true }
func (l logger) Handle(context.Context, slog.Record) error { return nil }
func (l logger) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l logger) WithGroup(string) slog.Handler             { return l }

type tracer struct{ w *world }

func (t tracer) Start(ctx context.Context, _ telemetry.Op) (context.Context, func(telemetry.Result)) {
	t.w.part()
	return ctx, func(telemetry.Result) { t.w.part() }
}

type ranker struct {
	w     *world
	named bool // the part is its model's name
}

func (r ranker) Version() string { return "1" }

func (r ranker) Model() string {
	if r.named {
		r.w.part()
	}
	return ""
}

func (r ranker) Rank(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) {
	r.w.part()
	return nil, nil
}

type counter struct {
	w     *world
	named bool
}

func (c counter) Name() string {
	if c.named {
		c.w.part()
	}
	return "bytes"
}

func (c counter) Count(text string) int {
	if !c.named {
		c.w.part()
	}
	return len(text)
}

type sink struct{ w *world }

func (s sink) Emit(context.Context, ...events.Record) error { s.w.part(); return nil }

// redactor misbehaves in one of its methods.
type redactor struct {
	w  *world
	in string
}

func (r redactor) at(method string) {
	if method == r.in {
		r.w.part()
	}
}

func (r redactor) Redact(text string) (string, error)        { r.at("redact"); return text, nil }
func (r redactor) RedactDerived(text string) (string, error) { r.at("derived"); return text, nil }
func (r redactor) Close() error                              { r.at("close"); return nil }

// prompt says that it returns promptly.
type prompt struct{ redactor }

func (p prompt) Inline() bool { p.at("inline"); return true }

// late misbehaves where it has found the secret and is to take it out.
type late struct {
	vault *redact.SecretRegistry
	w     *world
}

func (l late) Redact(text string) (string, error)        { return l.vault.Redact(text) }
func (l late) RedactDerived(text string) (string, error) { l.w.part(); return l.vault.Redact(text) }
