package memory

import (
	"context"
	"errors"
)

// Fate is what became of an entry.
type Fate struct {
	// State is Live for an entry that is in lists now, Merged or Superseded for one
	// whose Head is, and otherwise Deleted: the entry and whatever took its place
	// were deleted, have expired or were forgotten.
	State State
	// Head is the live entry at the end of the lineage; the entry itself if it is
	// live. It is zero if State is Deleted.
	Head Entry
}

// Trace follows an entry to the head of its lineage: through every entry that it was
// merged into or superseded by. Having been superseded anywhere on the way counts as
// [Superseded]. An id that the ref never held, or one that may not be known, is
// [ErrNotFound]. The store must be a [Transactor].
func (b *Bank) Trace(ctx context.Context, tenant, ref, id string) (Fate, error) {
	if b.tx == nil {
		return Fate{}, fail(ErrNotProvided, "lineage needs a Transactor")
	}
	if err := ctx.Err(); err != nil {
		return Fate{}, shape(err)
	}
	s, err := b.resolve(ctx, tenant, ref)
	if err != nil || !validID(id) {
		return Fate{}, fail(ErrNotFound, "")
	}
	fate := Fate{State: Live}
	for {
		rec, err := b.tx.Lookup(ctx, s, id)
		if errors.Is(err, ErrNotFound) {
			return Fate{}, fail(ErrNotFound, "")
		}
		if err != nil {
			return Fate{}, shape(err)
		}
		switch rec.State {
		case Live:
			if rec.Erased || !rec.Entry.LiveAt(b.Now()) {
				return Fate{State: Deleted}, nil
			}
			fate.Head = ownCopy(rec.Entry)
			return fate, nil
		case Deleted:
			return Fate{State: Deleted}, nil
		case Merged, Superseded:
			fate.State = max(fate.State, rec.State)
			id = rec.For
		}
	}
}
