package consolidate

import (
	"context"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// SlotPrefix begins a tag that declares an entry to be a value of a slot.
const SlotPrefix = "slot:"

func tagSlots(e memory.Entry) (slots []string) {
	for _, t := range e.Tags {
		if name, ok := strings.CutPrefix(t, SlotPrefix); ok && name != "" {
			slots = append(slots, name)
		}
	}
	return slots
}

// slot is a declared slot of some subjects. Only values of the same subjects supersede
// each other.
type slot struct{ name, subjects string }

// planSlots plans what is superseded, and what is merged because it restates the newest
// value. It returns the ids of all entries that declare a slot.
func (r Rules) planSlots(ctx context.Context, entries []memory.Entry, apart undone, p *Plan) (map[string]bool, error) {
	slotted := map[string]bool{}
	of := map[string][]slot{}
	values := map[slot][]*memory.Entry{}
	for i := range entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		if r.Slot == nil && len(e.Tags) == 0 {
			continue
		}
		subjects := ""
		for k, name := range r.slots(*e) {
			if k == 0 {
				slotted[e.ID], subjects = true, nameSet(e.Subjects)
			}
			s := slot{name, subjects}
			of[e.ID] = append(of[e.ID], s)
			values[s] = append(values[s], e)
		}
	}
	stay := map[slot][]*memory.Entry{}
	for s, list := range values {
		stay[s] = staying(list)
	}
	merged, over := map[string][]*memory.Entry{}, map[string][]string{}
	for i := range entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		by := successor(e, of[e.ID], stay)
		if by == nil || apart.apart(by.ID, e.ID) {
			continue
		}
		if labels(by) != labels(e) || !slices.Equal(of[by.ID], of[e.ID]) || form(by.Content) != form(e.Content) {
			over[by.ID] = append(over[by.ID], e.ID)
			continue
		}
		if merged[by.ID] == nil {
			merged[by.ID] = []*memory.Entry{by}
		}
		merged[by.ID] = append(merged[by.ID], e)
	}
	for _, list := range merged {
		p.merge(list, apart)
	}
	for id, list := range over {
		slices.Sort(list)
		p.Supersede = append(p.Supersede, Supersede{By: id, Retire: list, Reason: "a newer value of the same slot"})
	}
	return slotted, nil
}

// staying are the values of a slot that no newer one supersedes, newest first: each
// lives longer than all before it.
func staying(values []*memory.Entry) (stay []*memory.Entry) {
	slices.SortFunc(values, func(a, b *memory.Entry) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	for _, e := range values {
		if len(stay) == 0 || compareLife(e, stay[len(stay)-1]) > 0 {
			stay = append(stay, e)
		}
	}
	return stay
}

// successor is the entry that e gives way to: the newest that stays in one of its slots
// and lives at least as long. It is nil if e stays in one of its slots.
func successor(e *memory.Entry, slots []slot, stay map[slot][]*memory.Entry) (by *memory.Entry) {
	for _, s := range slots {
		// Life ascends in the list, and the last of it lives at least as long as e.
		list := stay[s]
		i, _ := slices.BinarySearchFunc(list, e, compareLife)
		if list[i].ID == e.ID || !list[i].Before(e) {
			return nil
		}
		if by == nil || list[i].Before(by) {
			by = list[i]
		}
	}
	return by
}
