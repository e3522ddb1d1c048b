package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// Rules is the default [Planner]. It needs no model; its plan is a pure function of the
// entries in any order (C3):
//
//   - Entries are merged if their texts are equal in canonical form, see the package
//     documentation, and they have the same tags and the same subjects, in any order (C9).
//   - The one that stays is the one that lives longest, then the oldest, so that what
//     points to it stays right.
//   - An entry that declares a slot, by a tag that begins with [SlotPrefix], is superseded if
//     each of its slots has a newer entry of the same subjects that lives at least as long (C8).
//     It is replaced by the newest of those that stay; if the two are equal in form and have the
//     same tags, it is merged into that one instead. Entries that declare slots are not merged
//     otherwise, because an older value that returns is news.
//
// Its cost is near-linear in the bytes of the entries.
type Rules struct{}

// SlotPrefix begins a tag that declares an entry to be a value of a slot: "slot:acme/price".
const SlotPrefix = "slot:"

// Version names the rules, for the digest of C2.
func (Rules) Version() string { return "rules/3" }

// Plan makes the plan. It stops with the context's error.
func (Rules) Plan(ctx context.Context, entries []memory.Entry) (Plan, error) {
	successors, err := planSlots(ctx, entries)
	if err != nil {
		return nil, err
	}
	type key struct {
		by           *memory.Entry // the successor of a value of a slot
		form, labels string
	}
	equal := map[key][]*memory.Entry{}
	older := map[*memory.Entry][]string{}
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		by, slotted := successors[e]
		switch {
		case !slotted:
			k := key{nil, form(e.Content), labelKey(e)}
			equal[k] = append(equal[k], e)
		case by == nil: // it stays
		case labelKey(e) == labelKey(by) && form(e.Content) == form(by.Content):
			equal[key{by: by}] = append(equal[key{by: by}], e)
		default:
			older[by] = append(older[by], e.ID)
		}
	}
	var p Plan
	for k, group := range equal {
		slices.SortFunc(group, longestLived)
		if k.by != nil {
			group = slices.Insert(group, 0, k.by)
		}
		if len(group) < 2 {
			continue
		}
		g := Group{Keep: group[0].ID, Reason: "equal in canonical form"}
		for _, e := range group[1:] {
			g.Retire = append(g.Retire, e.ID)
		}
		p = append(p, g)
	}
	for by, ids := range older {
		p = append(p, Group{Keep: by.ID, Retire: ids, Superseded: true, Reason: "a newer value of the same slot"})
	}
	for i := range p {
		slices.Sort(p[i].Retire)
	}
	slices.SortFunc(p, func(a, b Group) int {
		return cmp.Or(-cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Keep, b.Keep)) // merges first
	})
	return p, nil
}

// slot is a declared slot of some subjects. Only values of the same subjects supersede
// each other.
type slot struct{ name, subjects string }

// slotsOf are the names of the slots that an entry declares.
func slotsOf(e *memory.Entry) (names []string) {
	for _, t := range e.Tags {
		if name, ok := strings.CutPrefix(t, SlotPrefix); ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// planSlots returns the successor of each entry that declares a slot, nil for one that stays.
func planSlots(ctx context.Context, entries []memory.Entry) (map[*memory.Entry]*memory.Entry, error) {
	of := map[*memory.Entry][]slot{}
	values := map[slot][]*memory.Entry{}
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		for _, name := range slotsOf(e) {
			s := slot{name, nameSet(e.Subjects)}
			of[e] = append(of[e], s)
			values[s] = append(values[s], e)
		}
	}
	for s, list := range values {
		values[s] = unsuperseded(list)
	}
	successors := map[*memory.Entry]*memory.Entry{}
	for e, slots := range of {
		successors[e] = successor(e, slots, values)
	}
	return successors, ctx.Err()
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

// successor is the entry that supersedes e: the newest that stays in one of its slots
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

// longestLived orders entries by how long they live, the longest first, then by age.
func longestLived(a, b *memory.Entry) int {
	return cmp.Or(-compareLife(a, b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// compareLife compares how long two entries live.
func compareLife(a, b *memory.Entry) int {
	switch {
	case a.ExpiresAt.Equal(b.ExpiresAt):
		return 0
	case a.ExpiresAt.IsZero():
		return 1
	case b.ExpiresAt.IsZero():
		return -1
	}
	return a.ExpiresAt.Compare(b.ExpiresAt)
}

// labelKey returns the tags and subjects of an entry as one string. Two entries have the same
// string only if they have the same tags and the same subjects, in any order.
func labelKey(e *memory.Entry) string { return nameSet(e.Tags) + nameSet(e.Subjects) }

// nameSet writes a set of names so that no two sets are written alike.
func nameSet(names []string) string {
	return fmt.Sprintf("%q", slices.Compact(slices.Sorted(slices.Values(names))))
}
