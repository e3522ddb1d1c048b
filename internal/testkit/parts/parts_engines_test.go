package parts_test

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

const engineTime = 7 * time.Second // what the engines' configurations say

// consolidating is a pass over two entries that a merger is asked about.
func consolidating(o consolidate.Options, cfg func(w *world, c *consolidate.Config)) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		w.open(memory.Config{})
		w.note("The gate at the harbour is green.", "The harbour gate is green.")
		c := consolidate.Config{Score: 0.2, Timeout: engineTime, Merger: merger{}}
		cfg(w, &c)
		engine, err := consolidate.New(c)
		require.NoError(w, err)
		return func(ctx context.Context) error {
			_, err := engine.Run(ctx, w.job("p"), ref, o)
			return err
		}
	}
}

// distilling is a distillation of two entries.
func distilling(cfg func(w *world, c *distill.Config, o *distill.Options)) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		w.open(memory.Config{})
		w.note("The gate at the harbour is green.", "Lena pays within thirty days.")
		c, o := distill.Config{SummarizerTimeout: engineTime}, distill.Options{TokenBudget: 2000}
		cfg(w, &c, &o)
		runner, err := distill.New(c)
		require.NoError(w, err)
		return func(ctx context.Context) error {
			_, err := runner.Distill(ctx, w.job("p"), ref, o)
			return err
		}
	}
}

// committing is an operation of a commitment engine, over an entry and a commitment that is due.
func committing(cfg func(w *world, c *commitment.Config), op func(ctx context.Context, w *world, e *commitment.Engine) error) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		w.open(memory.Config{})
		c := commitment.Config{
			Lease:    2 * engineTime,
			Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
		}
		cfg(w, &c)
		engine, err := commitment.New(w.bank, c)
		require.NoError(w, err)
		due := commitment.Arm{At: w.bank.Now().Add(time.Millisecond)}
		_, err = engine.Arm(context.Background(), w.job("p"), commitment.Source{Ref: ref}, due)
		require.NoError(w, err)
		w.note("Call Tom.")
		return func(ctx context.Context) error { return op(ctx, w, engine) }
	}
}

func arming(a commitment.Arm) func(context.Context, *world, *commitment.Engine) error {
	return func(ctx context.Context, w *world, e *commitment.Engine) error {
		_, err := e.Arm(ctx, w.job("p"), commitment.Source{Ref: ref}, a)
		return err
	}
}

func inferring(ctx context.Context, w *world, e *commitment.Engine) error {
	_, err := e.Infer(ctx, w.job("p"), ref)
	return err
}

func ticking(ctx context.Context, _ *world, e *commitment.Engine) error {
	_, err := e.Tick(ctx)
	return err
}

// embedding is a pass that makes the vectors of two entries.
func embedding(cfg func(w *world, c *recall.Config)) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		w.open(memory.Config{})
		w.note("The gate is green.", "Lena pays.")
		c := recall.Config{
			Embedder: embedder{},
			Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
		}
		cfg(w, &c)
		return func(ctx context.Context) error {
			ranker, err := recall.New(c)
			if err != nil {
				return err
			}
			require.NoError(w, ranker.Attach(w.bank))
			_, err = w.bank.Maintain(ctx)
			return err
		}
	}
}

// deriving derives a model from engines one of whose methods is the part.
func deriving(method string) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		bank := w.open(memory.Config{})
		x := engine{w, method}
		in := capability.Inputs{Bank: bank, Consolidator: x, Commitments: x, Distiller: distiller{x}, Workspace: rendering{x}, Proposals: proposals{x}}
		return func(context.Context) error {
			_, err := capability.Derive(in)
			return err
		}
	}
}

