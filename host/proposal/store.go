package proposal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Limits of a proposal.
const (
	MaxArtifactBytes  = 1 << 20
	MaxTitleBytes     = 1 << 10
	MaxRationaleBytes = 64 << 10
	MaxSourceRuns     = 100
	MaxRunIDBytes     = 128
)

// Validator checks an artifact of a kind before it is stored: the compact JSON object as it
// will be, redacted. It returns an [*ArtifactError] that says where it is wrong; any other error
// is a failure of the host. It must not depend on anything that changes: it is asked again before
// the artifact is installed. It is called in place, so it must return promptly.
type Validator func(artifact json.RawMessage) error

// Gate tells whether the approval that the host has open for a proposal is granted (RFC 0051).
// The digest names the artifact that would be installed: an approval of other bytes is none. It
// may be asked more than once for one Apply. A call of it has memory.PluginTimeout.
type Gate func(ctx context.Context, tenant, proposalID, digest string) (approvalID string, granted bool, err error)

// Config is how a host activates. It has either a Gate or a Scope.
type Config struct {
	// Kinds are the kinds of artifacts that the host takes, with what checks them.
	Kinds map[events.ArtifactKind]Validator
	// Gate makes the mode approval-gate.
	Gate Gate
	// MayOverride tells whether a caller may apply without the gate's approval (RFC 0009, RFC
	// 0010). With nil no caller may. A call of it has memory.PluginTimeout.
	MayOverride func(ctx context.Context, tenant string, by Caller) (bool, error)
	// Scope makes the mode direct-rbac: what a caller must hold (RFC 0049).
	Scope string
	// FindDuplicates has a new proposal name an earlier one with the same artifact.
	FindDuplicates bool
	// MaxProposals bounds those that a tenant has, in any state; 0 means 10,000. Proposals
	// that are made at the same moment may exceed it.
	MaxProposals int
}

// Caller is the authenticated caller of an activation.
type Caller struct {
	Principal string
	Scopes    []string
}

// Store is the proposals of all tenants. Use [New].
type Store struct{ cfg Config }

// New returns a store that activates as cfg says. It fails with memory.ErrValidation if
// cfg has both or neither of Gate and Scope, MayOverride without a Gate, no kind, one that the
// protocol does not have or one without a Validator, or a MaxProposals below 0.
func New(cfg Config) (*Store, error) {
	switch {
	case (cfg.Gate != nil) == (cfg.Scope != ""):
		return nil, invalid("Config has both or neither of Gate and Scope: set the one that activates")
	case cfg.MayOverride != nil && cfg.Gate == nil:
		return nil, invalid("Config.MayOverride is set without Config.Gate, which it overrides")
	case len(cfg.Kinds) == 0:
		return nil, invalid("Config.Kinds is empty: name the kinds of artifacts that are taken, each with a Validator")
	case cfg.MaxProposals < 0:
		return nil, invalid("Config.MaxProposals is below 0: 0 means the default")
	}
	for kind, check := range cfg.Kinds {
		if !slices.Contains(kinds, kind) {
			return nil, invalid("Config.Kinds has a kind that the protocol does not have")
		}
		if check == nil {
			return nil, invalid("Config.Kinds has a kind whose Validator is nil")
		}
	}
	cfg.Kinds, cfg.MaxProposals = maps.Clone(cfg.Kinds), cmp.Or(cfg.MaxProposals, 10_000)
	return &Store{cfg}, nil
}

// kinds are those of the protocol, in the order of its schema.
var kinds = []events.ArtifactKind{events.KindAgentPack, events.KindWorkflowChainPack, events.KindPromptTemplate, events.KindAutomation}

// Kinds are the kinds of artifacts that are taken, in the order of the protocol's schema.
func (s *Store) Kinds() (taken []events.ArtifactKind) {
	for _, kind := range kinds {
		if s.cfg.Kinds[kind] != nil {
			taken = append(taken, kind)
		}
	}
	return taken
}

// Activation is the protocol's name of the mode: approval-gate or direct-rbac.
func (s *Store) Activation() string {
	if s.cfg.Gate != nil {
		return "approval-gate"
	}
	return "direct-rbac"
}

// FindsDuplicates tells whether a new proposal names an earlier one with the same artifact.
func (s *Store) FindsDuplicates() bool { return s.cfg.FindDuplicates }

