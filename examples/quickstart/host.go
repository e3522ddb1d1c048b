package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// Two tenants, each with one agent. The host decides what its refs look like.
const (
	acme      = "acme"
	acmeRef   = "mem://acme/support"
	globex    = "globex"
	globexRef = "mem://globex/support"
)

// host is an agent host in miniature: it owns the store, the secrets, the clock and
// the log, and lets the bank hold them together.
type host struct {
	store *inmem.Store
	bank  *memory.Bank
	log   *events.Log
	sink  events.Sink // the log, and a file if there is one
	out   io.Writer
	now   time.Time // the notes' own time

	ranker *recall.Ranker // of bank

	wired capability.Inputs // the engines, as the host starts them
}

func newHost(sink events.Sink, log *events.Log, out io.Writer) (*host, error) {
	h := &host{store: inmem.New(), log: log, sink: sink, out: out}
	var err error
	if h.ranker, err = newRanker(); err != nil {
		return nil, err
	}
	h.bank, err = h.openBank(h.ranker)
	return h, err
}

// openBank is what every process of the host does with the store that they share.
func (h *host) openBank(r *recall.Ranker) (*memory.Bank, error) {
	return memory.New(h.store, memory.Config{
		Resolver:     tenantOf,
		Now:          func() time.Time { return h.now },
		Ranker:       r,
		TokenCounter: characters{},
		Sink:         h.sink,
		WriteEvents:  true,
	})
}

// tenantOf reads the tenant out of a ref. It knows the shape of its own refs, and no
// tenant by guessing: no tenant has any other ref.
func tenantOf(_ context.Context, ref string) (string, error) {
	rest, ok := strings.CutPrefix(ref, "mem://")
	if !ok {
		return "", memory.ErrNotFound
	}
	tenant, agent, ok := strings.Cut(rest, "/")
	if !ok || tenant == "" || agent == "" {
		return "", memory.ErrNotFound
	}
	return tenant, nil
}

// vault opens the registry of one run or pass, filled with what its tenant's vault
// holds. It closes with the run. Shapes also catches well-known secrets that are in no vault.
func vault(tenant string) (*redact.SecretRegistry, error) {
	r := redact.New(redact.Config{Shapes: true})
	if tenant != acme {
		return r, nil
	}
	for _, s := range secrets {
		if err := r.Register(s.id, []byte(s.value)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// start opens a run of a tenant, or resumes one.
func start(ctx context.Context, b *memory.Bank, tenant, id string, resume memory.Token) (*memory.Run, error) {
	r, err := vault(tenant)
	if err != nil {
		return nil, err
	}
	return b.Start(ctx, memory.RunConfig{ID: id, Tenant: tenant, Redactor: r, Resume: resume})
}

// background opens a pass of a tenant, under an id that no other pass has.
func (h *host) background(tenant, name string) (*memory.Job, error) {
	r, err := vault(tenant)
	if err != nil {
		return nil, err
	}
	return h.bank.Background(memory.JobConfig{ID: name + "-" + rand.Text(), Tenant: tenant, Redactor: r})
}

func (h *host) say(format string, args ...any) { fmt.Fprintf(h.out, format+"\n", args...) }

func (h *host) title(s string) { h.say("\n%s\n%s", s, strings.Repeat("-", len(s))) }

// short is a text on one line.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 90 {
		return string(r[:89]) + "…"
	}
	return s
}