var engineParts = []part{
	{
		of: []string{"consolidate.Config.Planner.Plan"}, says: "the planner", limit: engineTime,
		use: consolidating(consolidate.Options{}, func(w *world, c *consolidate.Config) { c.Planner = planner{w, "plan"} }),
	},
	{
		of: []string{"consolidate.Config.Planner.Version"}, says: "the planner",
		use: consolidating(consolidate.Options{}, func(w *world, c *consolidate.Config) { c.Planner = planner{w, "version"} }),
	},
	{
		of: []string{"consolidate.Config.Merger.Merge"}, says: "the merger", limit: engineTime,
		use: consolidating(consolidate.Options{}, func(w *world, c *consolidate.Config) { c.Merger = merger{w, "merge"} }),
	},
	{
		of: []string{"consolidate.Config.Merger.Version"}, says: "the merger",
		use: consolidating(consolidate.Options{}, func(w *world, c *consolidate.Config) { c.Merger = merger{w, "version"} }),
	},
	{
		of: []string{"consolidate.Options.Progress"}, says: "the progress",
		use: func(w *world) func(context.Context) error {
			o := consolidate.Options{Progress: func(consolidate.Progress) { w.part() }}
			return consolidating(o, func(*world, *consolidate.Config) {})(w)
		},
	},
	{
		of: []string{"distill.Config.Summarizer.Summarize"}, says: "the summarizer", limit: engineTime,
		use: distilling(func(w *world, c *distill.Config, _ *distill.Options) { c.Summarizer = summarizer{w, "summarize"} }),
	},
	{
		of: []string{"distill.Config.Summarizer.Version"}, says: "the summarizer",
		use: distilling(func(w *world, c *distill.Config, _ *distill.Options) { c.Summarizer = summarizer{w, "version"} }),
	},
	{
		of: []string{"distill.Config.Tokenizer.Count"}, says: "the tokenizer", limit: memory.PluginTimeout,
		use: distilling(func(w *world, c *distill.Config, _ *distill.Options) { c.Tokenizer = counter{w, false} }),
	},
	{
		of: []string{"distill.Config.Tokenizer.Name"}, says: "the tokenizer",
		use: distilling(func(w *world, c *distill.Config, _ *distill.Options) { c.Tokenizer = counter{w, true} }),
	},
	{
		of: []string{"the tokenizer of a compaction"}, says: "the tokenizer", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			w.note("The gate is green.")
			runner, err := distill.New(distill.Config{Tokenizer: counter{w, false}})
			require.NoError(w, err)
			return func(ctx context.Context) error {
				_, err := runner.Compact(ctx, w.job("p"), ref, distill.Options{})
				return err
			}
		},
	},
	{
		of: []string{"distill.Options.Select"}, says: "the selection",
		use: distilling(func(w *world, _ *distill.Config, o *distill.Options) {
			o.Select = func(memory.Entry) bool { w.part(); return true }
		}),
	},
	{
		of: []string{"commitment.Config.Redactor"}, says: "the source of redactors", limit: memory.PluginTimeout, complete: true,
		use: committing(func(w *world, c *commitment.Config) {
			c.Redactor = func(context.Context, string) (memory.Redactor, error) {
				w.part()
				return redact.New(redact.Config{}), nil
			}
		}, ticking),
	},
	{
		of: []string{"the end of a redactor of commitments"}, says: "the redactor", limit: memory.PluginTimeout, complete: true,
		use: committing(func(w *world, c *commitment.Config) {
			c.Redactor = func(context.Context, string) (memory.Redactor, error) { return redactor{w, "close"}, nil }
		}, ticking),
	},
	{
		of: []string{"commitment.Config.Enqueuer.Enqueue"}, says: "the enqueuer", limit: engineTime, complete: true,
		use: committing(func(w *world, c *commitment.Config) { c.Enqueuer = enqueuer{w} }, ticking),
	},
	{
		of: []string{"commitment.Config.Inferrer.Infer"}, says: "the inferrer", limit: commitment.InferTimeout,
		use: committing(func(w *world, c *commitment.Config) { c.Inferrer = inferrer{w, "infer"} }, inferring),
	},
	{
		of: []string{"commitment.Config.Inferrer.Version"}, says: "the inferrer",
		use: committing(func(w *world, c *commitment.Config) { c.Inferrer = inferrer{w, "version"} }, inferring),
	},
	{
		of: []string{"commitment.Config.Predicate"}, says: "the registry of predicates", limit: memory.PluginTimeout,
		use: committing(func(w *world, c *commitment.Config) {
			c.Predicate = func(string, string) bool { w.part(); return true }
		}, arming(commitment.Arm{Predicate: "signed"})),
	},
	{
		of: []string{"commitment.Config.Schedule"}, says: "the schedule", limit: memory.PluginTimeout,
		use: committing(func(w *world, c *commitment.Config) {
			c.Schedule = func(string) (commitment.Schedule, error) { w.part(); return often{}, nil }
		}, arming(commitment.Arm{Spec: "hourly"})),
	},
	{
		of: []string{"what a schedule says next"}, says: "the schedule", limit: memory.PluginTimeout,
		use: committing(func(w *world, c *commitment.Config) {
			c.Schedule = func(string) (commitment.Schedule, error) { return hourly{w}, nil }
		}, arming(commitment.Arm{Spec: "hourly"})),
	},
	{
		of: []string{"recall.Config.Embedder.Embed"}, says: "the embedder", limit: memory.PluginTimeout,
		use: embedding(func(w *world, c *recall.Config) { c.Embedder = embedder{w, "embed"} }),
	},
	{
		of: []string{"recall.Config.Embedder.Model"}, says: "the embedder",
		use: embedding(func(w *world, c *recall.Config) { c.Embedder = embedder{w, "model"} }),
	},
	{
		of: []string{"recall.Config.Expander.Expand"}, says: "the expander", limit: memory.PluginTimeout,
		use: embedding(func(w *world, c *recall.Config) { c.Embedder, c.Expander = nil, expander{w, "expand"} }),
	},
	{
		of: []string{"recall.Config.Expander.Model"}, says: "the expander",
		use: embedding(func(w *world, c *recall.Config) { c.Embedder, c.Expander = nil, expander{w, "model"} }),
	},
	{
		of: []string{"recall.Config.Redactor"}, says: "the source of redactors", limit: memory.PluginTimeout,
		use: embedding(func(w *world, c *recall.Config) {
			c.Redactor = func(context.Context, string) (memory.Redactor, error) {
				w.part()
				return redact.New(redact.Config{}), nil
			}
		}),
	},
	{of: []string{"capability.Inputs.Consolidator.Trigger"}, says: "the consolidator", use: deriving("Trigger")},
	{of: []string{"capability.Inputs.Commitments.Conditions"}, says: "the commitment engine", use: deriving("Conditions")},
	{of: []string{"capability.Inputs.Distiller.TokenizerName"}, says: "the distiller", use: deriving("TokenizerName")},
	{of: []string{"capability.Inputs.Distiller.MaxTokenBudget"}, says: "the distiller", use: deriving("MaxTokenBudget")},
	{of: []string{"capability.Inputs.Distiller.Retention"}, says: "the distiller", use: deriving("Retention")},
	{of: []string{"capability.Inputs.Workspace.RendersIndex"}, says: "the workspace", use: deriving("RendersIndex")},
	{of: []string{"capability.Inputs.Proposals.Kinds"}, says: "the store of proposals", use: deriving("Kinds")},
	{of: []string{"capability.Inputs.Proposals.Activation"}, says: "the store of proposals", use: deriving("Activation")},
	{of: []string{"capability.Inputs.Proposals.FindsDuplicates"}, says: "the store of proposals", use: deriving("FindsDuplicates")},
}

