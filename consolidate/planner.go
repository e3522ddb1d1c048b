package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// Rules is the default [Planner]. It needs no model; its plan is a pure function of the
// entries, whatever their order (C3):
//
//   - Entries are merged if their texts are equal in canonical form, see the package
//     documentation, and they have the same tags and the same subjects, in any order (C9).
//   - The one that stays is the one that lives longest, then the oldest, so that what
//     points to it stays right.
//   - An entry that declares a slot is superseded if each of its slots has a newer entry of
//     the same subjects that lives at least as long (C8). It gives way to the newest of
//     those that stay; if the two are equal in form and have the same tags and slots, it
//     is merged into that one instead. Entries that declare slots are not merged otherwise,
//     because an older value that returns is news.
//
// Its cost is near-linear in the bytes of the entries. The zero value reads slots from
// tags "slot:<name>".
type Rules struct {
	// Slot names the slots that an entry is a value of: "acme/price". Nil takes them
	// from its tags that begin with "slot:". It is called in place.
	Slot func(memory.Entry) []string
	// SlotVersion names the version of Slot. Give it another value when Slot changes.
	SlotVersion string
}

// Version names the rules, for the digest of C2.
func (r Rules) Version() string { return "rules/2 " + r.SlotVersion }

func (r Rules) slots(e memory.Entry) (names []string, err error) {
	if r.Slot == nil {
		names = tagSlots(e)
	} else if names, err = inline("the slots", func() []string { return slices.Clone(r.Slot(own(e))) }); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Plan makes the plan. It stops with the context's error.
func (r Rules) Plan(ctx context.Context, entries []memory.Entry) (Plan, error) {
	return r.plan(ctx, entries, nil)
}

// plan is [Rules.Plan] without the merges and supersessions that were undone.
func (r Rules) plan(ctx context.Context, entries []memory.Entry, apart undone) (Plan, error) {
	var p Plan
	slotted, err := r.planSlots(ctx, entries, apart, &p)
	if err != nil {
		return Plan{}, err
	}
	type key struct{ form, labels string }
	equal := map[key][]*memory.Entry{}
	for i := range entries {
		if ctx.Err() != nil {
			return Plan{}, ctx.Err()
		}
		if e := &entries[i]; !slotted(e.ID) {
			k := key{form(e.Content), labelKey(e)}
			equal[k] = append(equal[k], e)
		}
	}
	for _, group := range equal {
		if len(group) > 1 {
			slices.SortFunc(group, longestLived)
			p.merge(group, apart)
		}
	}
	slices.SortFunc(p.Merge, func(a, b Merge) int { return cmp.Compare(a.Keep, b.Keep) })
	slices.SortFunc(p.Supersede, func(a, b Supersede) int { return cmp.Compare(a.By, b.By) })
	return p, nil
}

// merge adds the merge of entries that say the same into the first of them, without those
// that are to be kept apart.
func (p *Plan) merge(group []*memory.Entry, apart undone) {
	ids := make([]string, len(group))
	for i, e := range group {
		ids[i] = e.ID
	}
	if ids = apart.mergeable(ids); len(ids) > 1 {
		slices.Sort(ids[1:])
		p.Merge = append(p.Merge, Merge{Keep: ids[0], Retire: ids[1:], Reason: "equal in canonical form"})
	}
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
func labelKey(e *memory.Entry) string {
	if len(e.Tags) == 0 && len(e.Subjects) == 0 {
		return ""
	}
	return nameSet(e.Tags) + nameSet(e.Subjects)
}

// nameSet writes a set of names so that no two sets are written alike.
func nameSet(names []string) string {
	return fmt.Sprintf("%q", slices.Compact(slices.Sorted(slices.Values(names))))
}
