package memory

import "context"

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
// [ErrNotFound]. The store must be a Transactor.
func (b *Bank) Trace(ctx context.Context, tenant, ref, id string) (Fate, error) {
	fates, err := b.TraceAll(ctx, tenant, ref, []string{id})
	if err != nil {
		return Fate{}, err
	}
	if f, known := fates[id]; known {
		return f, nil
	}
	return Fate{}, fail(ErrNotFound, "")
}

// TraceAll is [Bank.Trace] for many entries of a ref, in as many calls of the store as
// the longest lineage is long, or a few more. Ids that the ref never held, or that may
// not be known, are left out.
func (b *Bank) TraceAll(ctx context.Context, tenant, ref string, ids []string) (map[string]Fate, error) {
	if b.tx == nil {
		return nil, fail(ErrNotProvided, "lineage needs a Transactor")
	}
	fates := map[string]Fate{}
	s, held, err := b.visible(ctx, tenant, ref)
	if !held || err != nil {
		return fates, err
	}
	type step struct {
		from  string // where the trace began
		at    string
		state State
	}
	var steps []step
	for _, id := range ids {
		if validID(id) {
			steps = append(steps, step{id, id, Live})
		}
	}
	for len(steps) > 0 {
		at := map[string]*Record{}
		var names []string
		for _, x := range steps {
			if _, known := at[x.at]; !known {
				at[x.at] = nil
				names = append(names, x.at)
			}
		}
		recs, err := lookup(ctx, b.tx, s, names)
		if err != nil {
			return nil, err
		}
		for i := range recs {
			at[recs[i].Entry.ID] = &recs[i]
		}
		next := steps[:0]
		for _, x := range steps {
			switch rec := at[x.at]; {
			case rec == nil && x.at == x.from:
			case rec == nil || rec.State == Deleted:
				fates[x.from] = Fate{State: Deleted}
			case rec.State == Live && (rec.Erased || !rec.Entry.LiveAt(b.Now())):
				fates[x.from] = Fate{State: Deleted}
			case rec.State == Live:
				fates[x.from] = Fate{State: x.state, Head: ownCopy(rec.Entry)}
			default:
				next = append(next, step{x.from, rec.For, max(x.state, rec.State)})
			}
		}
		steps = next
	}
	return fates, nil
}
