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
// value. It returns which entries declare a slot.
func (r Rules) planSlots(ctx context.Context, entries []memory.Entry, apart undone, p *Plan) (func(id string) bool, error) {
	of := map[string][]slot{}
	values := map[slot][]*memory.Entry{}
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		if r.Slot == nil && len(e.Tags) == 0 {
			continue
		}
		names, err := r.slots(*e)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			s := slot{name, nameSet(e.Subjects)}
			of[e.ID] = append(of[e.ID], s)
			values[s] = append(values[s], e)
		}
	}
	stay := map[slot][]*memory.Entry{}
	for s, list := range values {
		stay[s] = unsuperseded(list)
	}
	followers := map[*memory.Entry][]*memory.Entry{} // of each entry, those that give way to it
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		if by := successor(e, of[e.ID], stay); by != nil && !apart.anyApart(by.ID, e.ID) {
			followers[by] = append(followers[by], e)
		}
	}
	for by, list := range followers {
		restating, older := []*memory.Entry{by}, []string(nil)
		same, is := labelKey(by), form(by.Content)
		for _, e := range list {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if labelKey(e) == same && slices.Equal(of[e.ID], of[by.ID]) && form(e.Content) == is {
				restating = append(restating, e)
			} else {
				older = append(older, e.ID)
			}
		}
		p.merge(restating, apart)
		if len(older) > 0 {
			slices.Sort(older)
			p.Supersede = append(p.Supersede, Supersede{By: by.ID, Retire: older, Reason: "a newer value of the same slot"})
		}
	}
	return func(id string) bool { return of[id] != nil }, nil
}

// unsuperseded returns the values of a slot that no newer one supersedes, newest first: each
// lives longer than all before it.
func unsuperseded(values []*memory.Entry) (stay []*memory.Entry) {
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
