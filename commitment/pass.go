package commitment

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// pass is what a tick does for one tenant.
type pass struct {
	*tick
	until time.Time // what is due by then belongs to the tick
	// redactor returns the tenant's secrets, opened once for the pass. Its jobs share them, so that
	// none of them closes them.
	redactor func() (memory.Redactor, error)
	secrets  memory.Redactor // what it has opened
}

// open opens the tenant's secrets.
func (p *pass) open(ctx context.Context, tenant string) (memory.Redactor, error) {
	const part = "the source of redactors"
	secrets, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(ctx context.Context) (memory.Redactor, error) { return p.cfg.Redactor(ctx, tenant) })
	if hostcall.Misbehaved(err) || err != nil && err == ctx.Err() {
		return nil, hostcall.Failed(ctx, part, err, internal)
	}
	if secrets == nil || err != nil {
		return nil, memory.ErrSecretLeakage.In(pkg, "the tenant's secrets cannot be opened", err)
	}
	p.secrets = secrets
	return shared{secrets}, nil
}

// shared hides that a redactor can be closed.
type shared struct{ memory.Redactor }

// Inline reports whether the redactor says that it returns promptly.
func (s shared) Inline() bool {
	r, ok := s.Redactor.(interface{ Inline() bool })
	return ok && r.Inline()
}

// close closes the tenant's secrets, also if the context has ended: no later call closes them.
func (p *pass) close(ctx context.Context) {
	if c, ok := p.secrets.(io.Closer); ok {
		const part = "the redactor"
		if ctx.Err() != nil {
			ctx = context.WithoutCancel(ctx)
		}
		_, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(context.Context) (struct{}, error) { return struct{}{}, c.Close() })
		if err != nil {
			p.record(&p.problem, hostcall.Failed(ctx, part, err, internal))
		}
	}
}

// process advances a due commitment. One that it cannot read is put aside for the rest of the tick.
func (p *pass) process(ctx context.Context, d *driver.Document) {
	c, err := fromDocument(d)
	if err != nil {
		p.record(&p.problem, err)
		p.do(func() { p.moved, p.unread = p.moved+1, p.unread+1 })
		return
	}
	if err := p.advance(ctx, &c); err != nil {
		p.record(&p.err, err)
	}
	p.do(func() { delete(p.dispatched, d.Key) })
}

