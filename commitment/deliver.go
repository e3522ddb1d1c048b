package commitment

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// deliver starts the run of a claim on which the pass has the lease, unless it was
// started before, and completes the firing.
func (p *pass) deliver(ctx context.Context, c *Commitment) error {
	redactor, err := p.redactor()
	var job *memory.Job
	if err == nil {
		// The run id of the pass is the commitment's own, in every process and at every try, so that
		// the run's log takes each event once.
		job, err = p.bank.Background(memory.JobConfig{ID: c.ID, Tenant: c.Tenant, Redactor: redactor})
	}
	if err != nil {
		p.record(&p.problem, err)
		return p.retry(ctx, c, false)
	}
	runID := c.RunID
	if c.State == Claimed {
		head, why, err := p.checkSource(ctx, c)
		switch {
		case err != nil:
			p.record(&p.problem, err)
			return p.retry(ctx, c, false)
		case why == ReasonMerged || why == ReasonSuperseded:
			return p.transferClaim(ctx, c, &head, why)
		case why != ReasonNone:
			return p.lapse(ctx, c, why)
		}
		if runID, err = p.enqueue(ctx, job, c); err != nil {
			return p.retry(ctx, c, true)
		}
	}
	return p.complete(ctx, job, c, runID)
}

// checkSource returns what became of the entry that a commitment comes from (K6): a reason
// not to fire, and the entry by which it was replaced.
func (p *pass) checkSource(ctx context.Context, c *Commitment) (head memory.Entry, why Reason, err error) {
	if c.MemoryID == "" {
		if c.Ref != "" { // which must still be the tenant's
			_, _, err = p.bank.Engines().View(ctx, c.Tenant, c.Ref)
		}
		if errors.Is(err, memory.ErrForbidden) || errors.Is(err, memory.ErrValidation) {
			return head, ReasonGone, nil
		}
		return head, ReasonNone, err
	}
	outcomes, err := p.bank.Lineage(ctx, c.Tenant, c.Ref, c.MemoryID)
	outcome, found := outcomes[c.MemoryID]
	switch {
	case err != nil || found && outcome.State == memory.Live:
		return head, ReasonNone, err
	case found && outcome.State == memory.Merged:
		return outcome.Head, ReasonMerged, nil
	case found && outcome.State == memory.Superseded:
		return outcome.Head, ReasonSuperseded, nil
	}
	return head, ReasonGone, nil
}

// enqueue asks the host for the run of a claim.
func (p *pass) enqueue(ctx context.Context, job *memory.Job, c *Commitment) (string, error) {
	if p.cfg.Enqueuer == nil {
		return "", nil
	}
	firing := Firing{
		Key: c.Key(), Tenant: c.Tenant, CommitmentID: c.ID, Ref: c.Ref, MemoryID: c.MemoryID, Arm: c.Arm,
		Instant: c.Claim.Instant, Position: c.Claim.Position, Try: c.Claim.Tries, Fence: c.Fence,
	}
	// A run that it starts too late is found by its key.
	const part = "the enqueuer"
	runID, err := hostcall.Call(ctx, part, p.cfg.Lease/2, func(ctx context.Context) (string, error) { return p.cfg.Enqueuer.Enqueue(ctx, firing) })
	if hostcall.Misbehaved(err) {
		p.record(&p.problem, hostcall.Failed(ctx, part, err, internal))
	}
	if err != nil {
		return "", err
	}
	// An id that cannot go on the event is no id.
	if n := len(runID); n == 0 || n > maxNameBytes || !utf8.ValidString(runID) {
		return "", invalid("the enqueuer returned a run id that is empty, longer than 128 bytes or not UTF-8")
	}
	clean, err := job.Redact(ctx, runID)
	if err == nil && clean != runID {
		err = memory.ErrSecretLeakage.In(pkg, "the run id of the enqueuer holds a secret", nil)
	}
	return runID, err
}

// complete closes a firing: what becomes of the commitment and the event are one mutation
// (E3). What was canceled while its run was started has started all the same. If the lease
// is lost, the process that has it finds the same run.
func (p *pass) complete(ctx context.Context, job *memory.Job, c *Commitment, runID string) error {
	fired := events.Record{ID: c.Key(), Tenant: c.Tenant, RunID: job.ID(), Time: job.Now(), Payload: events.CommitmentFired{
		CommitmentID: c.ID, MemoryRef: c.Ref, MemoryID: c.MemoryID,
		Condition: c.Arm.Condition(), EnqueuedRunID: runID,
	}}
	ok, err := p.change(ctx, c, func(c *Commitment) {
		c.RunID, c.Pass, c.GivenUp = runID, job.ID(), Claim{}
		c.Fired++
	}, func(next *Commitment) (bool, error) {
		if next.Arm.once() {
			next.end(Acknowledged, ReasonNone, p.bank.Now())
		} else if err := p.rearm(ctx, next); err != nil {
			return false, err
		}
		made, err := job.Rewrite(ctx, next.Ref, memory.Rewrite{
			Documents: func([]memory.Entry) []driver.DocumentSwap { return []driver.DocumentSwap{{Document: next.document()}} },
			Announce:  func([]memory.Entry) []events.Record { return []events.Record{fired} },
		})
		if len(made.Events) > 0 {
			fired = made.Events[0]
		}
		return p.stored(made.Revs, err, next)
	})
	if err != nil {
		// The run is recorded, so that it is not asked for again while, say, the outbox
		// is full.
		p.record(&p.problem, err)
		refused := errors.Is(err, memory.ErrForbidden) || errors.Is(err, memory.ErrValidation) || errors.Is(err, memory.ErrSecretLeakage)
		if c.State == Delivered && refused && c.Claim.Tries >= 2*p.tries {
			return p.giveUp(ctx, c, ReasonRefused)
		}
		return p.postpone(ctx, c, func(c *Commitment) {
			if c.State == Delivered {
				c.Claim.Tries++
			}
			c.State, c.RunID = Delivered, runID
		})
	}
	if !ok {
		return nil
	}
	p.do(func() {
		p.done.Fired++
		p.done.Events = append(p.done.Events, fired)
		p.moved++
	})
	// What the sink does not take now stays in the outbox, for the next round of Bank.Maintain.
	if err := job.End(ctx); err != nil {
		p.record(&p.problem, err)
	}
	return nil
}
