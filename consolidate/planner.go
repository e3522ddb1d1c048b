package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/openwop/agentmemory/memory"
)

// Rules is the default [Planner]. It needs no model, and its plan is a pure function
// of the entries, whatever their order (C3):
//
//   - Entries that are equal but for case, punctuation, spacing and the forms of
//     numbers and contractions are merged; so are entries that differ by an edit from
//     a closed list (an article, a synonym, the place of a phrase, a slip of spelling).
//     Every other difference makes two facts of them, be it one word, number, date,
//     unit, name, negation or quantifier (C8).
//   - They merge only if their tags are the same, those that begin with "source:"
//     aside, and if they are about the same subjects, or the text names whom it is
//     about and they have a subject in common.
//   - The one that stays is the one that lives longest, then the oldest, so that
//     what points to it stays right. Different expiries merge only if the text is
//     equal (C9).
//   - Of the entries that declare a slot the newest stays, and the older ones are
//     superseded; of an entry with several slots, when it is the newest in none.
//
// The zero value reads slots from tags "slot:<name>".
type Rules struct {
	// Slot names the slots that an entry is a value of: "acme/price". Nil takes them
	// from its tags that begin with "slot:".
	Slot func(memory.Entry) []string
	// SlotVersion names the version of Slot. Give it another value when Slot changes.
	SlotVersion string
}

// Version names the rules, for the digest of C2.
func (r Rules) Version() string { return "rules/1 " + r.SlotVersion }

func (r Rules) slots(e memory.Entry) []string {
	if r.Slot != nil {
		return r.Slot(e)
	}
	return tagSlots(e)
}

// Plan makes the plan. It stops with the context's error.
func (r Rules) Plan(ctx context.Context, entries []memory.Entry) (Plan, error) {
	return r.plan(ctx, entries, nil)
}

// item is an entry with what the planner knows of it.
type item struct {
	*memory.Entry
	bag  uint64 // hash of its bag and tags
	gone bool
}