// Draft is what a new proposal is made of. Everything but Kind is redacted.
type Draft struct {
	Kind                 events.ArtifactKind
	Artifact             json.RawMessage // a JSON object of at most MaxArtifactBytes
	Title, Rationale     string
	SourceRunIDs         []string // at least one
	SynthesizerModel     string
	Workspace, Principal string // of the owner
	// Subjects are the labels under which memory.Bank.Forget finds the proposal.
	Subjects []string
}

// Revision is what a [Store.Revise] changes; nil leaves a field as it is.
type Revision struct {
	Artifact         json.RawMessage
	Title, Rationale *string
}

// Create keeps a new proposal as a draft and announces it by proposal.created. Errors, after
// which nothing was kept: an [*ArtifactError] for a kind that is not taken or an artifact that its
// validator refuses; memory.ErrValidation for the other fields; memory.ErrStorageLimit if the
// tenant has MaxProposals; memory.ErrSecretLeakage if the redactor refuses.
func (s *Store) Create(ctx context.Context, job *memory.Job, d Draft) (Proposal, error) {
	if job == nil {
		return Proposal{}, errJob
	}
	if s.cfg.Kinds[d.Kind] == nil {
		return Proposal{}, &ArtifactError{Rule: "its kind is not one of Config.Kinds"}
	}
	malformed := func(id string) bool { return id == "" || len(id) > MaxRunIDBytes }
	if n := len(d.SourceRunIDs); n == 0 || n > MaxSourceRuns || slices.ContainsFunc(d.SourceRunIDs, malformed) {
		return Proposal{}, invalid(fmt.Sprintf("Draft.SourceRunIDs are not 1 to %d run ids of 1 to %d bytes", MaxSourceRuns, MaxRunIDBytes))
	}
	now := job.Now()
	p := Proposal{
		ID: newID("prop_"), Kind: d.Kind, State: StateDraft, CreatedAt: now,
		Owner: Owner{Tenant: job.Tenant(), Workspace: d.Workspace, Principal: d.Principal},
	}
	p.Provenance = Provenance{SourceRunIDs: slices.Clone(d.SourceRunIDs), SynthesizerModel: d.SynthesizerModel}
	if d.Artifact == nil {
		d.Artifact = json.RawMessage{}
	}
	if err := s.fill(ctx, job, &p, Revision{Artifact: d.Artifact, Title: &d.Title, Rationale: &d.Rationale}); err != nil {
		return Proposal{}, err
	}
	n := 0
	for _, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: kind, Bare: true}) {
		if err != nil {
			return Proposal{}, err
		}
		if n++; n >= s.cfg.MaxProposals {
			return Proposal{}, errLimit
		}
	}
	if s.cfg.FindDuplicates {
		earlier, err := s.duplicate(ctx, job, &p)
		if err != nil {
			return Proposal{}, err
		}
		p.DuplicateOf = earlier
	}
	err := s.put(ctx, job, driver.Document{Subjects: d.Subjects}, &p, nil, events.ProposalCreated{
		ProposalID: p.ID, Kind: p.Kind, SourceRunIDs: p.Provenance.SourceRunIDs, DuplicateOf: p.DuplicateOf,
	})
	return p, err
}

// fill puts the redacted fields of a revision into a proposal.
func (s *Store) fill(ctx context.Context, job *memory.Job, p *Proposal, r Revision) (err error) {
	redact := func(text *string, most int) {
		if err != nil || *text == "" {
			return
		}
		if *text, err = job.Redact(ctx, *text); err == nil && len(*text) > most {
			err = invalid(fmt.Sprintf("a text has more than %d bytes once redacted", most))
		}
	}
	if r.Title != nil {
		p.Title = *r.Title
		redact(&p.Title, MaxTitleBytes)
	}
	if r.Rationale != nil {
		p.Rationale = *r.Rationale
		redact(&p.Rationale, MaxRationaleBytes)
	}
	redact(&p.Provenance.SynthesizerModel, MaxTitleBytes)
	for _, field := range []*string{&p.Owner.Workspace, &p.Owner.Principal} {
		redact(field, MaxTitleBytes)
	}
	for i := range p.Provenance.SourceRunIDs {
		redact(&p.Provenance.SourceRunIDs[i], MaxTitleBytes)
	}
	if err != nil || r.Artifact == nil {
		return err
	}
	before := p.Digest()
	if p.Artifact, err = s.artifact(ctx, job, p.Kind, r.Artifact); err == nil && p.Digest() != before {
		p.DuplicateOf = "" // it was of the artifact that is gone
	}
	return err
}

