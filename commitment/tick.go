package commitment

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Ticked tells what a [Engine.Tick] did.
type Ticked struct {
	Fired   int // firings that are over: their run has started, their event is committed
	Failed  int // deliveries that failed and are tried again
	Skipped int // missed instants that the policy passed over
	Lapsed  int // commitments that ended without firing
	Dead    int // commitments given up
}

// batch is how many due commitments a tick reads at a time.
const batch = 256

// Tick fires what is due, of all tenants: it claims, starts runs, commits events and
// acknowledges, each commitment by its state, and takes up what an earlier tick, here
// or in another process, has left undone. A host calls it in a loop, as often as its
// instants shall be exact; calls may overlap. Where nothing is due it costs one look
// at the store (K9).
//
// What goes wrong with one commitment is tried again later and holds up no other;
// Tick goes on and returns the first such error of memory at the end. An error of the
// commitment store, or a context that is done, ends the tick where it is.
func (e *Engine) Tick(ctx context.Context) (Ticked, error) {
	now := e.bank.Now()
	due, err := e.cfg.Store.Due(ctx, now, batch)
	if len(due) == 0 {
		return Ticked{}, storeFailed(err)
	}
	p := &pass{Engine: e, now: now, open: map[string]opened{}}
	for err == nil && len(due) > 0 {
		moved := p.moved
		for _, c := range due {
			if err = ctx.Err(); err == nil {
				err = p.step(ctx, &c)
			}
			if err != nil {
				break
			}
		}
		if err != nil || p.moved == moved { // others are at it, or nothing moves
			break
		}
		due, err = e.cfg.Store.Due(ctx, now, batch)
	}
	if err != nil {
		err = asOurs(err)
	}
	return p.done, errors.Join(err, p.problem, p.close())
}

// pass is one tick that found something due.
type pass struct {
	*Engine
	now     time.Time // what is due is judged by it, so that a tick ends
	done    Ticked
	moved   int               // swaps that succeeded
	open    map[string]opened // by tenant
	problem error             // the first trouble that did not end the tick
}

type opened struct {
	redactor memory.Redactor
	err      error
}

// redactor returns the tenant's secrets, opened once for the pass. The jobs of the
// pass share them, so that none of them closes them.
func (p *pass) redactor(ctx context.Context, tenant string) (memory.Redactor, error) {
	o, ok := p.open[tenant]
	if !ok {
		o.redactor, o.err = p.cfg.Redactor(ctx, tenant)
		if o.err != nil {
			o.err = &refusal{memory.ErrSecretLeakage, "the tenant's secrets cannot be opened", o.err}
		} else if o.redactor == nil {
			o.err = &refusal{memory.ErrSecretLeakage, "the tenant's secrets cannot be opened", nil}
		}
		p.open[tenant] = o
	}
	return shared{o.redactor}, o.err
}

// shared hides that a redactor can be closed.
type shared struct{ memory.Redactor }

func (p *pass) close() error {
	var failed error
	for _, o := range p.open {
		if c, ok := o.redactor.(io.Closer); ok {
			if err := c.Close(); err != nil && failed == nil {
				failed = hostFailed("a redactor does not close", err)
			}
		}
	}
	return failed
}

// step does with a due commitment what its state asks for. It returns errors that end
// the tick.
func (p *pass) step(ctx context.Context, c *Commitment) error {
	var ok bool
	var err error
	switch {
	case c.State == Armed && c.Arm.Predicate == "":
		ok, err = p.claim(ctx, c)
	case c.State == Claimed && c.Canceled:
		return p.finish(ctx, c, Lapsed, ReasonCanceled)
	case c.State == Claimed && c.Claim.Tries >= p.cfg.Tries:
		return p.finish(ctx, c, Dead, ReasonNone)
	case c.State == Claimed:
		c.Claim.Tries++
		ok, err = p.lease(ctx, c)
	case c.State == Delivered:
		ok, err = p.lease(ctx, c)
	default:
		c.Due = time.Time{} // nothing is due in these states
		_, err = p.store(ctx, c)
	}
	if !ok || err != nil {
		return err
	}
	if c.State == Delivered {
		return p.announce(ctx, c)
	}
	return p.deliver(ctx, c)
}

