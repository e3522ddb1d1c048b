package parts_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/inspector"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
)

// filing is a request to the handler of a workspace.
func filing(cfg func(w *world, h *workspace.Handler)) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		w.open(memory.Config{})
		files, err := workspace.New(workspace.Config{})
		require.NoError(w, err)
		h := &workspace.Handler{Workspace: files, Job: func(*http.Request) (*memory.Job, error) { return w.job("p"), nil }, Wire: w.encoder()}
		cfg(w, h)
		return w.served(h, http.MethodPut, "/v1/host/workspace/files/a.md", `{"content":"x"}`)
	}
}

// proposing is a store of proposals with a draft in it.
func proposing(w *world, cfg proposal.Config) (*proposal.Store, proposal.Proposal) {
	w.open(memory.Config{})
	if cfg.Kinds == nil {
		cfg.Kinds = map[events.ArtifactKind]proposal.Validator{events.KindAutomation: func(json.RawMessage) error { return nil }}
	}
	store, err := proposal.New(cfg)
	require.NoError(w, err)
	p, err := store.Create(context.Background(), w.job("p"), draft)
	require.NoError(w, err)
	return store, p
}

var draft = proposal.Draft{Kind: events.KindAutomation, Artifact: json.RawMessage(`{"a":1}`), SourceRunIDs: []string{"r"}}

// inspecting is a request to the handler of the inspector.
func inspecting(target string, cfg func(w *world, h *inspector.Handler)) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		bank := w.open(memory.Config{})
		run, err := bank.Start(context.Background(), memory.RunConfig{ID: "r", Tenant: tenant, Redactor: redactor{w: w}})
		require.NoError(w, err)
		token, err := run.Token(ctx)
		require.NoError(w, err)
		log := new(events.Log)
		require.NoError(w, log.Emit(context.Background(), events.Record{
			ID: "e", Tenant: tenant, RunID: "r", Time: bank.Now(), Payload: events.MemoryWritten{MemoryRef: ref, MemoryID: "mem_1"},
		}))
		h := &inspector.Handler{
			Bank: bank, Tenant: func(*http.Request) (string, error) { return tenant, nil }, Log: log, Wire: w.encoder(),
			Token: func(context.Context, string, string) (memory.Token, error) { return token, nil },
		}
		cfg(w, h)
		return w.served(h, http.MethodGet, "/inspector/"+target, "")
	}
}

// listing is a request to the handler of an inventory.
func listing(cfg func(w *world, h *inventory.Handler)) func(w *world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		model, err := capability.Parse([]byte(`{"agents":{"manifestRuntime":{"supported":true}}}`))
		require.NoError(w, err)
		h := &inventory.Handler{Host: model, Wire: w.encoder()}
		cfg(w, h)
		return w.served(h, http.MethodGet, "/v1/agents", "")
	}
}

