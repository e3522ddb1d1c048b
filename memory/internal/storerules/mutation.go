package storerules

import (
	"bytes"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// WellFormed reports whether m is one tenant's and its retirements make sense. A
// mutation that is not can never be committed: memory.ErrValidation.
func WellFormed(tenant string, m *memory.Mutation) bool {
	ok := true
	in := func(s memory.Scope) { ok = ok && s.Tenant == tenant }
	for _, ls := range [][]memory.Located{m.Live, m.Restore, m.Erase} {
		for _, l := range ls {
			in(l.Scope)
		}
	}
	for _, p := range m.Put {
		in(p.Scope)
	}
	for _, c := range m.Cells {
		in(c.Scope)
	}
	for _, x := range m.Retire {
		in(x.Scope)
		switch x.State {
		case memory.Merged, memory.Superseded:
			ok = ok && x.For != "" && x.For != x.ID
		case memory.Deleted:
			ok = ok && x.For == ""
		default:
			ok = false
		}
	}
	return ok
}

// Same reports whether two entries are the same one. No tags and an empty list of
// tags are the same.
func Same(a, b *memory.Entry) bool {
	return a.ID == b.ID && a.Content == b.Content && a.RunID == b.RunID &&
		a.CreatedAt.Equal(b.CreatedAt) && a.ExpiresAt.Equal(b.ExpiresAt) &&
		slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Subjects, b.Subjects) && slices.Equal(a.Sources, b.Sources)
}

// Held is what a store has under an id: nothing if Entry is nil.
type Held struct {
	Entry  *memory.Entry // of an erased one nothing is looked at
	State  memory.State
	Erased bool
}

// Base is the state that a mutation meets, as far as the mutation names it.
type Base struct {
	Held func(ref, id string) Held
	Cell func(ref, name string) []byte // nil if the cell has no value
}

// Hold reports whether every condition of a well-formed mutation does: it may be
// committed. Otherwise it is memory.ErrConflict.
func (b Base) Hold(m *memory.Mutation) bool {
	o := outlook{b, time.UnixMilli(m.At.UnixMilli()), map[place]*prospect{}}
	for _, l := range m.Live {
		if !o.live(l.Ref, l.ID) {
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
		if e.Entry == nil || e.Erased || e.State != memory.Merged && e.State != memory.Superseded {
			return false
		}
		e.State = memory.Live
	}
	return b.SwapsHold(m.Cells)
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
	placed bool // by this mutation, which makes its expiry irrelevant
}

func (o *outlook) of(ref, id string) *prospect {
	k := place{ref, id}
	p := o.seen[k]
	if p == nil {
		p = &prospect{Held: o.Held(ref, id)}
		o.seen[k] = p
	}
	return p
}

func (o *outlook) live(ref, id string) bool {
	p := o.of(ref, id)
	return p.Entry != nil && !p.Erased && p.State == memory.Live && (p.placed || p.Entry.LiveAt(o.at))
}

func (o *outlook) put(x *memory.Placed) bool {
	p := o.of(x.Ref, x.Entry.ID)
	if p.Entry != nil {
		p.placed = true
		return !p.Erased && Same(p.Entry, &x.Entry)
	}
	*p = prospect{Held{Entry: &x.Entry}, true}
	return true
}

// SwapsHold reports whether every cell holds what its swap expects, after the swaps
// before it.
func (b Base) SwapsHold(swaps []memory.CellSwap) bool {
	for i, c := range swaps {
		now := b.Cell(c.Ref, c.Name)
		for _, earlier := range swaps[:i] {
			if earlier.Ref == c.Ref && earlier.Name == c.Name {
				now = earlier.New
			}
		}
		if (now == nil) != (c.Old == nil) || !bytes.Equal(now, c.Old) {
			return false
		}
	}
	return true
}
