package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/memory"
)

// Rules is the default [Planner]. It needs no model; its plan is a pure function of the
// entries in any order (C3):
//
//   - Entries are merged if their texts are equal in canonical form, see the package
//     documentation, and they have the same tags and the same subjects, in any order (C9).
//     Texts that say something relative to their day are equal only if they are of one day.
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
func (Rules) Version() string { return "rules/4" }

// Plan makes the plan. It stops with the context's error.
func (Rules) Plan(ctx context.Context, entries []memory.Entry) (Plan, error) {
	successors, err := planSlots(ctx, entries)
	if err != nil {
		return nil, err
	}
	says, err := read(ctx, entries)
	if err != nil {
		return nil, err
	}
	type group struct {
		by         *memory.Entry // the successor of values of a slot
		superseded bool
		saying
	}
	groups := map[group][]*memory.Entry{}
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		g := group{saying: says[e]}
		if by, slotted := successors[e]; slotted {
			switch {
			case by == nil:
				continue // it stays
			case says[e] == says[by]:
				g.by = by
			default:
				g = group{by: by, superseded: true}
			}
		}
		groups[g] = append(groups[g], e)
	}
	var p Plan
	for k, list := range groups {
		slices.SortFunc(list, longestLived)
		if k.by != nil {
			list = slices.Insert(list, 0, k.by)
		}
		if len(list) < 2 {
			continue
		}
		g := Group{Keep: list[0].ID, Superseded: k.superseded, Reason: "equal but for spaces, quotation marks or a last full stop"}
		if g.Superseded {
			g.Reason = "a newer value of the same slot"
		}
		for _, e := range list[1:] {
			g.Retire = append(g.Retire, e.ID)
		}
		slices.Sort(g.Retire)
		p = append(p, g)
	}
	slices.SortFunc(p, func(a, b Group) int {
		return cmp.Or(-cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Keep, b.Keep)) // merges first: "equal…"
	})
	return p, nil
}

// saying is what entries that may be merged have in common.
type saying struct {
	form, labels string
	day          string // see dayOf; empty if all of that form and those labels were written on one date
}

// read takes what the entries say. It reads for days only what others of another date say in the same form.
func read(ctx context.Context, entries []memory.Entry) (map[*memory.Entry]saying, error) {
	says, dates := make(map[*memory.Entry]saying, len(entries)), map[saying]string{}
	const several = "several"
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		s := saying{form: facts.Form(e.Content), labels: labelKey(e)}
		says[e] = s
		if date, known := dates[s]; !known {
			dates[s] = dateOf(e)
		} else if date != dateOf(e) {
			dates[s] = several
		}
	}
	when := map[string]facts.When{} // by form
	for e, s := range says {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if dates[s] != several {
			continue
		}
		if _, known := when[s.form]; !known {
			when[s.form] = facts.ReadWhen(s.form)
		}
		s.day = when[s.form].Day(e.CreatedAt)
		says[e] = s
	}
	return says, nil
}

// slotsOf are the names of the slots that an entry declares.
func slotsOf(e *memory.Entry) (names []string) {
	for _, t := range e.Tags {
		if name, ok := strings.CutPrefix(t, SlotPrefix); ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// planSlots returns for each entry that declares a slot the one that supersedes it, nil for one
// that stays. Only values of the same subjects supersede each other.
func planSlots(ctx context.Context, entries []memory.Entry) (map[*memory.Entry]*memory.Entry, error) {
	var values []*memory.Entry
	for i := range entries {
		if len(slotsOf(&entries[i])) > 0 {
			values = append(values, &entries[i])
		}
	}
	slices.SortFunc(values, (*memory.Entry).Compare) // newest first (M5)
	successors := map[*memory.Entry]*memory.Entry{}
	stay := map[[2]string][]*memory.Entry{} // values of a slot, each of which lives longer than all newer ones
	for _, e := range values {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var by *memory.Entry // the newest that lives at least as long
		stays := false       // in one of its slots
		for _, name := range slotsOf(e) {
			slot := [2]string{name, nameSet(e.Subjects)}
			newer := stay[slot]
			if i, _ := slices.BinarySearchFunc(newer, e, compareLife); i == len(newer) {
				stay[slot], stays = append(newer, e), true
			} else if by == nil || newer[i].Compare(by) < 0 {
				by = newer[i]
			}
		}
		if stays {
			by = nil
		}
		successors[e] = by
	}
	return successors, ctx.Err()
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
	if len(names) == 0 {
		return "[]" // as below, and most entries have none
	}
	return fmt.Sprintf("%q", slices.Compact(slices.Sorted(slices.Values(names))))
}