var hostParts = []part{
	{
		of: []string{"workspace.Config.Index"}, says: "the index", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			w.open(memory.Config{})
			index := func(context.Context, *memory.Job) (workspace.File, error) {
				w.part()
				return workspace.File{Content: "x", Version: 1}, nil
			}
			files, err := workspace.New(workspace.Config{Index: index, IndexPath: "MEMORY-INDEX.json"})
			require.NoError(w, err)
			return func(ctx context.Context) error {
				_, err := files.Read(ctx, w.job("p"), "MEMORY-INDEX.json", 0)
				return err
			}
		},
	},
	{
		of: []string{"workspace.Handler.Job"}, says: "the source of jobs", limit: memory.PluginTimeout,
		use: filing(func(w *world, h *workspace.Handler) {
			h.Job = func(*http.Request) (*memory.Job, error) { w.part(); return w.job("p"), nil }
		}),
	},
	{
		of: []string{"workspace.Handler.Subjects"}, says: "the source of subjects", limit: memory.PluginTimeout,
		use: filing(func(w *world, h *workspace.Handler) {
			h.Subjects = func(*http.Request, string) []string { w.part(); return nil }
		}),
	},
	{
		of: []string{"proposal.Config.Kinds"}, says: "the validator",
		use: func(w *world) func(context.Context) error {
			store, _ := proposing(w, proposal.Config{Scope: "s", Kinds: map[events.ArtifactKind]proposal.Validator{
				events.KindAutomation: func(json.RawMessage) error { w.part(); return nil },
			}})
			return func(ctx context.Context) error {
				_, err := store.Create(ctx, w.job("p"), draft)
				return err
			}
		},
	},
	{
		of: []string{"proposal.Config.Gate"}, says: "the gate", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			store, p := proposing(w, proposal.Config{Gate: func(context.Context, string, string, string) (string, bool, error) { w.part(); return "a", true, nil }})
			return func(ctx context.Context) error {
				_, err := store.Apply(ctx, w.job("p"), p.ID, proposal.Caller{Principal: "lena"}, "")
				return err
			}
		},
	},
	{
		of: []string{"proposal.Config.MayOverride"}, says: "the override", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			store, p := proposing(w, proposal.Config{
				Gate:        func(context.Context, string, string, string) (string, bool, error) { return "", false, nil },
				MayOverride: func(context.Context, string, proposal.Caller) (bool, error) { w.part(); return true, nil },
			})
			return func(ctx context.Context) error {
				_, err := store.Apply(ctx, w.job("p"), p.ID, proposal.Caller{Principal: "lena"}, "a reason")
				return err
			}
		},
	},
	{
		of: []string{"proposal.Handler.Job"}, says: "the source of jobs", limit: memory.PluginTimeout,
		use: func(w *world) func(context.Context) error {
			store, _ := proposing(w, proposal.Config{Scope: "s"})
			job := func(*http.Request) (*memory.Job, proposal.Caller, error) {
				w.part()
				return w.job("p"), proposal.Caller{}, nil
			}
			return w.served(&proposal.Handler{Store: store, Job: job, Wire: w.encoder()}, http.MethodGet, "/v1/host/sample/proposals", "")
		},
	},
	{
		of: []string{"inspector.Handler.Tenant"}, says: "the source of tenants", limit: memory.PluginTimeout,
		use: inspecting("host", func(w *world, h *inspector.Handler) {
			h.Tenant = func(*http.Request) (string, error) { w.part(); return tenant, nil }
		}),
	},
	{
		of: []string{"inspector.Handler.Agents"}, says: "the source of agents", limit: memory.PluginTimeout,
		use: inspecting("agents", func(w *world, h *inspector.Handler) {
			h.Agents = func(context.Context, string) ([]inspector.Agent, error) { w.part(); return nil, nil }
		}),
	},
	{
		of: []string{"inspector.Handler.Commitments"}, says: "the source of commitments", limit: memory.PluginTimeout,
		use: inspecting("commitments", commitments),
	},
	{
		of: []string{"the commitments that an inspector counts"}, says: "the source of commitments", limit: memory.PluginTimeout,
		use: inspecting("usage", commitments),
	},
	{
		of: []string{"inspector.Handler.Runs"}, says: "the source of runs", limit: memory.PluginTimeout,
		use: inspecting("runs", func(w *world, h *inspector.Handler) {
			h.Runs = func(context.Context, string) ([]inspector.Run, error) { w.part(); return nil, nil }
		}),
	},
	{
		of: []string{"inspector.Handler.Token"}, says: "the source of tokens", limit: memory.PluginTimeout,
		use: inspecting("view?ref=support&run=r", func(w *world, h *inspector.Handler) {
			token := h.Token
			h.Token = func(ctx context.Context, tenant, run string) (memory.Token, error) {
				w.part()
				return token(ctx, tenant, run)
			}
		}),
	},
	{
		of: []string{"inspector.Handler.Log.Read"}, says: "the log", limit: memory.PluginTimeout,
		use: inspecting("events?run=r", func(w *world, h *inspector.Handler) { h.Log = log{h.Log, w} }),
	},
	{
		of: []string{"inspector.Handler.Waiting"}, says: "the count of what waits", limit: memory.PluginTimeout,
		use: inspecting("usage", func(w *world, h *inspector.Handler) {
			h.Waiting = func(context.Context, string, int) (int, error) { w.part(); return 0, nil }
		}),
	},
	{
		of: []string{"inventory.Handler.Agents"}, says: "the source of agents", limit: memory.PluginTimeout,
		use: listing(func(w *world, h *inventory.Handler) {
			h.Agents = func(context.Context) ([]inventory.Agent, error) { w.part(); return nil, nil }
		}),
	},
	{
		of: []string{"inventory.Handler.Tenant", "wire.Caller"}, says: "the source of tenants", limit: memory.PluginTimeout,
		use: listing(func(w *world, h *inventory.Handler) {
			h.Tenant = func(*http.Request) (string, error) { w.part(); return tenant, nil }
		}),
	},
	{
		of: []string{"wire.Encoder.Events"}, says: "the log", limit: memory.PluginTimeout,
		use: reading(func(r *http.Request, l events.Reader) error {
			return wire.Encoder{Version: wire.V1}.Events(httptest.NewRecorder(), r, l, tenant, "r", "running")
		}),
	},
	{
		of: []string{"wire.Encoder.Poll"}, says: "the log", limit: memory.PluginTimeout,
		use: reading(func(r *http.Request, l events.Reader) error {
			return wire.Encoder{Version: wire.V1}.Poll(httptest.NewRecorder(), r, l, tenant, "r", "completed")
		}),
	},
	{
		of: []string{"wire.Encoder.Log"}, swallowed: true,
		use: func(w *world) func(context.Context) error {
			return func(context.Context) error {
				encoder := wire.Encoder{Version: wire.V1, Log: slog.New(logger{w})}
				encoder.Refuse(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), memory.ErrInternal)
				return nil
			}
		},
	},
}

// reading answers a request for what a log has.
func reading(answer func(*http.Request, events.Reader) error) func(*world) func(context.Context) error {
	return func(w *world) func(context.Context) error {
		w.open(memory.Config{})
		return func(ctx context.Context) error {
			w.log.err = answer(httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx), log{ended{}, w})
			if ctx.Err() != nil {
				return ctx.Err() // the client has gone, and reads no answer
			}
			return w.log.err
		}
	}
}

func commitments(w *world, h *inspector.Handler) {
	h.Commitments = func(context.Context, string) iter.Seq2[commitment.Commitment, error] {
		return func(func(commitment.Commitment, error) bool) { w.part() }
	}
}

// log is a log whose reading is the part.
type log struct {
	events.Reader
	w *world
}

func (l log) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	l.w.part()
	return l.Reader.Read(ctx, tenant, run, from, limit)
}

// ended is a log whose run has completed.
type ended struct{ events.Reader }

func (ended) Read(context.Context, string, string, int64, int) ([]events.RunEvent, error) {
	return []events.RunEvent{{Record: events.Record{ID: "e", RunID: "r", Tenant: tenant, Time: time.UnixMilli(0), Payload: events.HostPayload{Type: "run.completed", JSON: json.RawMessage(`{}`)}}}}, nil
}
