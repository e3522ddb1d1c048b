package commitment

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// transferClaim moves a claim to the commitment of the entry into which its own was merged, so
// that all that were merged fire once. Both change in one swap.
func (p *pass) transferClaim(ctx context.Context, c *Commitment, head string) error {
	ok, err := p.change(ctx, c, func(c *Commitment) {
		c.MovedTo = ID(c.Tenant, c.Ref, head, c.Arm)
		c.end(Lapsed, ReasonMerged, p.bank.Now())
	}, func(next *Commitment) (bool, error) {
		into, err := p.load(ctx, c.Tenant, next.MovedTo)
		switch {
		case errors.Is(err, memory.ErrNotFound):
			into = *c
			into.ID, into.MemoryID = next.MovedTo, head
			into.Claim.Tries, into.Fence, into.Fired, into.Rev = 0, 0, 0, 0
			into.Lease, into.RunID = time.Time{}, ""
		case err != nil:
			return false, err
		case !into.moveClaim(c):
			return p.store(ctx, next)
		}
		into.Due = p.until
		return p.store(ctx, next, &into)
	})
	if ok {
		p.do(func() { p.done.Lapsed++ })
	}
	if errors.Is(err, ErrNewerFormat) { // of the commitment that it was merged into
		p.record(&p.problem, err)
		return p.retry(ctx, c, false)
	}
	return err
}

// moveClaim moves c's claim to the commitment of the entry that c's entry was merged into. It
// reports false if that one has passed the claim, or fires by itself.
func (into *Commitment) moveClaim(c *Commitment) bool {
	switch {
	case into.State != Armed:
		return false
	case c.Arm.Predicate == "":
		if !c.Claim.Instant.After(into.Mark) {
			return false
		}
		into.Mark = c.Mark
	default:
		if into.Digest != "" && c.Claim.Position <= into.Position {
			return false
		}
		into.Position, into.Digest, into.Waiting = c.Position, c.Digest, c.Waiting
	}
	into.State, into.Claim = Claimed, c.Claim
	into.Claim.Tries = 0
	return true
}
