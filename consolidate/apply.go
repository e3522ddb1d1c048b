package consolidate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// step bounds the entries that one mutation retires in favour of one that stays.
const step = 64

// apply commits one group of the plan.
func (p *pass) apply(ctx context.Context, g *Group) error {
	if g.Keep == "" {
		derived, err := p.merge(ctx, g)
		if derived != nil {
			if err = p.retire(ctx, *g, *derived); errors.Is(err, memory.ErrValidation) {
				p.refuse(g, "the merged text breaks a limit")
				err = nil
			}
		}
		if err != nil || g.Keep == "" {
			return err
		}
	}
	for part := range slices.Chunk(g.Retire, step) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.retire(ctx, Group{Keep: g.Keep, Retire: part, Superseded: g.Superseded}); err != nil {
			return err
		}
	}
	return nil
}

// merge asks the merger in what words the entries of a group become one. If one of them says
// it already, that is the one to keep. Otherwise it returns the entry to write; none if the
// entries differ, or the answer was refused.
func (p *pass) merge(ctx context.Context, g *Group) (*memory.Derived, error) {
	group := p.group(g)
	given := copies(group)
	text, err := call(ctx, p, "the merger", func(ctx context.Context) (string, error) { return p.cfg.Merger.Merge(ctx, given) })
	switch {
	case errors.Is(err, ErrDiffer):
		p.result.Different++
		return nil, nil
	case err != nil:
		return nil, err
	case len(text) > 4*maxTexts:
		return nil, internal("the merger's answer is too long", nil)
	}
	text, err = p.job.Redact(ctx, text)
	if errors.Is(err, memory.ErrValidation) {
		p.refuse(g, "the merged text is not text")
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	texts := make([]string, len(group))
	stays := -1
	for i, e := range group {
		texts[i] = e.Content
		if facts.Form(e.Content) == facts.Form(text) {
			stays = i
		}
	}
	why := "the merged text is empty"
	if facts.Form(text) != "" {
		if why, err = facts.Changed(ctx, text, texts); err != nil {
			return nil, err
		}
	}
	switch {
	case why != "":
		p.refuse(g, why)
		return nil, nil
	case stays >= 0:
		g.Keep = g.Retire[stays]
		g.Retire = slices.Delete(slices.Clone(g.Retire), stays, stays+1)
		return nil, nil
	}
	d := memory.Derived{Draft: memory.Draft{Content: text, Tags: group[0].Tags, ExpiresAt: group[0].ExpiresAt}, Sources: g.Retire, Merges: g.Retire}
	for _, e := range group {
		// The new text is as old as what it says, or it would pass for the newest value
		// of its slot.
		if e.CreatedAt.After(d.CreatedAt) {
			d.CreatedAt = e.CreatedAt
		}
	}
	// What no source says relative to its day, their words put together may.
	if group = append(group, memory.Entry{Content: text, CreatedAt: d.CreatedAt}); !areOfOneDay(group) {
		p.refuse(g, severalDays)
		return nil, nil
	}
	return &d, nil
}

// retire commits the retirement of the entries of a group, with the entry that replaces them if
// that is new, and its line in the journal.
func (p *pass) retire(ctx context.Context, g Group, derived ...memory.Derived) error {
	rw := memory.Rewrite{Derive: derived}
	if g.Keep != "" {
		rw.Expect = []string{g.Keep}
		for _, id := range g.Retire {
			rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: g.state(), For: g.Keep})
		}
	}
	next := p.held()
	next.Derived += len(derived)
	if g.Superseded {
		next.Superseded += len(g.Retire)
	} else {
		next.Merged += len(g.Retire)
	}
	ids := slices.Concat(next.IDs, g.Retire)
	next.IDs = ids[:min(len(ids), MaxMergedIDs+1)]
	// The revision of the lease, which every mutation raises, makes the key.
	made, err := p.commit(ctx, rw, next, driver.DocumentSwap{Document: driver.Document{
		Scope: p.lease.doc.Scope, Kind: memory.RemoveWhenDue, Key: fmt.Sprintf("%s%016x", journalKey, p.lease.doc.Rev),
		Group: hash(p.job.ID()), Value: encode(g), Due: p.job.Now().Add(Retention),
	}})
	if errors.Is(err, errStale) {
		p.result.Skipped++
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range g.Retire {
		p.left.add(id, -1)
	}
	for _, e := range made.Entries { // of the tags of those that it replaces
		p.left.add(e.ID, 1)
	}
	p.left.Retired += len(g.Retire)
	p.left.Put += len(made.Entries)
	return nil
}
