package commitment

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Restore makes a commitment of the job's tenant what it was in another store, and returns it as it
// is then. Its Ref and MemoryID name the entry of this store; its id derives from them. It is how
// memory moves from one store to another without a reminder that fires again or not at all.
//
// The arm goes on as far as it had come. What had ended stays ended. A firing that was under way is due at once, under
// the key that it had, so that an [Enqueuer] which has started its run finds it. A commitment that
// is there and has come as far is returned as it is: restoring twice changes nothing.
//
// Errors: [memory.ErrValidation] for an arm or a state that is none; [memory.ErrSecretLeakage] if
// the job's redactor finds a secret in the arm or the source; [memory.ErrNotFound] if the
// ref has no such live entry, also because the ref is not the tenant's.
func (e *Engine) Restore(ctx context.Context, j *memory.Job, was Commitment) (Commitment, error) {
	if j == nil {
		return Commitment{}, errJob
	}
	was.Arm = was.Arm.normal()
	source := Source{was.Ref, was.MemoryID}
	err := was.Arm.check()
	if err == nil && !was.State.known() {
		err = invalid("Commitment.State is none of the states of a commitment")
	}
	if err == nil {
		err = refuseSecrets(ctx, j, source, was.Arm)
	}
	if err == nil && was.MemoryID != "" {
		_, err = j.Get(ctx, was.Ref, was.MemoryID)
	}
	if err != nil {
		return Commitment{}, err
	}
	c := was.restored(j.Tenant(), e.bank.Now())
	for {
		known, err := e.load(ctx, c.Tenant, c.ID)
		if err == nil && !known.isBehind(&c) {
			return e.lasting(ctx, known, nil)
		}
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return Commitment{}, err
		}
		c.Rev = known.Rev
		made, err := j.Rewrite(ctx, c.Ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: c.document()}}
		}})
		if ok, err := e.stored(made.Revs, err, &c); ok || err != nil {
			return c, err
		}
	}
}

// known reports whether s is a state of a commitment.
func (s State) known() bool { return s.Final() || s == Armed || s == Claimed || s == Delivered }

// restored returns what c is in another store, of a tenant.
func (c Commitment) restored(tenant string, now time.Time) Commitment {
	claim, given := c.Claim.movedFrom(&c), c.GivenUp.movedFrom(&c)
	c.Tenant, c.ID, c.Rev = tenant, ID(tenant, c.Ref, c.MemoryID, c.Arm), 0
	c.Claim, c.GivenUp, c.MovedTo = claim, given, "" // the id of the other store
	switch {
	case c.State.Final():
		c.Due, c.Lease = time.Time{}, time.Time{}
	case c.State != Armed:
		c.Claim.Tries, c.Due, c.Lease = 0, now, time.Time{}
	}
	return c
}

// isBehind reports whether c has not come as far as another state of the same commitment.
func (c *Commitment) isBehind(other *Commitment) bool {
	switch {
	case c.State != Armed:
		return false
	case other.State.Final():
		return true
	}
	return c.Mark.Before(other.Mark) || c.Position < other.Position
}
