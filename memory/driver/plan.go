package driver

import (
	"slices"
	"time"
)

// Stored is what a store has of that which a mutation names, before the mutation. A store
// fills in what [Mutation.Needs] asks for, and asks [Stored.Plan] what to do.
type Stored struct {
	// Entries are the records of entries that the mutation names. Of an erased one only
	// the ID, State and Erased are looked at. An id that the scope does not hold has a record
	// without an ID, or none.
	Entries map[Located]Record
	// MergedInto are the ids of all records whose For names an entry, in any order.
	MergedInto map[Located][]string
	// Documents are those that the mutation names, in its order, of which Rev and Class
	// are looked at. Rev is 0 if there is none.
	Documents []Document
	// Used is what the tenant has. It is looked at only if the mutation has limits, and
	// Waiting only if they bound it: more than that need not be counted.
	Used Limits
}

// Needs returns what a store looks up for m: Entries and MergedInto with an empty value for
// each, in which every entry is named once, and Documents of the right length.
func (m *Mutation) Needs() Stored {
	s := Stored{Entries: map[Located]Record{}, MergedInto: map[Located][]string{}, Documents: make([]Document, len(m.Documents))}
	for _, list := range [][]Located{m.Live, m.Restore, m.Erase} {
		for _, l := range list {
			s.Entries[l] = Record{}
		}
	}
	for l := range m.MergedInto {
		s.MergedInto[l] = nil
	}
	for i := range m.Put {
		s.Entries[m.Put[i].Located()] = Record{}
	}
	for _, x := range m.Retire {
		s.Entries[x.Located] = Record{}
		if x.For != "" {
			s.Entries[Located{x.Scope, x.For}] = Record{}
		}
	}
	for i := range m.Documents {
		x := &m.Documents[i]
		for _, id := range x.Of {
			s.Entries[Located{x.Scope, id}] = Record{}
		}
	}
	return s
}

// OnlyPuts reports whether m puts entries, queues events, and asks for nothing else, so that
// a store may insert without looking anything up first. If an entry is there already, it
// asks [Stored.Plan] after all.
func (m *Mutation) OnlyPuts() bool {
	return len(m.Live)+len(m.MergedInto)+len(m.Retire)+len(m.Restore)+len(m.Erase)+len(m.Documents) == 0 && m.Limits == (Limits{})
}

// Plan is what a store does to commit a mutation: to entries in the order of the fields, then
// to the documents as the mutation names them, then to its events. Erasing an entry removes
// the documents made of it, and all documents of its ref that are Whole.
type Plan struct {
	Insert  []Placed     // are not there
	Retire  []Retirement // are there, or inserted
	Restore []Located
	Erase   []Located // are there, or inserted, and not erased; each once
	// Grows is by how much the tenant's entries and bytes change. Waiting is not counted.
	Grows Limits
}

// Plan returns what to do for a mutation that [Mutation.Validate] has let through:
// [ErrConflict] if one of its conditions does not hold, and [ErrStorageLimit] or [ErrBacklog]
// if it would go beyond one of its limits.
func (s *Stored) Plan(m *Mutation) (Plan, error) {
	p := planner{stored: s, at: m.At.Truncate(time.Millisecond), entries: map[Located]*planned{}}
	if !p.holds(m) {
		return Plan{}, ErrConflict
	}
	p.plan.Grows = p.grows()
	if err := s.within(m, p.plan.Grows); err != nil {
		return Plan{}, err
	}
	return p.plan, nil
}

// Empty reports whether p changes no entry.
func (p *Plan) Empty() bool {
	return len(p.Insert)+len(p.Retire)+len(p.Restore)+len(p.Erase) == 0
}

// planner goes through a mutation, part by part.
type planner struct {
	stored  *Stored
	at      time.Time
	entries map[Located]*planned
	plan    Plan
}

// planned is an entry as the parts of the mutation before have left it.
type planned struct {
	Record
	there  bool
	counts *Entry // in the tenant's limits, before the mutation; nil if it did not
	put    bool   // by this mutation, so that it counts as live even if it has expired
}

func (p *planner) entry(l Located) *planned {
	e := p.entries[l]
	if e == nil {
		e = &planned{Record: p.stored.Entries[l]}
		e.there = e.Entry.ID != ""
		e.counts = e.counted()
		p.entries[l] = e
	}
	return e
}

// counted returns the entry if it counts in a [Limits] now, else nil.
func (e *planned) counted() *Entry {
	if !e.there || e.State != Live || e.Erased {
		return nil
	}
	entry := e.Entry
	return &entry
}

func (p *planner) isLive(l Located) bool {
	e := p.entry(l)
	return e.there && !e.Erased && e.State == Live && (e.put || e.Entry.LiveAt(p.at))
}

func (p *planner) holds(m *Mutation) bool {
	for _, l := range m.Live {
		if !p.isLive(l) {
			return false
		}
	}
	for l, ids := range m.MergedInto {
		if !slices.Equal(slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(p.stored.MergedInto[l]))) {
			return false
		}
	}
	for i := range m.Put {
		if !p.insert(&m.Put[i]) {
			return false
		}
	}
	for _, x := range m.Retire {
		if !p.isLive(x.Located) || x.For != "" && !p.isLive(Located{x.Scope, x.For}) {
			return false
		}
		p.entry(x.Located).State = x.State
	}
	p.plan.Retire, p.plan.Restore = m.Retire, m.Restore
	for _, l := range m.Restore {
		e := p.entry(l)
		if e.Erased || e.State != Merged && e.State != Superseded {
			return false
		}
		e.State = Live
	}
	for _, l := range m.Erase {
		if e := p.entry(l); e.there && !e.Erased {
			e.Erased = true
			p.plan.Erase = append(p.plan.Erase, l)
		}
	}
	for i := range m.Documents {
		if !p.swap(&m.Documents[i], &p.stored.Documents[i]) {
			return false
		}
	}
	return true
}

// insert reports whether the scope does not hold the entry, or holds the same.
func (p *planner) insert(x *Placed) bool {
	e := p.entry(x.Located())
	e.put = true
	if e.there {
		return !e.Erased && e.Entry.Equal(&x.Entry)
	}
	e.there, e.Entry = true, x.Entry
	p.plan.Insert = append(p.plan.Insert, *x)
	return true
}

// swap reports whether a document is as its swap expects, and whether the entries that it is
// to be made of are there.
func (p *planner) swap(x *DocumentSwap, there *Document) bool {
	if there.Rev != x.Rev || there.Rev != 0 && there.Class != x.Class {
		return false
	}
	if x.Act != Set && x.Act != Retain {
		return true
	}
	return !slices.ContainsFunc(x.Of, func(id string) bool {
		e := p.entry(Located{x.Scope, id})
		return !e.there || e.Erased
	})
}

// grows is by how much the mutation changes what the tenant uses.
func (p *planner) grows() (u Limits) {
	for _, e := range p.entries {
		if e.counts != nil {
			u.Add(e.counts, -1)
		}
		if now := e.counted(); now != nil {
			u.Add(now, 1)
		}
	}
	return u
}
