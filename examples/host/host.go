package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/bridges/dates"
	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// host is an agent host: one store, one bank over it, and the engines that work on the bank.
type host struct {
	bank        *memory.Bank
	log         events.Reader // the runs' events, in the same database as their memory
	ranker      *recall.Ranker
	reconciler  *consolidate.Consolidator
	commitments *commitment.Engine
	distiller   *distill.Runner
	files       *workspace.Workspace
	proposals   *proposal.Store
	model       *capability.Model // what the host may claim
	agents      []inventory.Agent
	waiting     func(ctx context.Context, tenant string, limit int) (int, error) // events that are in no log yet
	logger      *slog.Logger
	seamTurn    chan struct{} // holds one while a seam is at work
}

// chars counts the units of a token budget as the protocol's "chars" (RFC 0113).
type chars struct{}

func (chars) Name() string          { return "chars" }
func (chars) Count(text string) int { return utf8.RuneCountInString(text) }

func newHost(store driver.Adapter, logger *slog.Logger) (h *host, err error) {
	h = &host{logger: logger, seamTurn: make(chan struct{}, 1)}
	if h.ranker, err = recall.New(recall.Config{}); err != nil {
		return nil, err
	}
	h.bank, err = memory.New(store, memory.Config{
		KeepEvents: 30 * 24 * time.Hour, WriteEvents: true, Ranker: h.ranker, TokenCounter: chars{}, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	h.log = h.bank.Log()
	tx, _ := driver.As[driver.Transactor](store)
	h.waiting = tx.Waiting
	if h.reconciler, err = consolidate.New(consolidate.Config{}); err != nil {
		return nil, err
	}
	if h.commitments, err = commitment.New(h.bank, commitment.Config{
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return newVault(nil) },
		Predicate: func(_, name string) bool { return name == "ticket.closed" },
		Schedule:  dates.Cron,
		Enqueuer:  queue{h},
	}); err != nil {
		return nil, err
	}
	if h.distiller, err = distill.New(distill.Config{MaxTokenBudget: 16_000, ArchiveRetention: "P90D"}); err != nil {
		return nil, err
	}
	if h.files, err = workspace.New(workspace.Config{IndexPath: distill.IndexPath, Index: h.memoryIndex}); err != nil {
		return nil, err
	}
	if h.proposals, err = proposal.New(proposal.Config{
		Kinds: map[events.ArtifactKind]proposal.Validator{events.KindAutomation: automation},
		Scope: scopeActivate, FindDuplicates: true,
	}); err != nil {
		return nil, err
	}
	return h, h.advertise(store)
}

// keep is the host's one loop: it purges, forgets expired words, and fires what is due.
func (h *host) keep(ctx context.Context) error { return h.bank.Keep(ctx, time.Second) }

// newVault returns the secrets of the tenants' vault and of a run (RFC 0229), for one run or pass, which closes
// the registry at its end. A real host asks its vault for those of the tenant.
func newVault(ofRun map[string]string) (*redact.SecretRegistry, error) {
	r := redact.New(redact.Config{})
	err := r.Register("conformance-test-secret", []byte(testSecret))
	for id, value := range ofRun {
		err = errors.Join(err, r.Register(id, []byte(value)))
	}
	return r, err
}

const testSecret = "wop-test-secret-4f1d7c90"

// pass opens a background job of a tenant, calls f with it and ends it. Its id is one that no other
// job has.
func (h *host) pass(ctx context.Context, tenant, name string, f func(*memory.Job) error) error {
	return h.passWith(ctx, tenant, name, nil, f)
}

// passWith is pass with the secrets of a run.
func (h *host) passWith(ctx context.Context, tenant, name string, ofRun map[string]string, f func(*memory.Job) error) error {
	vault, err := newVault(ofRun)
	if err != nil {
		return err
	}
	return h.bank.Pass(ctx, memory.JobConfig{ID: name + "-" + rand.Text(), Tenant: tenant, Redactor: vault}, f)
}

// job opens a background job that a handler ends.
func (h *host) job(tenant, name string) (*memory.Job, error) {
	vault, err := newVault(nil)
	if err != nil {
		return nil, err
	}
	return h.bank.Background(memory.JobConfig{ID: name + "-" + rand.Text(), Tenant: tenant, Redactor: vault})
}

// memoryIndex renders MEMORY-INDEX.json for the workspace.
func (h *host) memoryIndex(ctx context.Context, job *memory.Job) (workspace.File, error) {
	index, version, err := h.distiller.Index(ctx, job)
	return workspace.File{Content: index.Encode(), ContentType: "application/json", Version: version}, err
}

// automation checks an artifact of that kind.
func automation(artifact json.RawMessage) error {
	var a struct {
		Schedule string            `json:"schedule"`
		Steps    []json.RawMessage `json:"steps"`
	}
	if json.Unmarshal(artifact, &a) != nil || len(a.Steps) == 0 {
		return &proposal.ArtifactError{Field: "steps", Rule: "must be a list with a step"}
	}
	if _, err := dates.Cron(a.Schedule); err != nil {
		return &proposal.ArtifactError{Field: "schedule", Rule: "must be a cron expression"}
	}
	return nil
}
