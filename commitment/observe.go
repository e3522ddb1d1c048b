package commitment

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/memory"
)

// Observe tells the engine what a predicate looks like: its state, which the engine
// only compares, and whether it holds. It returns how many commitments it made fire;
// the next tick delivers them.
//
// A commitment fires if its predicate holds and its state has changed since the
// observation before; the first observation is a change from nothing (RFC 0060 §B).
// Position orders the observations of a predicate: one that is not newer than the
// last is dropped, so that repeating one and telling them out of order is safe.
// Position, state and claim are one swap. A host that could not evaluate in time does
// not observe, and nothing changes.
//
// While earlier transitions of a commitment are still being delivered, at most
// [MaxWaiting] wait. What would be one more is refused with [memory.ErrBacklog] and
// may be observed again. Neither that nor one that cannot be read, see [ErrNewerFormat],
// keeps the others from observing it.
func (e *Engine) Observe(ctx context.Context, tenant, predicate string, position int64, state []byte, holds bool) (int, error) {
	if !validName(predicate) {
		return 0, invalid("malformed predicate name")
	}
	claimed := 0
	var refused error
	for c, err := range e.each(ctx, tenant, memory.DocumentQuery{Group: predicate}) {
		if err != nil && c.ID == "" {
			return claimed, err
		}
		if err != nil {
			refused = err // the others observe it
			continue
		}
		fires := false
		err := e.update(ctx, &c, func(c *Commitment) (ok bool, err error) {
			ok, fires, err = c.observe(position, state, holds)
			if fires && c.State == Armed {
				c.State = Claimed
				c.Claim = Claim{Position: position}
				c.Due = e.bank.Now()
			} else if fires {
				c.Waiting = append(c.Waiting, position)
			}
			return ok, err
		})
		switch {
		case err == nil && fires:
			claimed++
		case errors.Is(err, memory.ErrBacklog), errors.Is(err, ErrNewerFormat):
			refused = err
		case err != nil && !errors.Is(err, memory.ErrNotFound): // it was swept away meanwhile
			return claimed, err
		}
	}
	return claimed, refused
}

// observe takes in an observation. It reports whether that changed anything, and
// whether the commitment fires for it.
func (c *Commitment) observe(position int64, state []byte, holds bool) (ok, fires bool, err error) {
	if c.State.Final() || c.Canceled || (c.Digest != "" && position <= c.Position) {
		return false, false, nil
	}
	seen := digest(c.Tenant, c.Arm.Predicate, state)
	fires = holds && seen != c.Digest
	if fires && c.State != Armed {
		if c.Arm.Once {
			fires = false
		} else if len(c.Waiting) >= MaxWaiting {
			return false, false, &refusal{memory.ErrBacklog, "too many transitions wait for delivery", nil}
		}
	}
	c.Position, c.Digest = position, seen
	return true, fires, nil
}
