package consolidate

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// maxGroup bounds the entries that one new text takes the place of.
const maxGroup = 256

// check drops the groups of a plan that break a rule, whoever made it. The rules that
// need the merged text are checked when it is there.
func (p *pass) check(ctx context.Context, plan Plan) (out Plan, refused []Refusal, err error) {
	gone := map[string]bool{}
	fits := func(keep string, retire []string, rule func() (string, error)) bool {
		if err != nil || ctx.Err() != nil {
			err = cmp.Or(err, ctx.Err())
			return false
		}
		why := p.whyNotThere(keep, retire, gone)
		if why == "" {
			why, err = rule()
		}
		switch {
		case err != nil:
			return false
		case why != "":
			refused = append(refused, Refusal{slices.Concat(asList(keep), retire), why})
			return false
		}
		for _, id := range retire {
			gone[id] = true
		}
		return true
	}
	for _, m := range plan.Merge {
		if fits(m.Keep, m.Retire, func() (string, error) { return p.whyNotMerge(m) }) {
			out.Merge = append(out.Merge, m)
		}
	}
	for _, s := range plan.Supersede {
		if fits(s.By, s.Retire, func() (string, error) { return p.whyNotSupersede(s) }) {
			out.Supersede = append(out.Supersede, s)
		}
	}
	if err != nil {
		return Plan{}, nil, err
	}
	return out, refused, nil
}

// whyNotThere names what keeps a group from being applied after others that retire the gone
// entries, "" if nothing.
func (p *pass) whyNotThere(keep string, retire []string, gone map[string]bool) (why string) {
	switch {
	case len(retire) == 0:
		why = "nothing to retire"
	case keep != "" && (p.entries[keep] == nil || gone[keep]):
		why = "the entry that is to stay is not there to stay"
	}
	seen := map[string]bool{keep: keep != ""}
	for _, id := range retire {
		switch {
		case p.entries[id] == nil:
			why = "an entry is not part of the corpus, or must not be changed"
		case gone[id] || seen[id]:
			why = "an entry is named twice"
		}
		seen[id] = true
	}
	return why
}

func asList(id string) []string {
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

// whyNotMerge names the rule that a merge breaks, "" if none.
func (p *pass) whyNotMerge(m Merge) (string, error) {
	ids := slices.Concat(asList(m.Keep), m.Retire)
	if p.apart.anyApart(ids...) {
		return "the same merge was undone", nil
	}
	group := p.group(ids)
	for i := range group {
		if labelKey(&group[i]) != labelKey(&group[0]) {
			return "the tags or the subjects differ", nil
		}
	}
	writes := m.Keep == "" || m.Text != ""
	switch {
	case writes && m.Text == "" && p.cfg.Merger == nil:
		return "there is nobody to write the merged text", nil
	case writes && len(group) > maxGroup:
		return "the group is too large for one text", nil
	}
	keep := &group[0]
	is := form(keep.Content)
	slots, err := p.rules().slots(*keep)
	if err != nil {
		return "", err
	}
	var others []string // that are not equal in form
	for i := range group[1:] {
		e := &group[i+1]
		equal := form(e.Content) == is
		if !equal {
			others = append(others, e.Content)
		}
		if c := compareLife(keep, e); c < 0 || c > 0 && (writes || !equal) {
			return "the expiries differ", nil
		}
		if writes {
			continue
		}
		if own, err := p.rules().slots(*e); err != nil || !slices.Equal(own, slots) {
			return "the slots differ", err
		}
	}
	if writes || len(others) == 0 {
		return "", nil // what is written is checked when it is there
	}
	return changedFact(keep.Content, others), nil
}

// whyNotSupersede names the rule that a supersession breaks, "" if none (C8).
func (p *pass) whyNotSupersede(s Supersede) (string, error) {
	by := p.entries[s.By]
	slots, err := p.rules().slots(*by)
	if err != nil {
		return "", err
	}
	for _, e := range p.group(s.Retire) {
		if p.apart.anyApart(s.By, e.ID) {
			return "the same supersession was undone", nil
		}
		if !by.Before(&e) {
			return "the newest value of a slot stays", nil
		}
		own, err := p.rules().slots(e)
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(own, func(slot string) bool { return slices.Contains(slots, slot) }) {
			return "the slots differ", nil
		}
		if nameSet(by.Subjects) != nameSet(e.Subjects) {
			return "the subjects differ", nil
		}
		if compareLife(by, &e) < 0 {
			return "the older value lives longer", nil
		}
	}
	return "", nil
}

// merge applies one group.
func (p *pass) merge(ctx context.Context, m Merge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Keep != "" && m.Text == "" {
		return p.retireAll(ctx, memory.Merged, m.Keep, m.Retire)
	}
	ids := slices.Concat(asList(m.Keep), m.Retire)
	group := p.group(ids)
	refuse := func(why string) error {
		p.result.Refused = append(p.result.Refused, Refusal{ids, why})
		return nil
	}
	text := m.Text
	if text == "" {
		var err error
		if text, err = p.callMerger(ctx, group); errors.Is(err, ErrDiffer) {
			p.result.Different++
			return nil
		} else if err != nil {
			return err
		}
	}
	text, err := p.job.Redact(ctx, text)
	if errors.Is(err, memory.ErrValidation) {
		return refuse("the merged text is not text")
	} else if err != nil {
		return err
	}
	is := form(text)
	if is == "" {
		return refuse("the merged text is empty")
	}
	texts := make([]string, len(group))
	stays := ""
	for i, e := range group {
		texts[i] = e.Content
		if form(e.Content) == is && stays == "" {
			stays = e.ID
		}
	}
	if why := changedFact(text, texts); why != "" {
		return refuse(why)
	}
	if stays != "" {
		return p.retireAll(ctx, memory.Merged, stays, slices.DeleteFunc(ids, func(id string) bool { return id == stays }))
	}
	d := memory.Derived{Draft: memory.Draft{Content: text, Tags: group[0].Tags, ExpiresAt: group[0].ExpiresAt}, Sources: ids, Merges: ids}
	for _, e := range group {
		// The new text is as old as what it says, or it would pass for the newest value
		// of its slot.
		if e.CreatedAt.After(d.CreatedAt) {
			d.CreatedAt = e.CreatedAt
		}
	}
	err = p.apply(ctx, memory.Rewrite{Derive: []memory.Derived{d}}, memory.Merged, "", ids)
	if errors.Is(err, memory.ErrValidation) {
		return refuse("the merged text breaks a limit")
	}
	return err
}

// callMerger returns the text that the merger makes of a group.
func (p *pass) callMerger(ctx context.Context, group []memory.Entry) (string, error) {
	if err := p.renew(ctx); err != nil {
		return "", err
	}
	given := ownAll(group)
	text, err := call(ctx, p.Consolidator, "the merger", func(ctx context.Context) (string, error) {
		return p.cfg.Merger.Merge(ctx, given)
	})
	if err == nil && len(text) > maxAnswer(group) {
		return "", internal("the merger's answer is too long", nil)
	}
	return text, err
}
