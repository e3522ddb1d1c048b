package consolidate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// maxGroup bounds the entries that one new text takes the place of.
const maxGroup = 256

// check drops the groups of a plan that break a rule, whoever made it. The rules that
// need the merged text are checked when it is there.
func (p *pass) check(plan Plan) (Plan, []Refusal) {
	out := Plan{Considered: plan.Considered}
	var refused []Refusal
	gone, stays := map[string]bool{}, map[string]bool{}
	try := func(keep string, retire []string, rule func() string) bool {
		why := ""
		seen := map[string]bool{keep: keep != ""}
		switch {
		case len(retire) == 0:
			why = "nothing to retire"
		case keep != "" && (p.entries[keep] == nil || gone[keep]):
			why = "the entry that is to stay is not there to stay"
		}
		for _, id := range retire {
			switch {
			case p.entries[id] == nil:
				why = "an entry is not part of the corpus, or must not be changed"
			case gone[id] || stays[id] || seen[id]:
				why = "an entry is named twice"
			}
			seen[id] = true
		}
		if why == "" {
			why = rule()
		}
		if why != "" {
			refused = append(refused, Refusal{slices.Concat(one(keep), retire), why})
			return false
		}
		for _, id := range retire {
			gone[id] = true
		}
		if keep != "" {
			stays[keep] = true
		}
		return true
	}
	for _, m := range plan.Merge {
		if try(m.Keep, m.Retire, func() string { return p.mayMerge(m) }) {
			out.Merge = append(out.Merge, m)
		}
	}
	for _, s := range plan.Supersede {
		if try(s.By, s.Retire, func() string { return p.maySupersede(s) }) {
			out.Supersede = append(out.Supersede, s)
		}
	}
	return out, refused
}

func one(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

func (p *pass) group(ids []string) []memory.Entry {
	out := make([]memory.Entry, len(ids))
	for i, id := range ids {
		out[i] = *p.entries[id]
	}
	return out
}

// mayMerge names the rule that a merge breaks, "" if none.
func (p *pass) mayMerge(m Merge) string {
	ids := slices.Concat(one(m.Keep), m.Retire)
	var undone groups
	for _, id := range ids {
		if undone.has(p.apart, id) {
			return "the same merge was undone"
		}
		undone.add(p.apart, id)
	}
	if p.writes(m) {
		if m.Text == "" && p.cfg.Merger == nil {
			return "there is nobody to write the merged text"
		}
		if len(ids) > maxGroup {
			return "the group is too large for one text"
		}
		for _, e := range p.group(ids)[1:] {
			if !e.ExpiresAt.Equal(p.entries[ids[0]].ExpiresAt) {
				return "the expiries differ"
			}
		}
		return ""
	}
	keep := p.entries[m.Keep]
	text := parse(keep.Content)
	slots := p.cfg.Slot(*keep)
	for _, e := range p.group(m.Retire) {
		other := parse(e.Content)
		if kind := lost(text, []note{other}); kind != "" {
			return "the " + kind + " differ"
		}
		for _, slot := range p.cfg.Slot(e) {
			if !slices.Contains(slots, slot) {
				return "the slots differ"
			}
		}
		if c := compareLife(keep, &e); c != 0 {
			if c < 0 || equalText(keep.Content) != equalText(e.Content) {
				return "the expiries differ"
			}
		}
	}
	return ""
}

// writes reports whether a merge brings a new text.
func (p *pass) writes(m Merge) bool {
	if m.Text != "" || m.Keep == "" {
		return true
	}
	return p.cfg.Merger != nil && m.rewrite
}

// maySupersede names the rule that a supersession breaks, "" if none (C8).
func (p *pass) maySupersede(s Supersede) string {
	by := p.entries[s.By]
	slots := p.cfg.Slot(*by)
	for _, e := range p.group(s.Retire) {
		if p.apart.apart(superseding, s.By, e.ID) {
			return "the same supersession was undone"
		}
		if !by.Before(&e) {
			return "the newest value of a slot stays"
		}
		if !slices.ContainsFunc(p.cfg.Slot(e), func(slot string) bool { return slices.Contains(slots, slot) }) {
			return "the slots differ"
		}
	}
	return ""
}

// merge applies one group.
func (p *pass) merge(ctx context.Context, m Merge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.writes(m) {
		return p.retireAll(ctx, memory.Merged, m.Keep, m.Retire)
	}
	ids := slices.Concat(one(m.Keep), m.Retire)
	group := p.group(ids)
	text, err := p.text(ctx, m, group)
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		p.result.Refused = append(p.result.Refused, Refusal{ids, why})
		return nil
	}
	if text, err = p.job.Redact(text); errors.Is(err, memory.ErrValidation) {
		return refuse("the merged text is not text")
	} else if err != nil {
		return err
	}
	sources := make([]note, len(group))
	for i, e := range group {
		sources[i] = parse(e.Content)
	}
	merged := parse(text)
	if len(merged) == 0 {
		return refuse("the merged text is empty")
	}
	if kind := lost(merged, sources); kind != "" {
		return refuse("the merged text changes the " + kind)
	}
	if m.Keep != "" && text == group[0].Content {
		return p.retireAll(ctx, memory.Merged, m.Keep, m.Retire)
	}
	d := memory.Derived{Draft: memory.Draft{Content: text, ExpiresAt: group[0].ExpiresAt}, Sources: ids, Merges: ids}
	for _, e := range group {
		// The new text is as old as what it says, or it would pass for the newest value
		// of its slot.
		if e.CreatedAt.After(d.CreatedAt) {
			d.CreatedAt = e.CreatedAt
		}
		for _, t := range e.Tags {
			if !slices.Contains(d.Tags, t) {
				d.Tags = append(d.Tags, t)
			}
		}
	}
	_, err = p.apply(ctx, memory.Rewrite{Derive: []memory.Derived{d}}, memory.Merged, "", ids)
	if errors.Is(err, memory.ErrValidation) {
		return refuse("the merged text breaks a limit")
	}
	return err
}

// text is the text of a merge, from the planner or the merger.
func (p *pass) text(ctx context.Context, m Merge, group []memory.Entry) (string, error) {
	if m.Text != "" {
		return m.Text, nil
	}
	// The lease is renewed, so that the merger has all its time.
	if time.UnixMilli(p.held.Until).Sub(p.job.Now()) < p.cfg.Lease/2+p.cfg.Timeout/2 {
		if _, err := p.commit(ctx, memory.Rewrite{}, func(*state) {}); err != nil {
			return "", err
		}
	}
	within, cancel := p.within(ctx)
	defer cancel()
	text, err := p.cfg.Merger.Merge(within, slices.Clone(group))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		err = within.Err()
	}
	if err != nil {
		return "", &failure{memory.ErrInternal, "the merger failed", err}
	}
	return text, nil
}
