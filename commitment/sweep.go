package commitment

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Swept tells what an [Engine.Sweep] did.
type Swept struct {
	Lapsed  int // commitments that waited for a predicate, and whose entry is gone
	Removed int // ended commitments that nothing needs any more
	Revived int // recurring ones that had lapsed by a merge or a supersession that was undone
}

// sweepPageSize is how many commitments are looked up at a time.
const sweepPageSize = 256

// sweepPause is the time between two sweeps of all tenants.
const sweepPause = 24 * time.Hour

// sweepNext sweeps one tenant if the last sweep of all of them began a day ago.
func (e *Engine) sweepNext(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bank.Now().Before(e.sweep) {
		return nil
	}
	for s, err := range e.bank.Engines().Scopes(ctx, e.last) {
		if errors.Is(err, memory.ErrNotProvided) {
			break // the store does not list its tenants: the host sweeps them
		}
		if err == nil {
			e.last = memory.Scope{Tenant: s.Tenant, Ref: "\xff"} // behind all of its refs
			_, err = e.Sweep(ctx, s.Tenant)
		}
		return err
	}
	e.last, e.sweep = memory.Scope{}, e.bank.Now().Add(sweepPause)
	return nil
}

// Sweep ends commitments of a tenant that wait for a predicate and whose entries are gone, and
// removes those that have ended. One that waits for an instant lapses at that instant.
// memory.Bank.Maintain does it once a day; a host whose store does not list its tenants
// calls it for each. It costs what the tenant has armed and ended.
//
//   - What waits for a predicate is never due by itself. It lapses if its entry is gone: it
//     was deleted, has expired or was forgotten.
//   - What has ended stays for as long as its entry does, so that inferring again does not
//     arm it again (K1). It is removed when the entry is gone; without an entry, when it
//     ended longer ago than [Config.Retention], or if it was given up, after a person has
//     canceled it or taken it up again.
//
// An entry that was merged or superseded is not gone while it can be restored, also if the
// entry that replaced it is gone. When it is live again, what recurs goes on: a commitment that
// lapsed by the merge or the supersession is armed again for what comes next, unless MovedTo
// names one that has not ended and fires in its place.
//
// Commitments that cannot be read are left alone. Sweep returns the first such error at
// the end, and stops after any other.
func (e *Engine) Sweep(ctx context.Context, tenant string) (done Swept, err error) {
	ctx, span := e.bank.Engines().Begin(ctx, telemetry.Sweep)
	defer span.Done(&err)
	defer func() {
		span.Add(telemetry.Armed.Of(done.Revived), telemetry.Lapsed.Of(done.Lapsed), telemetry.Removed.Of(done.Removed))
	}()
	var unread error
	var batch []Commitment
	for c, err := range e.Commitments(ctx, tenant) {
		switch {
		case err != nil && c.ID == "":
			return done, err
		case err != nil && unread == nil:
			unread = err
		case err == nil && (c.State.Final() || c.State == Armed && c.Arm.Predicate != ""):
			batch = append(batch, c)
		}
		if len(batch) == sweepPageSize {
			if err := e.sweepPage(ctx, batch, &done); err != nil {
				return done, err
			}
			batch = batch[:0]
		}
	}
	if err := e.sweepPage(ctx, batch, &done); err != nil {
		return done, err
	}
	return done, unread
}

// sweepPage removes or ends the commitments of a page whose entries are gone, and arms those again whose
// entries were restored.
func (e *Engine) sweepPage(ctx context.Context, batch []Commitment, done *Swept) error {
	ids := map[string][]string{} // of entries, by ref
	for _, c := range batch {
		if c.MemoryID != "" {
			ids[c.Ref] = append(ids[c.Ref], c.MemoryID)
		}
	}
	outcomes := map[string]map[string]memory.Outcome{} // by ref and entry
	for ref, list := range ids {
		var err error
		if outcomes[ref], err = e.bank.Lineage(ctx, batch[0].Tenant, ref, list...); err != nil {
			return err
		}
	}
	for _, c := range batch {
		outcome, found := outcomes[c.Ref][c.MemoryID]
		gone := c.MemoryID != "" && (!found || outcome.State == memory.Deleted && !outcome.Restorable)
		if c.MemoryID == "" && c.State.Final() && c.GivenUp == (Claim{}) {
			gone = e.bank.Now().Sub(c.EndedAt) > e.cfg.Retention
		}
		if !gone {
			if err := e.rearmLapsed(ctx, c, outcome, done); err != nil {
				return err
			}
			continue
		}
		count, swap := &done.Removed, driver.DocumentSwap{Document: c.document(), Act: driver.Remove}
		if !c.State.Final() {
			c.end(Lapsed, ReasonGone, e.bank.Now())
			count, swap = &done.Lapsed, driver.DocumentSwap{Document: c.document()}
		}
		revs, err := e.bank.Engines().Swap(ctx, c.Tenant, swap)
		ok, err := e.stored(revs, err)
		if err != nil {
			return err
		}
		if ok {
			*count++
		}
	}
	return nil
}

// rearmLapsed arms a recurring commitment again that lapsed because its entry, which is live again, had
// been merged or superseded.
func (e *Engine) rearmLapsed(ctx context.Context, c Commitment, outcome memory.Outcome, done *Swept) error {
	if !c.isReplaced() || c.Canceled || c.Arm.once() || outcome.State != memory.Live {
		return nil
	}
	if c.MovedTo != "" {
		into, err := e.load(ctx, c.Tenant, c.MovedTo)
		switch {
		case errors.Is(err, memory.ErrNotFound):
		case errors.Is(err, ErrNewerFormat) || err == nil && (!into.State.Final() || into.MovedTo != ""):
			return nil
		case err != nil:
			return err
		case into.Mark.After(c.Mark):
			c.Mark = into.Mark
		case into.Position > c.Position:
			c.Position, c.Digest = into.Position, into.Digest
		}
	}
	c.State, c.Reason, c.MovedTo, c.Claim, c.EndedAt = Armed, ReasonNone, "", Claim{}, time.Time{}
	now := e.bank.Now()
	due, reason, err := e.next(ctx, c.Arm, c.ArmedAt, slices.MaxFunc([]time.Time{c.Mark, now}, time.Time.Compare), now)
	if c.Due = due; reason != ReasonNone || err != nil {
		return err
	}
	ok, err := e.swap(ctx, &c)
	if ok {
		done.Revived++
	}
	return err
}