// artifact returns an artifact as it is stored: compact, redacted and valid.
func (s *Store) artifact(ctx context.Context, job *memory.Job, kind events.ArtifactKind, raw json.RawMessage) (json.RawMessage, error) {
	if err := object(raw, MaxArtifactBytes); err != nil {
		return nil, err
	}
	// Each text by itself, since JSON may write any letter as an escape; then the whole, which has
	// the numbers too, and before each value its name.
	plain, err := rewrite(raw, func(text string) (string, error) { return job.Redact(ctx, text) })
	if err != nil {
		return nil, err
	}
	clean, err := job.Redact(ctx, string(plain))
	if err != nil {
		return nil, err
	}
	if object([]byte(clean), 2*MaxArtifactBytes) != nil {
		return nil, errSecret // a marker stands where JSON cannot have it, or made two names one
	}
	return json.RawMessage(clean), s.check(kind, []byte(clean))
}

// check asks the validator of a kind, which gets a copy: what is stored stays as it is.
func (s *Store) check(kind events.ArtifactKind, artifact json.RawMessage) error {
	validate := s.cfg.Kinds[kind]
	if validate == nil {
		return &ArtifactError{Rule: "its kind is not one of Config.Kinds"}
	}
	const part = "the validator"
	_, err := hostcall.Inline(part, func() (struct{}, error) { return struct{}{}, validate(slices.Clone(artifact)) })
	if wrong := (*ArtifactError)(nil); errors.As(err, &wrong) {
		return err
	}
	return hostFailed(context.Background(), part, err)
}

// Get returns a proposal, or memory.ErrNotFound if the tenant has none of that id.
func (s *Store) Get(ctx context.Context, job *memory.Job, id string) (Proposal, error) {
	p, _, err := s.read(ctx, job, id)
	return p, err
}

