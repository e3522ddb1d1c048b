package commitment

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/memory"
)

// Source is where a commitment comes from: an entry of a ref, or with an empty
// MemoryID the ref as a whole.
type Source struct{ Ref, MemoryID string }

// Arm makes a commitment of the job's tenant and returns it. If there is one already
// that binds the same entry to the same arm, that one is returned as it is, in
// whatever state: what was fired or canceled is not armed again.
//
// The arm is refused, with [memory.ErrValidation], if it is malformed, if its instant
// is not in the future or its schedule does not move on, and if its predicate is not
// registered; with a [*HorizonError] if its next instant lies too far ahead; with
// [memory.ErrSecretLeakage] if the job's redactor finds a secret in it; and with
// [memory.ErrNotFound] or the bank's other errors if its entry is not live memory of
// the tenant.
func (e *Engine) Arm(ctx context.Context, j *memory.Job, s Source, a Arm) (Commitment, error) {
	c, _, err := e.arm(ctx, j, s, a, false)
	return c, err
}

// arm also tells whether the commitment is new.
func (e *Engine) arm(ctx context.Context, j *memory.Job, s Source, a Arm, complete bool) (c Commitment, fresh bool, err error) {
	a = a.normal()
	if err := e.admit(j, a); err != nil {
		return Commitment{}, false, err
	}
	// Both also tell whether the ref is the tenant's.
	if s.MemoryID != "" {
		_, err = j.Get(ctx, s.Ref, s.MemoryID)
	} else {
		_, err = j.Cell(ctx, s.Ref, "commitment")
	}
	if err != nil {
		return Commitment{}, false, err
	}
	now := e.bank.Now()
	c = Commitment{
		Tenant: j.Tenant(), ID: ID(j.Tenant(), s.Ref, s.MemoryID, a),
		Ref: s.Ref, MemoryID: s.MemoryID, Arm: a, ArmedAt: now, State: Armed, Complete: complete,
	}
	known, err := e.cfg.Store.Get(ctx, c.Tenant, c.ID)
	if err == nil {
		return known, false, nil
	}
	if !errors.Is(err, memory.ErrNotFound) {
		return Commitment{}, false, storeFailed(err)
	}
	if a.Predicate == "" {
		if c.Due, err = e.nextOf(a, now, now); err != nil {
			return Commitment{}, false, err
		}
		if c.Due.Sub(now) > e.cfg.Horizon {
			return Commitment{}, false, &HorizonError{e.cfg.Horizon}
		}
	}
	if ok, err := e.swap(ctx, &c); ok || err != nil {
		return c, ok, err
	}
	known, err = e.cfg.Store.Get(ctx, c.Tenant, c.ID)
	return known, false, storeFailed(err)
}

// admit refuses an arm that is malformed, unknown to the host, or holds a secret.
func (e *Engine) admit(j *memory.Job, a Arm) error {
	if err := a.check(); err != nil {
		return err
	}
	if a.Predicate != "" && !e.cfg.Predicate(j.Tenant(), a.Predicate) {
		return errPredicate
	}
	for _, name := range []string{a.Spec, a.Predicate} {
		clean, err := j.Redact(name)
		if err != nil {
			return err
		}
		if clean != name {
			return &refusal{memory.ErrSecretLeakage, "an arm holds a secret", nil}
		}
	}
	return nil
}