// advance takes a due commitment to the state that follows. It returns errors that end
// the tick.
func (p *pass) advance(ctx context.Context, c *Commitment) (err error) {
	ok := false
	switch {
	case c.State == Armed && c.Arm.Predicate == "":
		ok, err = p.claim(ctx, c)
	case c.State == Claimed && c.Canceled:
		return p.lapse(ctx, c, ReasonCanceled)
	case c.State == Claimed && c.Claim.Tries >= p.tries:
		return p.giveUp(ctx, c, ReasonNone)
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
	return p.deliver(ctx, c)
}

// claim makes a due instant its own, or passes it over.
func (p *pass) claim(ctx context.Context, c *Commitment) (bool, error) {
	instant, now := c.Due, p.bank.Now()
	c.Mark = now // never before instant, which is due
	if p.cfg.Missed == Skip && now.Sub(instant) > p.cfg.Grace {
		if c.Arm.single() {
			return false, p.lapse(ctx, c, ReasonMissed)
		}
		if err := p.rearm(ctx, c); err != nil {
			p.record(&p.problem, err) // it stays due
			return false, nil
		}
		ok, err := p.store(ctx, c)
		if ok {
			p.do(func() { p.done.Skipped++ })
		}
		return false, err
	}
	c.State, c.Claim = Claimed, Claim{Instant: instant, Tries: 1}
	return p.lease(ctx, c)
}

// rearm makes a commitment wait: for the delivery of a transition that was claimed
// meanwhile, for its next instant after Mark, or for its next transition. It fails if the
// schedule misbehaves.
func (p *pass) rearm(ctx context.Context, c *Commitment) error {
	now := p.bank.Now()
	c.State, c.Claim, c.Lease, c.Due = Armed, Claim{}, time.Time{}, time.Time{}
	switch {
	case c.Canceled:
		c.end(Lapsed, ReasonCanceled, now)
	case len(c.Waiting) > 0:
		c.State, c.Due = Claimed, p.until
		c.Claim.Position = c.Waiting[0]
		c.Waiting = append([]int64(nil), c.Waiting[1:]...)
	default:
		next, reason, err := p.Engine.next(ctx, c.Arm, c.ArmedAt, c.Mark, now)
		if c.Due = next; reason != ReasonNone {
			c.end(Lapsed, reason, now)
		}
		return err
	}
	return nil
}

// lease takes the delivery of a commitment over. If the process ends before it can say how that
// went, the try has failed, and is waited for like any other.
func (p *pass) lease(ctx context.Context, c *Commitment) (bool, error) {
	c.Fence++
	c.Lease = p.bank.Now().Add(p.cfg.Lease)
	c.Due = p.bank.Now().Add(max(p.cfg.Lease, backoff(p.cfg.Backoff, c.Claim.Tries)))
	return p.store(ctx, c)
}

// store is a swap that counts.
func (p *pass) store(ctx context.Context, cs ...*Commitment) (bool, error) {
	ok, err := p.swap(ctx, cs...)
	if ok {
		p.do(func() { p.moved++ })
	}
	return ok, err
}

// change changes a commitment for as long as no other process has taken its lease.
// Observations and a cancellation may come between, and are kept. store stores what becomes of c,
// which is as stored before.
func (p *pass) change(ctx context.Context, c *Commitment, to func(*Commitment), store func(next *Commitment) (bool, error)) (bool, error) {
	for {
		next := *c
		to(&next)
		ok, err := store(&next)
		if ok {
			*c = next
		}
		if ok || err != nil {
			return ok, err
		}
		now, err := p.load(ctx, c.Tenant, c.ID)
		if errors.Is(err, memory.ErrNotFound) || errors.Is(err, ErrNewerFormat) {
			return false, nil // another process has gone on with it
		}
		if err != nil || now.State != c.State || now.Fence != c.Fence || now.Key() != c.Key() {
			return false, err
		}
		*c = now
	}
}

// lapse ends a commitment that does not fire any more.
func (p *pass) lapse(ctx context.Context, c *Commitment, why Reason) error {
	end := func(c *Commitment) { c.end(Lapsed, why, p.bank.Now()) }
	ok, err := p.change(ctx, c, end, func(next *Commitment) (bool, error) { return p.store(ctx, next) })
	if ok {
		p.do(func() { p.done.Lapsed++ })
	}
	return err
}

// retry postpones a firing, or gives it up after its last try. The try counts if the
// delivery failed, and not if something on the way to it did.
func (p *pass) retry(ctx context.Context, c *Commitment, counts bool) error {
	if counts && c.Claim.Tries >= p.tries {
		return p.giveUp(ctx, c, ReasonNone)
	}
	return p.postpone(ctx, c, func(c *Commitment) {
		if !counts && c.State == Claimed {
			c.Claim.Tries--
		}
		if c.Canceled && c.State == Claimed {
			c.end(Lapsed, ReasonCanceled, p.bank.Now())
		}
	})
}

// postpone releases the lease of a commitment until its backoff is over, and changes it.
func (p *pass) postpone(ctx context.Context, c *Commitment, to func(*Commitment)) error {
	ok, err := p.change(ctx, c, func(c *Commitment) {
		c.Lease = time.Time{}
		c.Due = p.bank.Now().Add(backoff(p.cfg.Backoff, c.Claim.Tries))
		to(c)
	}, func(next *Commitment) (bool, error) { return p.store(ctx, next) })
	if ok {
		p.do(func() { p.done.Failed++ })
	}
	return err
}