// at is w.part in one method of a plug-in.
func at(w *world, method, in string) {
	if w != nil && method == in {
		w.part()
	}
}

type planner struct {
	w  *world
	in string
}

func (p planner) Version() string { at(p.w, "version", p.in); return "1" }
func (p planner) Plan(context.Context, []memory.Entry) (consolidate.Plan, error) {
	at(p.w, "plan", p.in)
	return consolidate.Plan{}, nil
}

type merger struct {
	w  *world
	in string
}

func (m merger) Version() string { at(m.w, "version", m.in); return "1" }
func (m merger) Merge(_ context.Context, group []memory.Entry) (string, error) {
	at(m.w, "merge", m.in)
	return group[0].Content, nil
}

type embedder struct {
	w  *world
	in string
}

func (e embedder) Model() string { at(e.w, "model", e.in); return "m" }
func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	at(e.w, "embed", e.in)
	out := make([][]float32, len(texts))
	for i := range texts {
		out[i] = []float32{1, float32(i)}
	}
	return out, nil
}

type expander struct {
	w  *world
	in string
}

func (e expander) Model() string { at(e.w, "model", e.in); return "m" }
func (e expander) Expand(_ context.Context, texts []string) ([]string, error) {
	at(e.w, "expand", e.in)
	return texts, nil
}

type summarizer struct {
	w  *world
	in string
}

func (s summarizer) Version() string { at(s.w, "version", s.in); return "1" }
func (s summarizer) Summarize(_ context.Context, r distill.Request) ([]distill.Item, error) {
	at(s.w, "summarize", s.in)
	return []distill.Item{{Text: strings.ToUpper(r.Sources[0].Text)}}, nil
}

type enqueuer struct{ w *world }

func (e enqueuer) Enqueue(context.Context, commitment.Firing) (string, error) {
	e.w.part()
	return "run", nil
}

type inferrer struct {
	w  *world
	in string
}

func (i inferrer) Version() string { at(i.w, "version", i.in); return "1" }
func (i inferrer) Infer(_ context.Context, r commitment.Request) (out commitment.Inference, err error) {
	at(i.w, "infer", i.in)
	for _, e := range r.Entries {
		out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: commitment.Arm{At: r.Now.Add(time.Hour)}})
	}
	return out, nil
}

type often struct{}

func (often) Next(t time.Time) time.Time { return t.Add(time.Hour) }

type hourly struct{ w *world }

func (h hourly) Next(t time.Time) time.Time { h.w.part(); return t.Add(time.Hour) }

// engine, distiller and proposals are what a model is derived from.
type engine struct {
	w  *world
	in string
}

func (e engine) Trigger() events.ConsolidationTrigger {
	at(e.w, "Trigger", e.in)
	return events.ConsolidationHostManaged
}

func (e engine) Conditions() []events.Condition {
	at(e.w, "Conditions", e.in)
	return []events.Condition{events.ConditionTime}
}

type distiller struct{ engine }

func (d distiller) TokenizerName() string { at(d.w, "TokenizerName", d.in); return "bytes" }
func (d distiller) MaxTokenBudget() int   { at(d.w, "MaxTokenBudget", d.in); return 100 }
func (d distiller) Retention() string     { at(d.w, "Retention", d.in); return "" }

type rendering struct{ engine }

func (r rendering) RendersIndex() bool { at(r.w, "RendersIndex", r.in); return true }

type proposals struct{ engine }

func (p proposals) Activation() string    { at(p.w, "Activation", p.in); return "direct-rbac" }
func (p proposals) FindsDuplicates() bool { at(p.w, "FindsDuplicates", p.in); return false }
func (p proposals) Kinds() []events.ArtifactKind {
	at(p.w, "Kinds", p.in)
	return []events.ArtifactKind{events.KindAutomation}
}
