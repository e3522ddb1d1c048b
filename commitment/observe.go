package commitment

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Observation is what a host found when it evaluated a predicate.
type Observation struct {
	// Tenant and Predicate name what was evaluated.
	Tenant, Predicate string
	// Position orders the observations of a predicate: one that is not newer than the last
	// is dropped, so that repeating one and telling them out of order is safe.
	Position int64
	// State is what the predicate was evaluated on. The engine keeps a digest of it, and only
	// compares.
	State []byte
	// Holds says whether the predicate is true of that state.
	Holds bool
}

// Observe tells the engine the state of a predicate. It returns the ids of the commitments
// that it made fire; the next tick delivers them.
//
// A commitment fires if its predicate holds and its state has changed since the
// observation before; the first observation is a change from nothing (RFC 0060 §B).
// Position, state and claim are one swap. A host that could not evaluate in time does
// not observe, and nothing changes.
//
// While earlier transitions of a commitment are still being delivered, at most
// [MaxWaiting] wait. What would be one more is refused with [memory.ErrBacklog] and
// may be observed again. Neither that nor one that cannot be read, see [ErrNewerFormat],
// keeps the others from observing it.
func (e *Engine) Observe(ctx context.Context, o Observation) (claimed []string, err error) {
	ctx, span := e.bank.Engines().Begin(ctx, telemetry.Observe)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Claimed.Of(len(claimed))) }()
	if !validName(o.Predicate) {
		return nil, invalid("Observation.Predicate is empty, has other characters than letters, digits and . _ : / -, or more than 128")
	}
	var refused error
	for c, err := range e.each(ctx, o.Tenant, driver.DocumentQuery{Group: o.Predicate}) {
		if err != nil && c.ID == "" {
			return claimed, err
		}
		if err != nil {
			refused = err // the others observe it
			continue
		}
		fires := false
		err := e.update(ctx, &c, func(c *Commitment) (ok bool, err error) {
			ok, fires, err = c.observe(o, e.bank.Now())
			return ok, err
		})
		switch {
		case err == nil && fires:
			claimed = append(claimed, c.ID)
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
func (c *Commitment) observe(o Observation, now time.Time) (ok, fires bool, err error) {
	if c.State.Final() || c.Canceled || (c.Digest != "" && o.Position <= c.Position) {
		return false, false, nil
	}
	// The digest is the same for all that wait for the predicate, so that a claim can move to the
	// commitment of the entry that its own was merged into.
	seen := digestOf("%q %q %q", c.Tenant, c.Arm.Predicate, o.State)
	fires = o.Holds && seen != c.Digest && (c.State == Armed || !c.Arm.Once)
	switch {
	case !fires:
	case c.State == Armed:
		c.State, c.Claim, c.Due = Claimed, Claim{Position: o.Position}, now
	case len(c.Waiting) >= MaxWaiting:
		return false, false, memory.ErrBacklog.In(pkg, "too many transitions wait for delivery", nil)
	default:
		c.Waiting = append(c.Waiting, o.Position)
	}
	c.Position, c.Digest = o.Position, seen
	return true, fires, nil
}
