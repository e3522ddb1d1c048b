package commitment

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// deliver starts the run of a claim on which the pass has the lease.
func (p *pass) deliver(ctx context.Context, c *Commitment) error {
	job, err := p.job(ctx, c)
	if err != nil {
		p.note(err)
		return p.later(ctx, c, false)
	}
	head, why, err := p.source(ctx, job, c)
	switch {
	case err != nil:
		p.note(err)
		return p.later(ctx, c, false)
	case why == ReasonMerged:
		return p.handOver(ctx, c, head)
	case why != ReasonNone:
		return p.finish(ctx, c, Lapsed, why)
	}
	runID, err := p.enqueue(ctx, job, c)
	if err != nil {
		return p.later(ctx, c, true)
	}
	// What was canceled while its run was started has started all the same. If the
	// lease is lost, whoever has it finds the same run.
	ok, err := p.change(ctx, c, func(c *Commitment) {
		c.State, c.RunID = Delivered, runID
		p.extend(c)
	})
	if !ok || err != nil {
		return err
	}
	return p.announceBy(ctx, job, c)
}

// job opens the pass of one commitment. Its run id is the commitment's own, in every
// process and at every try, so that the run's log takes each event once.
func (p *pass) job(ctx context.Context, c *Commitment) (*memory.Job, error) {
	r, err := p.redactor(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return p.bank.Background(memory.JobConfig{RunID: c.ID, Tenant: c.Tenant, Redactor: r})
}

// source tells what became of the entry that a commitment comes from (K6): a reason
// not to fire, and with ReasonMerged the entry that took its place.
func (p *pass) source(ctx context.Context, job *memory.Job, c *Commitment) (head string, why Reason, err error) {
	if c.MemoryID == "" {
		_, err := job.Cell(ctx, c.Ref, "commitment")
		if errors.Is(err, memory.ErrForbidden) || errors.Is(err, memory.ErrValidation) {
			return "", ReasonGone, nil
		}
		return "", ReasonNone, err
	}
	fate, err := p.bank.Trace(ctx, c.Tenant, c.Ref, c.MemoryID)
	if errors.Is(err, memory.ErrNotFound) {
		return "", ReasonGone, nil
	}
	if err != nil {
		return "", ReasonNone, err
	}
	switch fate.State {
	case memory.Live:
		return "", ReasonNone, nil
	case memory.Merged:
		return fate.Head.ID, ReasonMerged, nil
	case memory.Superseded:
		return "", ReasonSuperseded, nil
	}
	return "", ReasonGone, nil
}

// enqueue asks the host for the run of a claim.
func (p *pass) enqueue(ctx context.Context, job *memory.Job, c *Commitment) (string, error) {
	if p.cfg.Enqueuer == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Lease/2)
	defer cancel()
	runID, err := p.cfg.Enqueuer.Enqueue(ctx, Firing{
		Key: c.Key(), Tenant: c.Tenant, CommitmentID: c.ID, Ref: c.Ref, MemoryID: c.MemoryID, Arm: c.Arm,
		Instant: c.Claim.Instant, Position: c.Claim.Position, Try: c.Claim.Tries, Fence: c.Fence,
	})
	if err != nil {
		return "", err
	}
	// An id that cannot go on the event is no id.
	if n := len(runID); n == 0 || n > maxNameBytes {
		return "", invalid("the run id has a wrong length")
	}
	if clean, err := job.Redact(runID); err != nil || clean != runID {
		return "", &refusal{memory.ErrSecretLeakage, "the run id holds a secret", err}
	}
	return runID, nil
}

// announce commits the event of a delivery that an earlier pass has left without.
func (p *pass) announce(ctx context.Context, c *Commitment) error {
	job, err := p.job(ctx, c)
	if err != nil {
		p.note(err)
		return p.later(ctx, c, false)
	}
	return p.announceBy(ctx, job, c)
}

// announceBy commits the event of a delivery, and acknowledges. A crash between the
// two commits the event again, under the same id in the log of the same run, which
// has it once (E3).
func (p *pass) announceBy(ctx context.Context, job *memory.Job, c *Commitment) error {
	_, err := job.Rewrite(ctx, c.Ref, memory.Rewrite{Announce: func([]memory.Entry) []memory.Announcement {
		return []memory.Announcement{{ID: c.Key(), Payload: events.CommitmentFired{
			CommitmentID: c.ID, MemoryRef: c.Ref, MemoryID: c.MemoryID,
			Condition: c.Arm.Condition(), EnqueuedRunID: c.RunID,
		}}}
	}})
	if err != nil {
		p.note(err)
		return p.later(ctx, c, false)
	}
	// What the sink does not take now stays in the outbox, for Bank.Relay.
	if err := job.End(ctx); err != nil {
		p.note(err)
	}
	return p.acknowledge(ctx, c)
}

// acknowledge closes a firing.
func (p *pass) acknowledge(ctx context.Context, c *Commitment) error {
	ok, err := p.change(ctx, c, func(c *Commitment) {
		if c.Fired++; c.Arm.once() {
			c.end(Acknowledged, ReasonNone)
			return
		}
		p.rearm(c)
	})
	if ok {
		p.done.Fired++
	}
	return err
}

// handOver gives a claim to the commitment of the entry into which its own was merged,
// so that all that were merged fire once. It is repeated after a crash: the heir takes
// a claim only if its marks lie before it.
func (p *pass) handOver(ctx context.Context, c *Commitment, head string) error {
	heir := c.clone()
	heir.MemoryID, heir.ID = head, ID(c.Tenant, c.Ref, head, c.Arm)
	heir.Claim.Tries, heir.Fence, heir.Fired, heir.Rev = 0, 0, 0, 0
	heir.Lease, heir.RunID = time.Time{}, ""
	heir.Due = p.now
	for {
		ok, err := p.bequeath(ctx, c, heir)
		if err != nil {
			return err
		}
		if ok {
			break
		}
	}
	ok, err := p.change(ctx, c, func(c *Commitment) {
		c.Heir = heir.ID
		c.end(Lapsed, ReasonMerged)
	})
	if ok {
		p.done.Lapsed++
	}
	return err
}

// bequeath makes sure that the heir has c's claim or is past it. It reports false if
// somebody else was faster.
func (p *pass) bequeath(ctx context.Context, c *Commitment, heir Commitment) (bool, error) {
	known, err := p.cfg.Store.Get(ctx, heir.Tenant, heir.ID)
	if errors.Is(err, memory.ErrNotFound) {
		return p.store(ctx, &heir)
	}
	if err != nil {
		return false, err
	}
	if known.State.Final() || known.State != Armed {
		// It is past this, or fires anyway and comes to what is left by its own arm.
		return true, nil
	}
	if c.Arm.Predicate == "" {
		if !c.Claim.Instant.After(known.Mark) {
			return true, nil
		}
		known.Mark = c.Mark
	} else {
		if known.Digest != "" && c.Claim.Position <= known.Position {
			return true, nil
		}
		known.Position, known.Digest, known.Waiting = c.Position, c.Digest, heir.Waiting
	}
	known.State, known.Claim, known.Due = Claimed, heir.Claim, p.now
	return p.store(ctx, &known)
}
