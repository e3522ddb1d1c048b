package commitment

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Source is where a commitment comes from: an entry of a ref, or with an empty
// MemoryID the ref as a whole.
type Source struct{ Ref, MemoryID string }

// Arm makes a commitment of the job's tenant and returns it. If there is one already
// that binds the same entry to the same arm, that one is returned as it is, in
// any state: what was fired or canceled is not armed again, and for what was given up
// there is [Engine.Retry]. It does not look at entries that this one has replaced, as Infer does.
//
// The arm is refused, with [memory.ErrValidation], if it is malformed, if its instant
// is not in the future or its schedule does not move on, and if its predicate is not
// registered; with a [*HorizonError] if its next instant lies too far ahead; with
// [memory.ErrSecretLeakage] if the job's redactor finds a secret in it or in the source;
// with [memory.ErrNotFound] if the ref has no such live entry, also because the ref is not
// the tenant's; and without an entry with [memory.ErrForbidden] if the ref is not the
// tenant's.
func (e *Engine) Arm(ctx context.Context, j *memory.Job, s Source, a Arm) (Commitment, error) {
	if j == nil {
		return Commitment{}, errJob
	}
	a = a.normal()
	if err := e.admit(ctx, j, s, a); err != nil {
		return Commitment{}, err
	}
	if s.MemoryID != "" {
		if _, err := j.Get(ctx, s.Ref, s.MemoryID); err != nil {
			return Commitment{}, err
		}
	}
	c := e.commitment(j, s, a)
	known, err := e.load(ctx, c.Tenant, c.ID)
	if !errors.Is(err, memory.ErrNotFound) {
		return e.lasting(ctx, known, err)
	}
	if c.Due, err = e.nextOf(ctx, a, c.ArmedAt, c.ArmedAt, c.ArmedAt); err != nil {
		return Commitment{}, err
	}
	// A rewrite of the ref refuses one that is not the tenant's, and what holds a secret.
	made, err := j.Rewrite(ctx, s.Ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
		return []driver.DocumentSwap{{Document: c.document()}}
	}})
	if errors.Is(err, memory.ErrConflict) {
		known, err = e.load(ctx, c.Tenant, c.ID)
		return e.lasting(ctx, known, err)
	}
	if err != nil {
		return Commitment{}, err
	}
	c.Rev = made.Revs[0]
	return c, nil
}

// lasting returns a commitment that is there once it is as lasting as what was acknowledged: the call that
// made it may not have been, and a database may show what its standby has not got.
func (e *Engine) lasting(ctx context.Context, known Commitment, err error) (Commitment, error) {
	if err != nil {
		return Commitment{}, err
	}
	_, err = e.bank.Engines().Swap(ctx, known.Tenant, driver.DocumentSwap{Document: known.document(), Act: driver.Check})
	if errors.Is(err, memory.ErrConflict) { // it has changed, which was acknowledged or is tried again
		return e.load(ctx, known.Tenant, known.ID)
	}
	return known, err
}

// commitment is a new one of the job's tenant, which is not due yet.
func (e *Engine) commitment(j *memory.Job, s Source, a Arm) Commitment {
	return Commitment{
		Tenant: j.Tenant(), ID: ID(j.Tenant(), s.Ref, s.MemoryID, a),
		Ref: s.Ref, MemoryID: s.MemoryID, Arm: a, ArmedAt: e.bank.Now(), State: Armed,
	}
}

// admit refuses an arm that is malformed, unknown to the host, or holds a secret, and a
// source that holds one.
func (e *Engine) admit(ctx context.Context, j *memory.Job, s Source, a Arm) error {
	if err := a.check(); err != nil {
		return err
	}
	if a.Predicate != "" {
		const part = "the registry of predicates"
		known, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(context.Context) (bool, error) {
			return e.cfg.Predicate != nil && e.cfg.Predicate(j.Tenant(), a.Predicate), nil
		})
		if err != nil {
			return hostcall.Failed(ctx, part, err, internal)
		}
		if !known {
			return errPredicate
		}
	}
	return refuseSecrets(ctx, j, s, a)
}

// refuseSecrets refuses an arm or a source that holds a secret.
func refuseSecrets(ctx context.Context, j *memory.Job, s Source, a Arm) error {
	for name, text := range map[string]string{
		"Source.Ref": s.Ref, "Source.MemoryID": s.MemoryID, "Arm.Spec": a.Spec, "Arm.Predicate": a.Predicate,
	} {
		clean, err := j.Redact(ctx, text)
		if err != nil {
			return err
		}
		if clean != text {
			return memory.ErrSecretLeakage.In(pkg, name+" holds a secret", nil)
		}
	}
	return nil
}
