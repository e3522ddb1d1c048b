package memory

import (
	"context"
	"errors"
)

// putAll makes the entries of drafts that were written in one mutation. As the run was, it is refused if
// what they replace was ended by another caller, or a name was taken.
func (p *replayer) putAll(ctx context.Context, s Scope, drafts []Draft) ([]Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := endings(drafts); err != nil {
		return nil, err
	}
	firsts := make([]*Entry, len(drafts))
	for i, d := range drafts {
		first, err := p.firstReplaced(ctx, s, d, p.nextID(s.Ref, i))
		if err != nil {
			return nil, err
		}
		firsts[i] = first
	}
	stored := make([]Entry, 0, len(drafts))
	for i, d := range drafts {
		e, err := p.write(ctx, s, d, firsts[i])
		if i == 0 && d.Name != "" && errors.Is(err, ErrDiverged) {
			return nil, fail(ErrConflict, "the write is not in the record: another live entry had Draft.Name")
		}
		if err != nil {
			return nil, err
		}
		if p.past != nil {
			p.past.view.replace(s.Ref, d.Replaces, ownEntry{id: e.ID, createdAt: e.CreatedAt})
		}
		stored = append(stored, e)
	}
	return stored, nil
}

// firstReplaced returns the first of the entries that a draft replaced, if all were ended by the recorded write.
func (p *replayer) firstReplaced(ctx context.Context, s Scope, d Draft, by string) (first *Entry, err error) {
	for i, id := range d.Replaces {
		old, err := p.get(ctx, s.Ref, id)
		if err == nil {
			err = p.ended(ctx, s, id, Superseded, by)
		}
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = &old
		}
	}
	return first, nil
}
