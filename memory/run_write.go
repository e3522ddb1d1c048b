package memory

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/telemetry"
)

// Put redacts a draft and writes it to the ref, and returns the entry as stored.
// The run sees it from then on; other runs that are open do not. Where the bank
// has WriteEvents, the write and its memory.written event commit together. In a
// replay nothing is written: the recorded id and instant come back.
//
// Errors: [ErrValidation], [ErrForbidden] for another tenant's ref,
// [ErrSecretLeakage], [ErrBacklog], [ErrEnded], [ErrDiverged] in a replay. After
// [ErrInternal] the entry may have been written; a second try writes another one.
func (r *Run) Put(ctx context.Context, ref string, d Draft) (e Entry, err error) {
	if d.conditional() {
		return putOne(ctx, r.PutAll, ref, d)
	}
	ctx, span := r.bank.begin(ctx, telemetry.Put)
	defer span.Done(&err)
	if err := r.enter(); err != nil {
		return Entry{}, err
	}
	defer r.life.RUnlock()
	s, err := r.writable(ctx, ref, &d)
	if err != nil {
		return Entry{}, err
	}
	if r.replay != nil {
		return r.replay.put(ctx, s, d)
	}
	e, err = r.entry(ctx, d, false, r.bank.Now())
	if err != nil {
		return Entry{}, err
	}
	if e, err = r.store(ctx, s, e, d); err != nil {
		return e, err
	}
	r.viewLock.Lock()
	r.view.add(ref, ownEntry{id: e.ID, createdAt: e.CreatedAt})
	r.viewLock.Unlock()
	span.Add(telemetry.Records.Of(1), telemetry.Redactions.Of(redactions(&d, &e)))
	return e, nil
}

// writable is the scope that a run may write a draft to.
func (r *Run) writable(ctx context.Context, ref string, d *Draft) (Scope, error) {
	if !d.CreatedAt.IsZero() {
		return Scope{}, fail(ErrValidation, "Draft.CreatedAt is set, and a run cannot backdate an entry: use a Job")
	}
	return r.target(ctx, ref)
}

// Delete ends the life of an entry that the run can see, and reports whether it
// could see it. Other runs that start later do not see the entry; this one goes on
// seeing it unless it wrote it itself (RFC 0004 §A). An entry that was merged or
// superseded since the run started is [ErrConflict]: [Bank.Lineage] tells what it
// became. In a replay nothing is deleted.
func (r *Run) Delete(ctx context.Context, ref, id string) (seen bool, err error) {
	ctx, span := r.bank.begin(ctx, telemetry.Delete)
	defer span.Done(&err)
	if err := r.enter(); err != nil {
		return false, err
	}
	defer r.life.RUnlock()
	s, err := r.target(ctx, ref)
	if err != nil {
		return false, err
	}
	if !validID(id) {
		return false, nil
	}
	if r.replay != nil {
		return r.replay.delete(ctx, s, id)
	}
	if _, err := r.lookUp(ctx, s, id); err != nil {
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	deleted, err := r.bank.store.Delete(ctx, s, id, r.bank.Now())
	if err != nil {
		return false, shape(err)
	}
	if !deleted {
		recs, err := r.bank.tx.Lookup(ctx, s, []string{id})
		if err != nil {
			return false, shape(err)
		}
		if len(recs) > 0 && (recs[0].State == Merged || recs[0].State == Superseded) {
			return false, fail(ErrConflict, "the entry has been merged or superseded")
		}
	}
	r.viewLock.Lock()
	r.view.drop(ref, id)
	r.viewLock.Unlock()
	span.Add(telemetry.Records.Of(1))
	return true, nil
}
