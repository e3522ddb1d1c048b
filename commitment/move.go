package commitment

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// transferClaim moves a claim to the commitment of the entry that has replaced its own, so that
// all that were replaced by it fire once. Both change in one swap. If the entry was superseded by
// one that neither has the commitment nor declares its arm, nothing fires.
func (p *pass) transferClaim(ctx context.Context, c *Commitment, head *memory.Entry, why Reason) error {
	id := ID(c.Tenant, c.Ref, head.ID, c.Arm)
	ok, err := p.change(ctx, c, func(c *Commitment) {
		c.MovedTo = id
		c.end(Lapsed, why, p.bank.Now())
	}, func(next *Commitment) (bool, error) {
		into, err := p.load(ctx, c.Tenant, id)
		switch {
		case errors.Is(err, memory.ErrNotFound) && why == ReasonSuperseded && !declares(head, c):
			next.MovedTo = "" // who reads the entry later may find the arm
			return p.store(ctx, next)
		case errors.Is(err, memory.ErrNotFound):
			into = c.movedTo(head.ID, p.until)
		case err != nil:
			return false, err
		case !into.moveClaim(c, p.until):
			return p.store(ctx, next)
		}
		return p.store(ctx, next, &into)
	})
	if ok {
		p.do(func() { p.done.Lapsed++ })
	}
	if errors.Is(err, ErrNewerFormat) { // of the commitment that it was moved to
		p.record(&p.problem, err)
		return p.retry(ctx, c, false)
	}
	return err
}

// declares reports whether the tags of an entry ask for c's arm, see [Tagged]. It asks no model.
func declares(e *memory.Entry, c *Commitment) bool {
	found, _ := Tagged{}.Infer(context.Background(), Request{Entries: []memory.Entry{*e}})
	return slices.ContainsFunc(found.Intents, func(i Intent) bool { return i.Arm.normal() == c.Arm })
}

// movedTo returns the commitment of the entry that has replaced c's, as far as c has come. A
// firing under way, or one that lapsed because the entry was replaced, is due now.
func (c *Commitment) movedTo(entry string, now time.Time) Commitment {
	into := *c
	into.ID, into.MemoryID, into.Rev = ID(c.Tenant, c.Ref, entry, c.Arm), entry, 0
	into.Claim, into.GivenUp = c.Claim.movedFrom(c), c.GivenUp.movedFrom(c)
	if c.lapsedUnfired() {
		into.State, into.Reason, into.EndedAt = Claimed, ReasonNone, time.Time{}
	}
	if into.State == Claimed || into.State == Delivered {
		into.Claim.Tries, into.Lease, into.Due = 0, time.Time{}, now
	}
	return into
}

// moveClaim moves c's claim to the commitment of the entry that has replaced c's. It
// reports false if that one has passed the claim, or fires by itself.
func (into *Commitment) moveClaim(c *Commitment, now time.Time) bool {
	switch {
	case into.State != Armed:
		return false
	case c.Arm.Predicate == "":
		if !c.Claim.Instant.After(into.Mark) {
			return false
		}
		into.Mark = c.Mark
	default:
		if into.Digest != "" && c.Claim.Position <= into.Position {
			return false
		}
		into.Position, into.Digest, into.Waiting = c.Position, c.Digest, c.Waiting
	}
	into.State, into.Due, into.Claim = Claimed, now, c.Claim.movedFrom(c)
	into.Claim.Tries = 0
	into.GivenUp = cmp.Or(into.GivenUp, c.GivenUp.movedFrom(c))
	return true
}

// movedFrom is a claim of c for another commitment. It keeps its key, so that the run which it may
// have started already is found.
func (a Claim) movedFrom(c *Commitment) Claim {
	if a != (Claim{}) {
		a.By = cmp.Or(a.By, c.ID)
	}
	return a
}

// takeOver lets c go on for the commitment with the same arm of an entry that c's own has replaced,
// and returns what becomes of that one, if there is one.
func (in *inferring) takeOver(ctx context.Context, c *Commitment) ([]Commitment, error) {
	old, why, err := in.predecessor(ctx, c)
	if err != nil || old.ID == "" {
		return nil, err
	}
	now := in.bank.Now()
	*c = old.movedTo(c.MemoryID, now)
	old.GivenUp = Claim{}
	switch {
	case old.State == Claimed || old.State == Delivered || old.State == GivenUp:
		old.end(Lapsed, why, now)
		old.MovedTo = c.ID
	case old.lapsedUnfired():
		old.MovedTo = c.ID
	} // While it is armed both are, and the first to claim an instant keeps the other from it.
	return []Commitment{old}, nil
}

// predecessor returns the commitment with c's arm of an entry that c's own has replaced, and how. It goes
// back to entries that were read before: what they did not ask for is new. Its ID is empty if there is none.
func (in *inferring) predecessor(ctx context.Context, c *Commitment) (old Commitment, why Reason, err error) {
	for recs := in.replaced[c.MemoryID]; len(recs) > 0; {
		var ids []string
		for _, rec := range recs {
			found, err := in.load(ctx, c.Tenant, ID(c.Tenant, c.Ref, rec.Entry.ID, c.Arm))
			switch {
			case errors.Is(err, memory.ErrNotFound):
				if in.marks[rec.Entry.ID].rev == 0 {
					ids = append(ids, rec.Entry.ID)
				}
			case err != nil:
				return old, why, err
			case old.ID == "" || compareOpen(&found, &old) > 0:
				old, why = found, ReasonMerged
				if rec.State == memory.Superseded {
					why = ReasonSuperseded
				}
			}
		}
		if recs, err = in.bank.Engines().Replaced(ctx, c.Tenant, c.Ref, ids...); err != nil {
			return old, why, err
		}
	}
	return old, why, nil
}

// lookBack reads which entries were replaced by those of which something was found.
func (in *inferring) lookBack(ctx context.Context, arms map[string][]Arm) error {
	recs, err := in.bank.Engines().Replaced(ctx, in.job.Tenant(), in.ref, slices.Sorted(maps.Keys(arms))...)
	in.replaced = map[string][]memory.Record{}
	for _, rec := range recs {
		in.replaced[rec.For] = append(in.replaced[rec.For], rec)
	}
	return err
}

// compareOpen orders commitments by how much of them is left to do, and then by how far they have come.
func compareOpen(a, b *Commitment) int {
	left := func(c *Commitment) int {
		switch {
		case c.State == Claimed || c.State == Delivered:
			return 3
		case c.State == Armed:
			return 2
		case c.State == GivenUp || c.lapsedUnfired():
			return 1
		}
		return 0
	}
	return cmp.Or(left(a)-left(b), a.Mark.Compare(b.Mark), cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID))
}

// lapsedUnfired reports whether the entry was superseded while a firing was under way, which no other
// commitment has taken over.
func (c *Commitment) lapsedUnfired() bool {
	return c.State == Lapsed && c.Reason == ReasonSuperseded && !c.Canceled && c.MovedTo == ""
}