func (r Rules) plan(ctx context.Context, entries []memory.Entry, apart undone) (Plan, error) {
	p := Plan{Considered: len(entries)}
	items := make([]item, len(entries))
	for i := range entries {
		items[i].Entry = &entries[i]
	}
	// Longest-lived first, then oldest: an entry merges into one that stands before it.
	slices.SortFunc(items, func(a, b item) int {
		if c := compareLife(a.Entry, b.Entry); c != 0 {
			return -c
		}
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	w := newWeaver(&p, apart)
	slotted := w.slots(r, items)
	for i := range items {
		if i&0xff == 0 && ctx.Err() != nil {
			return Plan{}, ctx.Err()
		}
		if !slotted[items[i].ID] {
			w.place(&items[i], w.hash(&items[i]))
		}
	}
	if err := w.slips(ctx); err != nil {
		return Plan{}, err
	}
	w.finish()
	return p, nil
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

// weaver gathers the groups of a plan.
type weaver struct {
	plan    *Plan
	apart   undone
	byBag   map[uint64][]*cluster // groups whose keepers have that bag
	groups  []*cluster
	scratch []byte
}

// cluster is a keeper with the entries that merge into it.
type cluster struct {
	keep    *item
	retired []*item
	note    note
	reasons map[string]int
	least   float64
	edited  bool
	shared  string
	undone  groups // that its entries are of
}

func newWeaver(p *Plan, apart undone) *weaver {
	return &weaver{plan: p, apart: apart, byBag: map[uint64][]*cluster{}}
}

// hash reads an entry's text.
func (w *weaver) hash(it *item) note {
	n := parse(it.Content)
	buf := w.scratch[:0]
	for _, word := range bag(n) {
		buf = append(append(buf, word...), 0)
	}
	if len(n) == 0 { // only punctuation: equal to itself alone
		buf = append(buf, it.Content...)
	}
	if len(it.Tags) == 0 {
		it.bag, w.scratch = xxhash.Sum64(append(buf, 1)), buf
		return n
	}
	tags := slices.Clone(it.Tags)
	slices.Sort(tags)
	buf = append(buf, 1)
	for _, tag := range slices.Compact(tags) {
		if !strings.HasPrefix(tag, "source:") {
			buf = append(append(buf, tag...), 0)
		}
	}
	it.bag = xxhash.Sum64(buf)
	w.scratch = buf
	return n
}

// place puts an entry into the first group that says the same, or begins one.
func (w *weaver) place(it *item, n note) {
	own := it.bag ^ subjectsHash(it.Subjects)
	for _, g := range slices.Concat(w.byBag[own], w.byBag[it.bag]) {
		if !w.fits(g, it) {
			continue
		}
		if g.note == nil {
			g.note = parse(g.keep.Content)
		}
		how, same := sameFact(g.note, n)
		if len(n) == 0 {
			same = g.keep.Content == it.Content
		}
		equal := same && equalText(g.keep.Content) == equalText(it.Content)
		if same && (equal || g.keep.ExpiresAt.Equal(it.ExpiresAt)) {
			w.join(g, it, n, how, equal)
			return
		}
	}
	g := w.cluster(it, nil)
	// A thousand subjects of whom the same is said are a thousand groups: an entry is
	// compared with those of its own subjects, and with some of the others.
	for _, key := range []uint64{own, it.bag} {
		if len(w.byBag[key]) < maxCompared {
			w.byBag[key] = append(w.byBag[key], g)
		}
	}
	w.groups = append(w.groups, g)
}

// maxCompared bounds the groups of like words that an entry is compared with.
const maxCompared = 64

func subjectsHash(subjects []string) uint64 {
	h := uint64(1)
	for _, s := range subjects {
		h += xxhash.Sum64String(s) | 1 // in any order
	}
	return mix(h)
}

// fits reports whether an entry may merge into a group, apart from what they say.
func (w *weaver) fits(g *cluster, it *item) bool {
	return !g.undone.has(w.apart, it.ID) && sameSubjects(g.keep.Entry, it.Entry)
}

// sameSubjects reports whether two entries that say the same say it of the same: they
// carry the same subjects, or the text names whom it is about and they have one in
// common, or one of them has none.
func sameSubjects(a, b *memory.Entry) bool {
	common, all := false, len(a.Subjects) == len(b.Subjects)
	for _, s := range b.Subjects {
		if slices.Contains(a.Subjects, s) {
			common = true
		} else {
			all = false
		}
	}
	return all || (common || len(a.Subjects) == 0 || len(b.Subjects) == 0) && named(a.Content)
}

// named reports whether a text names somebody or something.
func named(text string) bool {
	for t := range parse(text).each {
		if t.name || t.text == "'s" || t.kind == ident {
			return true
		}
	}
	return false
}

func (w *weaver) cluster(keep *item, n note) *cluster {
	g := &cluster{keep: keep, note: n}
	g.undone.add(w.apart, keep.ID)
	return g
}

func (w *weaver) join(g *cluster, it *item, n note, how string, equal bool) {
	g.retired = append(g.retired, it)
	g.undone.add(w.apart, it.ID)
	if g.reasons == nil {
		g.reasons, g.least, g.shared = map[string]int{}, 1, factsOf(g.note).shared()
	}
	g.reasons[how]++
	g.least = min(g.least, similarity(g.note, n))
	g.edited = g.edited || !equal
}

// slips looks among long texts for those that differ by a slip of spelling. They have
// different bags, so they are found by the shingles that they share.
func (w *weaver) slips(ctx context.Context) error {
	const (
		alike  = 0.6 // one word replaced in a text of fifteen
		words  = 14
		widest = 64
	)
	s := &sets{start: []uint32{0}}
	var of []*cluster
	var row []uint64
	for i, g := range w.groups {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(g.keep.Content) < 3*words {
			continue
		}
		n := parse(g.keep.Content)
		if n.words() < words {
			continue
		}
		row = row[:0]
		for t := range n.each {
			row = append(row, xxhash.Sum64String(t.text))
		}
		start := len(s.tokens)
		for k := 0; k+shingle <= len(row); k++ {
			s.tokens = append(s.tokens, mix(row[k:k+shingle]...))
		}
		s.tokens = s.tokens[:start+len(unique(s.tokens[start:]))]
		s.start = append(s.start, uint32(len(s.tokens)))
		of = append(of, g)
	}
	pairs, err := join(ctx, s, alike, 1, widest)
	if err != nil {
		return err
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(a.A-b.A, a.B-b.B) })
	for _, pair := range pairs {
		a, b := of[pair.A], of[pair.B] // a stands before b
		if a.keep.gone || b.keep.gone || len(b.retired) > 0 || !sameTags(a.keep.Entry, b.keep.Entry) ||
			!w.fits(a, b.keep) || !a.keep.ExpiresAt.Equal(b.keep.ExpiresAt) {
			continue
		}
		a.note = parse(a.keep.Content)
		n := parse(b.keep.Content)
		if how, same := sameFact(a.note, n); same {
			w.join(a, b.keep, n, how, false)
			b.keep.gone = true
		}
	}
	return nil
}

func sameTags(a, b *memory.Entry) bool {
	clean := func(tags []string) []string {
		tags = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.HasPrefix(t, "source:") })
		slices.Sort(tags)
		return slices.Compact(tags)
	}
	return slices.Equal(clean(a.Tags), clean(b.Tags))
}

// finish writes the groups into the plan, in the order of their keepers' ids.
func (w *weaver) finish() {
	for _, g := range w.groups {
		if len(g.retired) == 0 || g.keep.gone {
			continue
		}
		m := Merge{Keep: g.keep.ID, Reason: g.reason(), rewrite: g.edited}
		for _, it := range g.retired {
			m.Retire = append(m.Retire, it.ID)
		}
		slices.Sort(m.Retire)
		w.plan.Merge = append(w.plan.Merge, m)
	}
	slices.SortFunc(w.plan.Merge, func(a, b Merge) int { return cmp.Compare(a.Keep, b.Keep) })
	slices.SortFunc(w.plan.Supersede, func(a, b Supersede) int { return cmp.Compare(a.By, b.By) })
}

// reason explains a merge in one line.
func (g *cluster) reason() string {
	if !g.edited {
		return "equal after normalisation"
	}
	var changes []string
	for how := range g.reasons {
		if how != "" {
			changes = append(changes, how)
		}
	}
	slices.Sort(changes)
	text := fmt.Sprintf("%.2f similar, %s", g.least, g.shared)
	if len(changes) > 0 {
		text += "; differs by " + strings.Join(changes, ", ")
	}
	return text
}
