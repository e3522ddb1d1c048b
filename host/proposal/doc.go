// Package proposal is reviewable learning (RFC 0096): an artifact that an agent made of its own
// runs waits, inert, until a person reviews it and activates it through the host's gate.
//
// [Store] has the operations, each through the job of a host (memory.Bank.Background), which
// says whose proposals they are. [Handler] serves them.
//
//	s, err := proposal.New(proposal.Config{
//		Kinds: map[events.ArtifactKind]proposal.Validator{events.KindAutomation: checkAutomation},
//		Scope: "proposals:activate",
//	})
//	p, err := s.Create(ctx, job, proposal.Draft{Kind: events.KindAutomation, Artifact: raw, SourceRunIDs: runs})
//	p, err = s.Apply(ctx, job, p.ID, proposal.Caller{Principal: "ann", Scopes: scopes}, "")
//	raw, err := s.Artifact(ctx, job, p.Activation.InstalledArtifactRef)
//
// # Guarantees
//
//   - Inert until applied (proposal-inert-until-applied): [Store.Artifact] is how a host comes by
//     a runnable artifact, and gives none but that of a proposal that is applied now.
//   - Gated: a proposal is applied only if its gate says so for the very bytes that are then
//     installed. A refusal changes nothing and announces nothing. An override leaves an audit
//     record in the mutation that applies.
//   - No resynthesis (proposal-no-resynthesis): installing is the change of state. The artifact is
//     the one that was persisted last, byte for byte; if it is revised meanwhile, the gate is
//     asked again.
//   - Once: of all that would move a proposal at the same time, one does. A move that its state
//     does not have is version_conflict.
//   - SR-1, R5: title, rationale, run ids, model and artifact are redacted at every write.
//   - CTI-1: proposals are those of the job's tenant. What is another's cannot be told from
//     what is not there.
//   - M10: forgetting a subject removes the proposals that carry it, applied ones too.
//   - E3: proposal.created and proposal.activated commit with what they tell of.
//
// # States
//
//	draft, revised → revised   Revise
//	draft, revised → applied   Apply
//	draft, revised → rejected  Reject
//	draft, revised, applied → archived  Archive; an applied one is inert again
//
// # Errors
//
// memory.ErrNotFound; memory.ErrForbidden without the scope or the approval; a *wire.Error that is
// version_conflict; [*ArtifactError], which goes out with the status 422; memory.ErrValidation for
// the other fields; memory.ErrStorageLimit for a tenant that has all that it may have. None holds
// a text of a proposal (M2).
//
// # Concurrency
//
// All methods are safe for concurrent use, by any number of processes.
package proposal
