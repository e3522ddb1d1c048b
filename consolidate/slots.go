package consolidate

import (
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

// slots plans what is superseded and returns the ids of all entries that declare a
// slot. They merge within their slot only: an older value that returns is news.
func (w *weaver) slots(r Rules, items []item) map[string]bool {
	slotted := map[string]bool{}
	bySlot := map[string][]*item{}
	of := map[string][]string{}
	for i := range items {
		names := r.slots(*items[i].Entry)
		for _, name := range names {
			if !slices.Contains(of[items[i].ID], name) {
				of[items[i].ID] = append(of[items[i].ID], name)
				bySlot[name] = append(bySlot[name], &items[i])
			}
		}
		if len(names) > 0 {
			slotted[items[i].ID] = true
			w.hash(&items[i])
		}
	}
	head := map[string]*item{}
	for name, values := range bySlot {
		slices.SortFunc(values, func(a, b *item) int {
			if a.Before(b.Entry) {
				return -1
			}
			return 1
		})
		head[name] = w.head(values, of)
	}
	stays := map[string]bool{}
	for _, h := range head {
		stays[h.ID] = true
	}
	merged, over := map[string]*cluster{}, map[string][]*item{}
	for i := range items {
		it := &items[i]
		if !slotted[it.ID] || stays[it.ID] {
			continue
		}
		// It goes only if every one of its slots has another head; the newest of
		// these is what it gives way to.
		names := of[it.ID]
		by := head[names[0]]
		for _, name := range names[1:] {
			if h := head[name]; h.Before(by.Entry) {
				by = h
			}
		}
		if w.restates(by, it, of) && compareLife(by.Entry, it.Entry) >= 0 {
			if merged[by.ID] == nil {
				merged[by.ID] = w.cluster(by, parse(by.Content))
				w.groups = append(w.groups, merged[by.ID])
			}
			if w.fits(merged[by.ID], it) {
				w.join(merged[by.ID], it, parse(it.Content), "", true)
			}
			continue
		}
		if by.Before(it.Entry) && !w.apart.apart(superseding, by.ID, it.ID) {
			over[by.ID] = append(over[by.ID], it)
		}
	}
	for id, list := range over {
		s := Supersede{By: id, Reason: "a newer value of the same slot"}
		for _, it := range list {
			s.Retire = append(s.Retire, it.ID)
		}
		slices.Sort(s.Retire)
		w.plan.Supersede = append(w.plan.Supersede, s)
	}
	return slotted
}

// head is what stays of a slot's values, newest first: the newest, or of several in a
// row that say the same the one that lives longest, then the newest.
func (w *weaver) head(values []*item, of map[string][]string) *item {
	best := values[0]
	for _, it := range values[1:] {
		if !w.restates(values[0], it, of) {
			break
		}
		if compareLife(it.Entry, best.Entry) > 0 {
			best = it
		}
	}
	return best
}

// restates reports whether two values of the same slots have equal words, so that one
// corroborates the other.
func (w *weaver) restates(a, b *item, of map[string][]string) bool {
	if a.bag != b.bag || !slices.Equal(of[a.ID], of[b.ID]) || !sameSubjects(a.Entry, b.Entry) {
		return false
	}
	return equalText(a.Content) == equalText(b.Content) && !w.apart.apart(merging, a.ID, b.ID)
}