// List yields the proposals of a state and a kind, where empty is any, in the order of their
// ids. It stops after an error.
func (s *Store) List(ctx context.Context, job *memory.Job, state State, of events.ArtifactKind) iter.Seq2[Proposal, error] {
	return func(yield func(Proposal, error) bool) {
		for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: kind}) {
			var p Proposal
			if err == nil {
				p, err = decode(&d)
			}
			if err == nil && (state != "" && p.State != state || of != "" && p.Kind != of) {
				continue
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Revise changes a proposal under review. It does not activate anything. Errors are those of
// [Store.Get] and [Store.Create], and a *wire.Error that is version_conflict for one that is not under review.
func (s *Store) Revise(ctx context.Context, job *memory.Job, id string, r Revision) (Proposal, error) {
	return s.transition(ctx, job, id, underReview, func(p *Proposal) (*audit, events.Payload, error) {
		p.State = StateRevised
		return nil, nil, s.fill(ctx, job, p, r)
	})
}

// Reject ends a review. The reason, which may be empty, is kept redacted in the audit.
// A proposal that is not under review is a *wire.Error that is version_conflict.
func (s *Store) Reject(ctx context.Context, job *memory.Job, id string, by Caller, reason string) (Proposal, error) {
	return s.transition(ctx, job, id, underReview, func(p *Proposal) (*audit, events.Payload, error) {
		p.State = StateRejected
		record, err := s.newAudit(ctx, job, p, "rejected", by, reason)
		return record, nil, err
	})
}

// Archive takes a proposal out of use. One that was applied is inert from then on.
func (s *Store) Archive(ctx context.Context, job *memory.Job, id string, by Caller) (Proposal, error) {
	return s.transition(ctx, job, id, append(slices.Clip(underReview), StateApplied), func(p *Proposal) (*audit, events.Payload, error) {
		p.State = StateArchived
		record, err := s.newAudit(ctx, job, p, "archived", by, "")
		return record, nil, err
	})
}

// Apply installs the artifact that was persisted last, if the gate or the caller's scope allows
// it. override, if it is not empty, is the caller's reason to apply without the approval that the
// gate has not granted: it needs Config.MayOverride, and is kept redacted in the audit. Errors,
// after which the proposal is as it was: memory.ErrForbidden if neither allows it; a *wire.Error that is
// version_conflict for one that is not under review; an [*ArtifactError] if the validator refuses it today.
func (s *Store) Apply(ctx context.Context, job *memory.Job, id string, by Caller, override string) (Proposal, error) {
	if s.cfg.Scope != "" && (!slices.Contains(by.Scopes, s.cfg.Scope) || override != "") {
		return Proposal{}, errScope
	}
	return s.transition(ctx, job, id, underReview, func(p *Proposal) (*audit, events.Payload, error) {
		digest := p.Digest()
		approval, overridden := "", false
		if s.cfg.Gate != nil {
			var err error
			if approval, overridden, err = s.authorize(ctx, job.Tenant(), id, digest, by, override); err != nil {
				return nil, nil, err
			}
		}
		if err := s.check(p.Kind, p.Artifact); err != nil {
			return nil, nil, err
		}
		p.State = StateApplied
		p.Activation = &Activation{ApprovalID: approval, InstalledArtifactRef: id + "@" + digest}
		what := "applied"
		if overridden {
			what = "overridden"
		}
		record, err := s.newAudit(ctx, job, p, what, by, override)
		return record, events.ProposalActivated{
			ProposalID: id, Kind: p.Kind, ApprovalID: approval, InstalledArtifactRef: p.Activation.InstalledArtifactRef,
		}, err
	})
}

// authorize asks the gate, and where it does not grant, whether the caller may override it.
func (s *Store) authorize(ctx context.Context, tenant, id, digest string, by Caller, override string) (approval string, overridden bool, err error) {
	type answer struct {
		approval string
		granted  bool
	}
	gate, err := hostcall.Call(ctx, "the gate", memory.PluginTimeout, func(ctx context.Context) (a answer, err error) {
		a.approval, a.granted, err = s.cfg.Gate(ctx, tenant, id, digest)
		return a, err
	})
	switch {
	case err != nil:
		return "", false, hostFailed(ctx, "the gate", err)
	case gate.granted:
		return gate.approval, false, nil
	case override == "":
		return "", false, errApproval
	case s.cfg.MayOverride == nil:
		return "", false, errOverride
	}
	may, err := hostcall.Call(ctx, "the override", memory.PluginTimeout, func(ctx context.Context) (bool, error) { return s.cfg.MayOverride(ctx, tenant, by) })
	if err != nil {
		return "", false, hostFailed(ctx, "the override", err)
	}
	if !may {
		return "", false, errOverride
	}
	return gate.approval, true, nil
}

// Artifact returns the bytes that were installed under a ref (Activation.InstalledArtifactRef).
// It is memory.ErrNotFound unless the proposal is applied now and these are its bytes.
func (s *Store) Artifact(ctx context.Context, job *memory.Job, ref string) (json.RawMessage, error) {
	id, digest, _ := strings.Cut(ref, "@")
	p, err := s.Get(ctx, job, id)
	if err != nil {
		return nil, err
	}
	if p.State != StateApplied || p.Activation == nil || p.Activation.InstalledArtifactRef != ref || p.Digest() != digest {
		return nil, errNotFound
	}
	return p.Artifact, nil
}

// underReview are the states in which a proposal can be decided.
var underReview = []State{StateDraft, StateRevised}

// transition changes a proposal that is in one of the states from. If something else
// changed it first, change is called with what is stored now.
func (s *Store) transition(ctx context.Context, job *memory.Job, id string, from []State, change func(*Proposal) (*audit, events.Payload, error)) (Proposal, error) {
	for {
		p, d, err := s.read(ctx, job, id)
		if err != nil {
			return Proposal{}, err
		}
		if !slices.Contains(from, p.State) {
			return Proposal{}, illegal(p.State)
		}
		record, event, err := change(&p)
		if err != nil {
			return Proposal{}, err
		}
		p.UpdatedAt = job.Now()
		err = s.put(ctx, job, d, &p, record, event)
		switch {
		case err == nil:
			return p, nil
		case !errors.Is(err, memory.ErrConflict):
			return Proposal{}, err
		case ctx.Err() != nil:
			return Proposal{}, ctx.Err()
		}
	}
}
