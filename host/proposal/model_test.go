package proposal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

const secret = "sk-very-secret-value"

// failing is a store whose next mutation ends as a crash would: lost before it is made, or made
// without an answer.
type failing struct {
	*inmem.Store
	calls atomic.Int64
	crash func(call int64) (before, after bool)
}

var errCrash = errors.New("the process was killed")

func (s *failing) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	before, after := false, false
	if s.crash != nil {
		before, after = s.crash(s.calls.Add(1))
	}
	if before {
		return driver.Applied{}, errCrash
	}
	made, err := s.Store.Apply(ctx, tenant, m)
	if after && err == nil {
		return driver.Applied{}, errCrash
	}
	return made, err
}

type host struct {
	*memory.Bank
	store *failing
	log   events.Log
	t     testing.TB
}

func newHost(t testing.TB) *host {
	h := &host{t: t, store: &failing{Store: inmem.New()}}
	clock := time.UnixMilli(1_790_000_000_000).UTC()
	var ticks atomic.Int64
	bank, err := memory.New(h.store, memory.Config{Sink: &h.log, Now: func() time.Time {
		return clock.Add(time.Duration(ticks.Add(1)) * time.Millisecond)
	}})
	require.NoError(t, err)
	h.Bank = bank
	return h
}

func (h *host) job(tenant string) *memory.Job {
	r := redact.New(redact.Config{})
	require.NoError(h.t, r.Register("key", []byte(secret)))
	job, err := h.Background(memory.JobConfig{ID: "learning", Tenant: tenant, Redactor: r})
	require.NoError(h.t, err)
	return job
}

// steps is a validator: an artifact has a list of steps.
func steps(raw json.RawMessage) error {
	var a struct {
		Steps []string `json:"steps"`
	}
	if json.Unmarshal(raw, &a) != nil || len(a.Steps) == 0 {
		return &proposal.ArtifactError{Field: "steps", Rule: "must be a list of texts"}
	}
	return nil
}

var kinds = map[events.ArtifactKind]proposal.Validator{events.KindAutomation: steps, events.KindPromptTemplate: steps}

