package memory

import (
	"context"
	"errors"
	"slices"
)

// putAll makes the entries of drafts that were written in one mutation. As the run was, it is refused if
// what they replace was ended by another caller, or a name was taken.
func (p *replayer) putAll(ctx context.Context, s Scope, drafts []Draft) ([]Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := endings(drafts); err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(drafts, func(d Draft) bool { return d.Name != "" })
	stored := make([]Entry, 0, len(drafts))
	for i, d := range drafts {
		old, err := p.replaced(ctx, s, d, p.nextID(s.Ref, i))
		if err != nil {
			return nil, err
		}
		e, err := p.recorded(ctx, s, d, old, i)
		if named && errors.Is(err, ErrDiverged) {
			return nil, fail(ErrConflict, "the write is not in the record: another live entry had Draft.Name")
		}
		if err != nil {
			return nil, err
		}
		stored = append(stored, e)
	}
	for i := range stored {
		if err := p.repeat(ctx, s, &stored[i]); err != nil {
			return nil, err
		}
		if p.past != nil {
			p.past.view.replace(s.Ref, drafts[i].Replaces, ownEntry{id: stored[i].ID, createdAt: stored[i].CreatedAt})
		}
	}
	return stored, nil
}

// replaced returns what an entry took over from those that it replaced, if all were ended by the recorded write; nil if it
// replaced none.
func (p *replayer) replaced(ctx context.Context, s Scope, d Draft, by string) (*Entry, error) {
	var replaced []Entry
	for _, id := range d.Replaces {
		old, err := p.get(ctx, s.Ref, id)
		if err == nil {
			err = p.ended(ctx, s, id, Superseded, by)
		}
		if err != nil {
			return nil, err
		}
		replaced = append(replaced, old)
	}
	if len(replaced) == 0 {
		return nil, nil
	}
	return joined(replaced), nil
}
