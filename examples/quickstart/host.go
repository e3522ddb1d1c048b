package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// Two companies use this host. Each is a tenant, which a real host has from its authentication.
// Their memory has the same ref, and is two memories all the same.
const (
	acme   = "quickstart-acme"
	globex = "quickstart-globex"
	ref    = "support"
)

// process is what a process of the host has open.
type process struct {
	bank        *memory.Bank
	commitments *commitment.Engine
	close       func() error
}

// boot opens the store and all that works on it, as each process of the host does when it starts.
// A host that stays has one thing more: go bank.Keep(ctx, time.Minute), the loop that does what is
// due. The story calls bank.Maintain, one round of that loop, when it has set its clock.
func (s *story) boot(ctx context.Context) (*process, error) {
	store, closeStore, err := s.location.open(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{close: closeStore}
	ranker, err := recall.New(recall.Config{Embedder: toy{}, Redactor: secretsOf})
	if err == nil {
		p.bank, err = memory.New(store, memory.Config{Now: s.clock, Ranker: ranker, WriteEvents: true, KeepEvents: 30 * 24 * time.Hour})
	}
	if err == nil {
		p.commitments, err = commitment.New(p.bank, commitment.Config{Enqueuer: &s.queue, Redactor: secretsOf})
	}
	if err != nil {
		return nil, cmp.Or(err, closeStore())
	}
	return p, nil
}

// secretsOf opens the registry of one run or pass, with the secrets that its tenant's vault holds.
// It is closed with the run. Shapes also finds keys of well-known forms that are in no vault.
func secretsOf(_ context.Context, tenant string) (memory.Redactor, error) {
	secrets := redact.New(redact.Config{Shapes: true})
	if tenant != acme {
		return secrets, nil
	}
	return secrets, secrets.Register("brightwater", []byte(apiKey))
}

// during begins a run of acme, does its work and ends it.
func (p *process) during(ctx context.Context, c memory.RunConfig, work func(*memory.Run) error) error {
	run, err := p.start(ctx, c)
	if err != nil {
		return err
	}
	if err := work(run); err != nil {
		return cmp.Or(err, run.Abort(ctx))
	}
	return run.End(ctx)
}

// start begins a run of acme, or resumes or replays one. The caller ends it.
func (p *process) start(ctx context.Context, c memory.RunConfig) (run *memory.Run, err error) {
	c.Tenant = acme
	if c.Redactor, err = secretsOf(ctx, acme); err != nil {
		return nil, err
	}
	return p.bank.Start(ctx, c)
}

// pass does background work for a tenant.
func (p *process) pass(ctx context.Context, tenant string, work func(*memory.Job) error) error {
	secrets, err := secretsOf(ctx, tenant)
	if err != nil {
		return err
	}
	return p.bank.Pass(ctx, memory.JobConfig{ID: fresh("pass"), Tenant: tenant, Redactor: secrets}, work)
}

// fresh is an id that no other run has.
func fresh(name string) string { return name + "-" + rand.Text() }
