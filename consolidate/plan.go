package consolidate

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Plan is what a pass means to do, as a value: it can be printed, tested and thrown away. It
// names entries by id and holds no text of them. Its groups are applied in their order.
type Plan []Group

// Group is entries that are retired in favour of one.
type Group struct {
	// Keep is the entry that stays. It is empty if the [Merger] is to say in what words the
	// entries become one.
	Keep string `json:"keep,omitempty"`
	// Retire are the entries that Keep replaces.
	Retire []string `json:"retire"`
	// Superseded says that Keep is a newer value of a slot of each. Otherwise all entries of
	// the group say the same, or the Merger is to say whether they do.
	Superseded bool `json:"superseded,omitempty"`
	// Reason explains the group; it must not hold what an entry says.
	Reason string `json:"-"`
}

// state is what the retired entries become.
func (g *Group) state() driver.State {
	if g.Superseded {
		return memory.Superseded
	}
	return memory.Merged
}

// ids are the entries of the group, the one that stays first.
func (g *Group) ids() []string {
	if g.Keep == "" {
		return g.Retire
	}
	return slices.Concat([]string{g.Keep}, g.Retire)
}

// What is compared with a text that is to replace it is at most so many texts, of so many bytes
// together.
const (
	maxGroup = 32
	maxTexts = 1 << 18
)

// check drops the groups of a plan that break a rule, also if the host's planner made it, and of others the
// entries that are to be kept apart. What a merger writes is checked when it is there.
func (p *pass) check(ctx context.Context, plan Plan) (sound Plan, err error) {
	gone := map[string]bool{}
	for _, g := range plan {
		why, err := p.whyNot(ctx, &g, gone)
		if err != nil {
			return nil, err
		}
		if why != "" {
			p.refuse(&g, why)
			continue
		}
		for _, id := range g.Retire {
			gone[id] = true
		}
		sound = append(sound, g)
	}
	return sound, nil
}

func (p *pass) refuse(g *Group, why string) {
	p.result.Refused = append(p.result.Refused, Refusal{g.ids(), why})
}

// whyNot names the rule that a group breaks after others that retire the gone entries, "" if
// none. It takes out of the group what is to be kept apart.
func (p *pass) whyNot(ctx context.Context, g *Group, gone map[string]bool) (string, error) {
	if len(g.Retire) == 0 || len(g.ids()) < 2 || g.Superseded && g.Keep == "" {
		return "there is nothing to retire, or nothing that stays", ctx.Err()
	}
	seen := map[string]bool{}
	for _, id := range g.ids() {
		switch {
		case p.entries[id] == nil:
			return "an entry is not part of the corpus, or must not be changed", nil
		case gone[id] || seen[id]:
			return "an entry is named twice", nil
		}
		seen[id] = true
	}
	apart := p.undone.without(*g)
	if len(apart.ids()) < 2 {
		return "the same was undone", nil
	}
	*g = apart
	if g.Superseded {
		return p.whyNotSupersede(g), ctx.Err()
	}
	return p.whyNotMerge(ctx, g)
}

func (p *pass) group(g *Group) (entries []memory.Entry) {
	for _, id := range g.ids() {
		entries = append(entries, *p.entries[id])
	}
	return entries
}

// whyNotMerge names the rule that a merge breaks, "" if none (C8, C9).
func (p *pass) whyNotMerge(ctx context.Context, g *Group) (string, error) {
	if g.Keep == "" && p.cfg.Merger == nil {
		return "there is no merger to write the text", ctx.Err()
	}
	group := p.group(g)
	first := &group[0]
	var others []string // that are not equal in form
	size := len(first.Content)
	for i := range group[1:] {
		e := &group[i+1]
		equal := g.Keep != "" && facts.Form(e.Content) == facts.Form(first.Content)
		if !equal {
			others = append(others, e.Content)
			size += len(e.Content)
		}
		life := compareLife(first, e)
		switch {
		case labelKey(e) != labelKey(first):
			return "the tags or the subjects differ", nil
		case life < 0 || life > 0 && !equal:
			return "the expiries differ", nil
		case len(others) > maxGroup || size > maxTexts:
			return "the group is too large for one text", nil
		}
	}
	if !areOfOneDay(group) {
		return severalDays, nil
	}
	if g.Keep == "" || len(others) == 0 {
		return "", ctx.Err()
	}
	return facts.Changed(ctx, first.Content, others)
}

const severalDays = "the texts speak of different days"

// whyNotSupersede names the rule that a supersession breaks, "" if none (C8).
func (p *pass) whyNotSupersede(g *Group) string {
	by := p.entries[g.Keep]
	slots, subjects := slotsOf(by), nameSet(by.Subjects)
	for _, id := range g.Retire {
		e := p.entries[id]
		switch {
		case by.Compare(e) >= 0:
			return "the newest value of a slot stays"
		case !slices.ContainsFunc(slotsOf(e), func(slot string) bool { return slices.Contains(slots, slot) }):
			return "the slots differ"
		case nameSet(e.Subjects) != subjects:
			return "the subjects differ"
		case compareLife(by, e) < 0:
			return "the older value lives longer"
		}
	}
	return ""
}
