package driver

import (
	"slices"
	"time"
)

// Equal reports whether two entries are the same in every field. No tags and an empty list of
// tags are the same.
func (e *Entry) Equal(other *Entry) bool {
	return e.ID == other.ID && e.Content == other.Content && e.RunID == other.RunID &&
		e.CreatedAt.Equal(other.CreatedAt) && e.ExpiresAt.Equal(other.ExpiresAt) &&
		slices.Equal(e.Tags, other.Tags) && slices.Equal(e.Subjects, other.Subjects) && slices.Equal(e.Sources, other.Sources)
}

// Held is what a store has under an id: nothing if Entry is nil.
type Held struct {
	Entry  *Entry // of an erased one nothing is looked at
	State  State
	Erased bool
}

// Base is the state that a mutation meets, as far as the mutation names it. Its functions
// look things up as the store has them before the mutation; they return no error, so a store
// whose lookup fails keeps the error, and believes no verdict after it.
type Base struct {
	Held     func(ref, id string) Held
	Document func(ref, kind, key string) (rev int64, class Class) // rev is 0 if there is none

	// Retired returns the ids that are retired in favour of an entry, in any order.
	Retired func(ref, id string) []string
	// Used is what the tenant has. It is looked at only if the mutation has limits, and
	// Waiting only if they bound it: more than that need not be counted.
	Used Limits
}

// Check returns nil for a mutation that may be committed, which [Mutation.Validate] has
// let through: [ErrConflict] if one of its conditions does not hold, and [ErrStorageLimit]
// or [ErrBacklog] if it would go beyond one of its limits.
func (b Base) Check(m *Mutation) error {
	o := outlook{b, time.UnixMilli(m.At.UnixMilli()), map[place]*prospect{}}
	if !o.holds(m) {
		return ErrConflict
	}
	if m.Limits == (Limits{}) {
		return nil
	}
	return b.within(m, o.growth())
}

// Growth is by how much a mutation that [Base.Check] has let through changes the entries and
// bytes that the tenant has. Events that wait are not counted.
func (b Base) Growth(m *Mutation) Limits {
	o := outlook{b, time.UnixMilli(m.At.UnixMilli()), map[place]*prospect{}}
	o.holds(m)
	return o.growth()
}

func (o *outlook) holds(m *Mutation) bool {
	for _, l := range m.Live {
		if !o.live(l.Ref, l.ID) {
			return false
		}
	}
	for heir, of := range m.Heirs {
		if !slices.Equal(slices.Sorted(slices.Values(of)), slices.Sorted(slices.Values(o.Retired(heir.Ref, heir.ID)))) {
			return false
		}
	}
	for i := range m.Put {
		if !o.put(&m.Put[i]) {
			return false
		}
	}
	for _, x := range m.Retire {
		if !o.live(x.Ref, x.ID) || x.For != "" && !o.live(x.Ref, x.For) {
			return false
		}
		o.of(x.Ref, x.ID).State = x.State
	}
	for _, l := range m.Restore {
		e := o.of(l.Ref, l.ID)
		if e.Erased || e.State != Merged && e.State != Superseded { // what is not held is live
			return false
		}
		e.State = Live
	}
	for _, l := range m.Erase {
		o.of(l.Ref, l.ID).Erased = true
	}
	for i := range m.Documents {
		if !o.swap(&m.Documents[i]) {
			return false
		}
	}
	return true
}

// outlook is what a mutation makes of the entries that it names, so far as it was
// checked.
type outlook struct {
	Base
	at   time.Time
	seen map[place]*prospect
}

type place struct{ ref, id string }

// prospect is what an entry will be.
type prospect struct {
	Held
	before *Entry // what counted before the mutation; nil if nothing did
	placed bool   // by this mutation, which makes its expiry irrelevant
}

// counts returns the entry if it counts in a [Limits], else nil.
func (h Held) counts() *Entry {
	if h.State != Live || h.Erased {
		return nil
	}
	return h.Entry
}

// growth is by how much the mutation changes what the tenant uses.
func (o *outlook) growth() (u Limits) {
	for _, p := range o.seen {
		if p.before != nil {
			u.Add(p.before, -1)
		}
		if now := p.counts(); now != nil {
			u.Add(now, 1)
		}
	}
	return u
}

func (o *outlook) of(ref, id string) *prospect {
	k := place{ref, id}
	p := o.seen[k]
	if p == nil {
		held := o.Held(ref, id)
		p = &prospect{Held: held, before: held.counts()}
		o.seen[k] = p
	}
	return p
}

func (o *outlook) live(ref, id string) bool {
	p := o.of(ref, id)
	return p.Entry != nil && !p.Erased && p.State == Live && (p.placed || p.Entry.LiveAt(o.at))
}

func (o *outlook) put(x *Placed) bool {
	p := o.of(x.Ref, x.Entry.ID)
	if p.Entry != nil {
		p.placed = true
		return !p.Erased && p.Entry.Equal(&x.Entry)
	}
	*p = prospect{Held: Held{Entry: &x.Entry}, placed: true}
	return true
}

// swap reports whether a document is as its swap expects, and whether what it is to be
// made of is held.
func (o *outlook) swap(x *DocumentSwap) bool {
	rev, class := o.Document(x.Ref, x.Kind, x.Key)
	if rev != x.Rev || rev != 0 && class != x.Class {
		return false
	}
	if x.Act != Set && x.Act != Retain {
		return true
	}
	for _, id := range x.Of {
		if p := o.of(x.Ref, id); p.Entry == nil || p.Erased {
			return false
		}
	}
	return true
}
