package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
	"github.com/openwop/agentmemory/memory"
)

// Config says whose memory a server serves.
type Config struct {
	// Bank has the memory. For memory_recall it needs a Config.Ranker, and for memory_forget a
	// store that is a Transactor.
	Bank *memory.Bank
	// Tenant and Ref are what every call works on.
	Tenant, Ref string
	// Secrets returns a redactor with the tenant's secrets. It belongs to the server, which closes
	// it if it is an io.Closer.
	Secrets func() (memory.Redactor, error)
	// View has the server read as one run does. It needs a store whose runs have views.
	View bool
	// AllowForget serves memory_forget, which reaches every ref of the tenant, not only Ref.
	AllowForget bool
	// Files serves the one tool of package memorytool instead of all others.
	Files bool
}

// Server is the memory of one tenant and ref as a server of the Model Context Protocol. Use
// [New], and [Server.Close] at its end.
type Server struct {
	cfg      Config
	mem      access
	redactor memory.Redactor
	mcp      *sdk.Server
	close    func(context.Context) error
	closed   atomic.Bool
}

// New returns a server.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Bank == nil || cfg.Secrets == nil || cfg.Ref == "" {
		return nil, errors.New("mcp: the bank, the secrets or the ref is missing")
	}
	redactor, err := cfg.Secrets()
	if err != nil {
		return nil, fmt.Errorf("mcp: the secrets: %w", err)
	}
	s := &Server{cfg: cfg, redactor: redactor}
	s.mcp = sdk.NewServer(&sdk.Implementation{
		Name: "agentmemory", Title: "OpenWOP agent memory", Version: "0.1.0",
	}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Resources: &sdk.ResourceCapabilities{}}, // no client is told of changes
		Instructions: instructions,
	})
	id := "mcp-" + rand.Text()
	var files memorytool.Memory
	if cfg.View {
		run, err := cfg.Bank.Start(ctx, memory.RunConfig{ID: id, Tenant: cfg.Tenant, Redactor: redactor})
		if err != nil {
			return nil, err
		}
		s.mem, files = newView(run, cfg.Ref), memorytool.InRun(run)
		s.close = func(ctx context.Context) error { return run.End(ctx) }
	} else {
		job, err := cfg.Bank.Background(memory.JobConfig{ID: id, Tenant: cfg.Tenant, Redactor: redactor})
		if err != nil {
			return nil, err
		}
		s.mem, s.close, files = &live{cfg.Bank, job, cfg.Ref}, job.End, memorytool.Live(cfg.Bank, job)
	}
	if cfg.Files {
		s.addFiles(memorytool.New(memorytool.Config{Memory: files, Ref: cfg.Ref}))
	} else {
		s.addTools()
	}
	s.addResources()
	s.mcp.AddReceivingMiddleware(s.whileOpen, s.listing) // in this order
	return s, nil
}

// whileOpen refuses calls that reach memory once the server is closed.
func (s *Server) whileOpen(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if s.closed.Load() && (method == "tools/call" || method == "resources/read" || method == "resources/list") {
			return nil, errors.New("the memory is closed; nothing was changed")
		}
		return next(ctx, method, r)
	}
}

const instructions = "Long-term memory. Look into it before you answer what may be known already, and keep what is worth knowing later: " +
	"one fact an entry, in a whole sentence. Asked what is known at large, list it. Secrets are taken out before anything is stored."

// MCP is the server that a transport runs.
func (s *Server) MCP() *sdk.Server { return s.mcp }

// Close ends the run or the job of the server. No call that comes after it reaches memory.
func (s *Server) Close(ctx context.Context) error {
	s.closed.Store(true)
	return s.close(ctx)
}