func artifact(n int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"steps":["do %d","<then> & stop"],"n":1.50}`, n))
}

func draft(n int) proposal.Draft {
	return proposal.Draft{Kind: events.KindAutomation, Artifact: artifact(n), SourceRunIDs: []string{"run-1"}}
}

var reviewer = proposal.Caller{Principal: "ann", Scopes: []string{"proposals:activate"}}

// granted are the digests for which an approval is there.
type granted struct {
	mu sync.Mutex
	of map[string]bool
}

func (g *granted) gate(_ context.Context, tenant, id, digest string) (string, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return "approval-of-" + id, g.of[tenant+id+digest], nil
}

func (g *granted) grant(tenant string, p proposal.Proposal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[tenant+p.ID+p.Digest()] = true
}

// TestProposals_LikeTheirModel compares random moves of two tenants with the table of moves: what
// is refused changes nothing, what is applied was granted for these bytes, and nothing else is
// ever runnable.
func TestProposals_LikeTheirModel(t *testing.T) {
	moves := map[string]map[proposal.State]proposal.State{
		"revise":  {proposal.StateDraft: proposal.StateRevised, proposal.StateRevised: proposal.StateRevised},
		"apply":   {proposal.StateDraft: proposal.StateApplied, proposal.StateRevised: proposal.StateApplied},
		"reject":  {proposal.StateDraft: proposal.StateRejected, proposal.StateRevised: proposal.StateRejected},
		"archive": {proposal.StateDraft: proposal.StateArchived, proposal.StateRevised: proposal.StateArchived, proposal.StateApplied: proposal.StateArchived},
	}
	names := []string{"revise", "apply", "reject", "archive"}
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 600
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 96))
		h := newHost(t)
		g := &granted{of: map[string]bool{}}
		s, err := proposal.New(proposal.Config{Kinds: kinds, Gate: g.gate, FindDuplicates: true})
		require.NoError(t, err)
		known := map[string]map[string]proposal.Proposal{"acme": {}, "globex": {}}
		var order []string
		created, activated := 0, 0
		for step := range 80 {
			tenant := []string{"acme", "globex"}[rng.IntN(2)]
			job, mine := h.job(tenant), known[tenant]
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			if len(order) == 0 || rng.IntN(5) == 0 {
				n := rng.IntN(4)
				p, err := s.Create(t.Context(), job, draft(n))
				require.NoError(t, err, at)
				require.Equal(t, proposal.StateDraft, p.State)
				twin := p.DuplicateOf
				for _, other := range mine {
					open := other.State != proposal.StateRejected && other.State != proposal.StateArchived
					if open && string(other.Artifact) == string(p.Artifact) {
						require.NotEmpty(t, twin, at)
					}
				}
				if twin != "" {
					require.Equal(t, string(p.Artifact), string(mine[twin].Artifact), at)
				}
				mine[p.ID] = p
				order = append(order, p.ID)
				created++
				continue
			}
			id := order[rng.IntN(len(order))]
			before, own := mine[id]
			if own && rng.IntN(3) == 0 {
				g.grant(tenant, before)
			}
			name := names[rng.IntN(len(names))]
			var p proposal.Proposal
			switch name {
			case "revise":
				p, err = s.Revise(t.Context(), job, id, proposal.Revision{Artifact: artifact(10 + rng.IntN(3))})
			case "apply":
				p, err = s.Apply(t.Context(), job, id, reviewer, "")
			case "reject":
				p, err = s.Reject(t.Context(), job, id, reviewer, "no")
			case "archive":
				p, err = s.Archive(t.Context(), job, id, reviewer)
			}
			next, legal := moves[name][before.State]
			illegal := (*wire.Error)(nil)
			switch {
			case !own:
				require.ErrorIs(t, err, memory.ErrNotFound, at)
			case !legal:
				require.ErrorAs(t, err, &illegal, at)
				require.Equal(t, before.State, proposal.State(illegal.Details["state"].(string)))
			case name == "apply" && !g.of[tenant+id+before.Digest()]:
				require.ErrorIs(t, err, memory.ErrForbidden, at)
			default:
				require.NoError(t, err, at)
				require.Equal(t, next, p.State, at)
				mine[id] = p
				if name == "apply" {
					activated++
				}
			}
			for tenant, all := range known {
				job := h.job(tenant)
				n := 0
				for p, err := range s.List(t.Context(), job, "", "") {
					require.NoError(t, err)
					require.Equal(t, all[p.ID], p, at)
					n++
				}
				require.Len(t, all, n, at)
				for _, id := range order {
					p, own := all[id]
					ref := id + "@" + p.Digest()
					raw, err := s.Artifact(t.Context(), job, ref)
					if own && p.State == proposal.StateApplied {
						require.NoError(t, err, at)
						require.Equal(t, string(p.Artifact), string(raw))
						require.True(t, g.of[tenant+id+p.Digest()])
						continue
					}
					require.ErrorIs(t, err, memory.ErrNotFound, at)
				}
			}
		}
		require.NoError(t, errors.Join(h.job("acme").End(t.Context()), h.job("globex").End(t.Context())))
		counts := map[events.Type]int{}
		for _, ev := range h.log.All() {
			counts[ev.Payload.EventType()]++
			raw, err := json.Marshal(ev)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "then", "an event has no text of an artifact")
		}
		require.Equal(t, map[events.Type]int{events.TypeProposalCreated: created, events.TypeProposalActivated: activated},
			map[events.Type]int{events.TypeProposalCreated: counts[events.TypeProposalCreated], events.TypeProposalActivated: counts[events.TypeProposalActivated]})
	}
}

// What is applied is what was approved, however revisions, rejections and other applies race.
func TestProposalNoResynthesis_UnderRacingRevisions(t *testing.T) {
	for round := range 60 {
		h := newHost(t)
		g := &granted{of: map[string]bool{}}
		s, err := proposal.New(proposal.Config{Kinds: kinds, Gate: g.gate})
		require.NoError(t, err)
		p, err := s.Create(t.Context(), h.job("acme"), draft(0))
		require.NoError(t, err)
		g.grant("acme", p)
		var applied atomic.Int64
		var wg sync.WaitGroup
		for n := range 6 {
			wg.Go(func() {
				job := h.job("acme")
				var err error
				switch n % 3 {
				case 0:
					_, err = s.Revise(t.Context(), job, p.ID, proposal.Revision{Artifact: artifact(n + 1)})
				case 1:
					if _, err = s.Apply(t.Context(), job, p.ID, reviewer, ""); err == nil {
						applied.Add(1)
					}
				case 2:
					if round%2 == 0 {
						_, err = s.Reject(t.Context(), job, p.ID, reviewer, "")
					}
				}
				illegal := (*wire.Error)(nil)
				if err != nil && !errors.As(err, &illegal) && !errors.Is(err, memory.ErrForbidden) {
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, h.job("acme").End(t.Context()))
		now, err := s.Get(t.Context(), h.job("acme"), p.ID)
		require.NoError(t, err)
		require.Equal(t, now.State == proposal.StateApplied, applied.Load() == 1)
		require.LessOrEqual(t, applied.Load(), int64(1), "applied twice")
		if now.State == proposal.StateApplied {
			require.Equal(t, string(p.Artifact), string(now.Artifact), "only these bytes were approved")
		}
	}
}

// A crash before or after any mutation leaves the whole move or none of it, and the move can be
// tried again.
func TestProposals_CrashAtEveryStoreCall(t *testing.T) {
	for call := int64(1); call <= 4; call++ {
		for _, after := range []bool{false, true} {
			h := newHost(t)
			h.store.crash = func(n int64) (bool, bool) { return n == call && !after, n == call && after }
			s, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:activate"})
			require.NoError(t, err)
			tries := 0
			again := func(f func() error) {
				for {
					tries++
					err := f()
					illegal := (*wire.Error)(nil)
					if err == nil || errors.As(err, &illegal) {
						return
					}
					require.NotContains(t, err.Error(), "steps")
				}
			}
			again(func() error { _, err := s.Create(t.Context(), h.job("acme"), draft(1)); return err })
			var all []proposal.Proposal
			for p, err := range s.List(t.Context(), h.job("acme"), "", "") {
				require.NoError(t, err)
				all = append(all, p)
			}
			require.NotEmpty(t, all)
			id := all[0].ID
			again(func() error {
				_, err := s.Revise(t.Context(), h.job("acme"), id, proposal.Revision{Artifact: artifact(2)})
				return err
			})
			again(func() error { _, err := s.Apply(t.Context(), h.job("acme"), id, reviewer, ""); return err })
			h.store.crash = nil
			_, err = h.Maintain(t.Context())
			require.NoError(t, err)
			p, err := s.Get(t.Context(), h.job("acme"), id)
			require.NoError(t, err)
			require.Equal(t, proposal.StateApplied, p.State)
			require.Equal(t, string(artifact(2)), string(p.Artifact))
			n := 0
			for _, ev := range h.log.All() {
				if ev.Payload.EventType() == events.TypeProposalActivated {
					n++
				}
			}
			require.Equal(t, 1, n, "call %d, after %t", call, after)
		}
	}
}

func TestGateAndOverride(t *testing.T) {
	h := newHost(t)
	g := &granted{of: map[string]bool{}}
	s, err := proposal.New(proposal.Config{Kinds: kinds, Gate: g.gate, MayOverride: func(_ context.Context, _ string, by proposal.Caller) (bool, error) {
		if by.Principal == "broken" {
			return false, errors.New(secret)
		}
		return by.Principal == "root", nil
	}})
	require.NoError(t, err)
	job := h.job("acme")
	p, err := s.Create(t.Context(), job, draft(1))
	require.NoError(t, err)
	apply := func(who, reason string) error {
		_, err := s.Apply(t.Context(), job, p.ID, proposal.Caller{Principal: who}, reason)
		return err
	}
	require.ErrorIs(t, apply("root", ""), memory.ErrForbidden)
	require.ErrorIs(t, apply("ann", "urgent"), memory.ErrForbidden)
	err = apply("broken", "urgent")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), secret)
	assert.Equal(t, memory.CodeInternal, memory.CodeOf(err))
	now, err := s.Get(t.Context(), job, p.ID)
	require.NoError(t, err)
	require.Equal(t, p, now, "a refusal changes nothing")
	require.NoError(t, apply("root", "urgent, says "+secret))
	var notes []string
	for raw, err := range s.Audit(t.Context(), job, p.ID) {
		require.NoError(t, err)
		notes = append(notes, string(raw))
	}
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], `"decision":"overridden"`)
	assert.Contains(t, notes[0], `"principal":"root"`)
	assert.Contains(t, notes[0], `"reason":"urgent, says [REDACTED:key]"`)
	for range s.Audit(t.Context(), h.job("globex"), p.ID) {
		t.Fatal("another tenant's audit")
	}
	require.NoError(t, job.End(t.Context()))
	for _, ev := range h.log.All() {
		raw, err := json.Marshal(ev)
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "urgent")
	}
}

// SR-1, R5: nothing of a proposal is stored but as the redactor leaves it, at every write.
func TestM3_ProposalsAreRedactedAtEveryWrite(t *testing.T) {
	h := newHost(t)
	s, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:activate"})
	require.NoError(t, err)
	job := h.job("acme")
	d := draft(1)
	d.Title, d.Rationale, d.SourceRunIDs = "T "+secret, "R [BYOK:x]"+secret, []string{"run-" + secret}
	d.SynthesizerModel, d.Workspace, d.Principal = secret, secret, secret
	d.Artifact = json.RawMessage(`{"steps":["use ` + secret + `"], "` + secret + `":1,"db":{"password":"hunter2hunter2"}}`)
	p, err := s.Create(t.Context(), job, d)
	require.NoError(t, err)
	leaks := "R leaks " + secret
	_, err = s.Revise(t.Context(), job, p.ID, proposal.Revision{Rationale: &leaks, Artifact: json.RawMessage(`{"steps":["\u0073k-very-secret-value"]}`)})
	require.NoError(t, err)
	p, err = s.Apply(t.Context(), job, p.ID, reviewer, "")
	require.NoError(t, err)
	raw, err := s.Artifact(t.Context(), job, p.Activation.InstalledArtifactRef)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "very-secret")
	require.NoError(t, steps(raw))
	for doc, err := range h.store.Documents(t.Context(), driver.DocumentQuery{Tenant: "acme", EveryRef: true}) {
		require.NoError(t, err)
		assert.NotContains(t, string(doc.Value), "very-secret")
	}
	require.NoError(t, job.End(t.Context()))
	for _, ev := range h.log.All() {
		raw, err := json.Marshal(ev)
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "very-secret")
	}
}

func TestM10_ForgettingASubjectTakesItsProposals(t *testing.T) {
	h := newHost(t)
	s, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:activate"})
	require.NoError(t, err)
	job := h.job("acme")
	d := draft(1)
	d.Subjects = []string{"person:ann"}
	p, err := s.Create(t.Context(), job, d)
	require.NoError(t, err)
	p, err = s.Apply(t.Context(), job, p.ID, reviewer, "")
	require.NoError(t, err)
	_, err = h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	_, err = s.Artifact(t.Context(), job, p.Activation.InstalledArtifactRef)
	require.ErrorIs(t, err, memory.ErrNotFound)
	for range s.Audit(t.Context(), job, p.ID) {
		t.Fatal("a record of it is left")
	}
}

func TestProposals_Refusals(t *testing.T) {
	h := newHost(t)
	s, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:activate", MaxProposals: 2})
	require.NoError(t, err)
	job := h.job("acme")
	malformed := (*proposal.ArtifactError)(nil)
	for _, raw := range []string{
		"", "null", "[]", "1", "{", `{"steps":[]}`, `{"steps":["a"],"steps":["b"]}`, `{"steps":["a"]} {}`, "{\"steps\":[\"\xff\"]}",
		`{"steps":["a"],"n":123456789012345678901}`, `{"steps":["` + strings.Repeat("x", proposal.MaxArtifactBytes) + `"]}`,
	} {
		d := draft(1)
		d.Artifact = json.RawMessage(raw)
		_, err := s.Create(t.Context(), job, d)
		require.ErrorAs(t, err, &malformed, "%.60q", raw)
	}
	d := draft(1)
	d.Kind = events.KindAgentPack
	_, err = s.Create(t.Context(), job, d)
	require.ErrorAs(t, err, &malformed)
	for name, change := range map[string]func(*proposal.Draft){
		"no run":         func(d *proposal.Draft) { d.SourceRunIDs = nil },
		"an empty run":   func(d *proposal.Draft) { d.SourceRunIDs = []string{""} },
		"a long run":     func(d *proposal.Draft) { d.SourceRunIDs = []string{strings.Repeat("x", 129)} },
		"a long title":   func(d *proposal.Draft) { d.Title = strings.Repeat("x", proposal.MaxTitleBytes+1) },
		"a zero":         func(d *proposal.Draft) { d.Rationale = "a\x00" },
		"a long model":   func(d *proposal.Draft) { d.SynthesizerModel = strings.Repeat("x", 2000) },
		"a bad subject":  func(d *proposal.Draft) { d.Subjects = []string{"a\n"} },
		"a long subject": func(d *proposal.Draft) { d.Subjects = []string{strings.Repeat("x", 2000)} },
	} {
		d := draft(1)
		change(&d)
		_, err := s.Create(t.Context(), job, d)
		assert.ErrorIs(t, err, memory.ErrValidation, name)
	}
	for range s.List(t.Context(), job, "", "") {
		t.Fatal("something was written")
	}
	first, err := s.Create(t.Context(), job, draft(1))
	require.NoError(t, err)
	_, err = s.Create(t.Context(), job, draft(1))
	require.NoError(t, err)
	_, err = s.Create(t.Context(), job, draft(1))
	assert.ErrorIs(t, err, memory.ErrStorageLimit)
	_, err = s.Apply(t.Context(), job, first.ID, proposal.Caller{Principal: "x", Scopes: []string{"proposals:read"}}, "")
	assert.ErrorIs(t, err, memory.ErrForbidden)
	_, err = s.Apply(t.Context(), job, first.ID, reviewer, "urgent")
	assert.ErrorIs(t, err, memory.ErrForbidden, "there is no gate to override")
	for _, cfg := range []proposal.Config{
		{}, {Kinds: kinds}, {Kinds: kinds, Scope: "s", Gate: (&granted{}).gate}, {Scope: "s"},
		{Kinds: map[events.ArtifactKind]proposal.Validator{"other": steps}, Scope: "s"},
		{Kinds: map[events.ArtifactKind]proposal.Validator{events.KindAutomation: nil}, Scope: "s"},
		{Kinds: kinds, Scope: "s", MaxProposals: -1},
		{Kinds: kinds, Scope: "s", MayOverride: func(context.Context, string, proposal.Caller) (bool, error) { return true, nil }},
	} {
		_, err := proposal.New(cfg)
		assert.ErrorIs(t, err, memory.ErrValidation)
	}
}