// claim makes a due instant its own, or passes it over.
func (p *pass) claim(ctx context.Context, c *Commitment) (bool, error) {
	instant := c.Due
	c.Mark = p.now // never before instant, which is due
	if p.cfg.Missed == Skip && p.now.Sub(instant) > p.cfg.Grace {
		if c.Arm.single() {
			return false, p.finish(ctx, c, Lapsed, ReasonMissed)
		}
		p.rearm(c)
		ok, err := p.store(ctx, c)
		if ok {
			p.done.Skipped++
		}
		return false, err
	}
	c.State, c.Claim = Claimed, Claim{Instant: instant, Tries: 1}
	return p.lease(ctx, c)
}

// rearm makes a commitment wait: for the delivery of a transition that was claimed
// meanwhile, for its next instant after Mark, or for its next transition.
func (p *pass) rearm(c *Commitment) {
	c.State, c.Claim, c.Lease, c.Due = Armed, Claim{}, time.Time{}, time.Time{}
	switch {
	case c.Canceled:
		c.end(Lapsed, ReasonCanceled)
	case len(c.Waiting) > 0:
		c.State, c.Due = Claimed, p.now
		c.Claim.Position = c.Waiting[0]
		c.Waiting = append([]int64(nil), c.Waiting[1:]...)
	case c.Arm.Predicate == "":
		next, reason := p.next(c.Arm, c.ArmedAt, c.Mark, p.bank.Now())
		if c.Due = next; reason != ReasonNone {
			c.end(Lapsed, reason)
		}
	}
}

// lease takes the delivery of a commitment over.
func (p *pass) lease(ctx context.Context, c *Commitment) (bool, error) {
	c.Fence++
	p.extend(c)
	return p.store(ctx, c)
}

// extend lets the lease run from now.
func (p *pass) extend(c *Commitment) {
	c.Lease = p.bank.Now().Add(p.cfg.Lease)
	c.Due = c.Lease
}

// store is a swap that counts.
func (p *pass) store(ctx context.Context, c *Commitment) (bool, error) {
	ok, err := p.swap(ctx, c)
	if ok {
		p.moved++
	}
	return ok, err
}

// change changes a commitment for as long as nobody else has taken its lease.
// Observations and a cancellation may come between, and are kept.
func (p *pass) change(ctx context.Context, c *Commitment, to func(*Commitment)) (bool, error) {
	state, fence := c.State, c.Fence
	for {
		to(c)
		if ok, err := p.store(ctx, c); ok || err != nil {
			return ok, err
		}
		now, err := p.cfg.Store.Get(ctx, c.Tenant, c.ID)
		if err != nil {
			return false, err
		}
		if now.State != state || now.Fence != fence {
			return false, nil
		}
		*c = now
	}
}

// finish ends a commitment that does not fire any more.
func (p *pass) finish(ctx context.Context, c *Commitment, s State, why Reason) error {
	ok, err := p.change(ctx, c, func(c *Commitment) { c.end(s, why) })
	switch {
	case !ok:
	case s == Dead:
		p.done.Dead++
	default:
		p.done.Lapsed++
	}
	return err
}

// later puts a commitment back for another try. The try counts if the delivery failed
// and not if something on the way to it did.
func (p *pass) later(ctx context.Context, c *Commitment, counts bool) error {
	if counts && c.Claim.Tries >= p.cfg.Tries {
		return p.finish(ctx, c, Dead, ReasonNone)
	}
	ok, err := p.change(ctx, c, func(c *Commitment) {
		wait := backoff(p.cfg.Backoff, c.Claim.Tries)
		if !counts && c.State == Claimed {
			c.Claim.Tries--
		}
		c.Lease = time.Time{}
		c.Due = p.bank.Now().Add(wait)
		if c.Canceled && c.State == Claimed {
			c.end(Lapsed, ReasonCanceled)
		}
	})
	if ok {
		p.done.Failed++
	}
	return err
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

// note keeps trouble that does not end the tick.
func (p *pass) note(err error) {
	if p.problem == nil {
		p.problem = err
	}
}

// asOurs shapes what ended a tick.
func asOurs(err error) error {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return err
	}
	return storeFailed(err)
}
