package commitment

import (
	"context"
	"time"
)

// Retry takes up the last firing of a commitment that was given up, and returns the commitment
// as it is then: claimed, for the next tick to deliver, with as many tries as before. Its key is
// the same, so that an [Enqueuer] which has started the run after all finds it. The entry
// is read before the delivery like any other time (K6); what recurs goes on afterwards.
//
// Errors: [memory.ErrNotFound] if the tenant has no such commitment; [memory.ErrConflict] if no
// firing of it was given up, it was taken up before or a later one has succeeded, and while a
// later one is under way, which settles the matter if it succeeds. Of several calls one
// takes the firing up.
func (e *Engine) Retry(ctx context.Context, tenant, id string) (Commitment, error) {
	c, err := e.load(ctx, tenant, id)
	if err != nil {
		return Commitment{}, err
	}
	err = e.update(ctx, &c, func(c *Commitment) (bool, error) {
		switch {
		case c.State == Claimed || c.State == Delivered:
			return false, errUnderWay
		case c.GivenUp == Claim{}:
			return false, errNotGivenUp
		}
		c.State, c.Reason, c.EndedAt = Claimed, ReasonNone, time.Time{}
		c.Claim, c.GivenUp = c.GivenUp, Claim{}
		c.Claim.Tries = 0
		c.Fence++ // what is left of the last delivery changes nothing
		c.Due = e.bank.Now()
		return true, nil
	})
	if err != nil {
		return Commitment{}, err
	}
	return c, nil
}

// giveUp ends a firing after its last try. What recurs goes on as after any firing.
func (p *pass) giveUp(ctx context.Context, c *Commitment, why Reason) error {
	misbehaved := false // the schedule, so that there is no next instant to go on to
	ok, err := p.change(ctx, c, func(c *Commitment) { c.GivenUp = c.Claim }, func(next *Commitment) (bool, error) {
		if next.Arm.once() && !next.Canceled {
			next.end(GivenUp, why, p.bank.Now())
		} else if err := p.rearm(ctx, next); err != nil {
			misbehaved = true
			return false, err
		}
		return p.store(ctx, next)
	})
	if misbehaved {
		p.record(&p.problem, err)
		return p.postpone(ctx, c, func(*Commitment) {})
	}
	switch {
	case !ok:
	case c.GivenUp == Claim{}: // it was canceled meanwhile
		p.do(func() { p.done.Lapsed++ })
	default:
		p.do(func() { p.done.GivenUp++ })
	}
	return err
}

// triesWithin is the number of tries between which the waits come to a time.
func triesWithin(total, first time.Duration) int {
	n := 1
	for ; total > 0; n++ {
		total -= backoff(first, n)
	}
	return n
}

// backoff is the wait after a number of tries.
func backoff(first time.Duration, tries int) time.Duration {
	d := first
	for range tries - 1 {
		if d *= 2; d >= MaxBackoff {
			break
		}
	}
	return min(d, max(MaxBackoff, first)).Truncate(time.Millisecond)
}
