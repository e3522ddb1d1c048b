package inmem

import (
	"bytes"

	"github.com/openwop/agentmemory/memory"
)

// wellFormed reports whether m is one tenant's and its retirements make sense.
func wellFormed(tenant string, m *memory.Mutation) bool {
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

// outlook is what a mutation makes of the entries that it touches, so far as it
// was checked. Nothing is applied before all of it holds.
type outlook struct {
	tenant *tenant
	at     int64
	seen   map[key]*prospect
}

type key struct{ ref, id string }

// prospect is what an entry will be.
type prospect struct {
	held    bool
	erased  bool
	placed  bool // by this mutation, which makes its expiry irrelevant
	state   memory.State
	expires int64
	entry   *memory.Entry
}

// holds reports whether every condition of m does.
func holds(t *tenant, m *memory.Mutation) bool {
	if len(m.Put) == 1 && len(m.Live)+len(m.Retire)+len(m.Restore) == 0 {
		// A write by a run: nothing else in m can bear on it.
		e := &m.Put[0].Entry
		r := t.find(m.Put[0].Ref, e.ID)
		return (r == nil || !r.stub && same(&r.entry, e)) && swapsHold(t, m.Cells)
	}
	o := outlook{t, m.At.UnixMilli(), map[key]*prospect{}}
	for _, l := range m.Live {
		if !o.of(l.Ref, l.ID).live(o.at) {
			return false
		}
	}
	for i := range m.Put {
		if !o.put(&m.Put[i]) {
			return false
		}
	}
	for _, x := range m.Retire {
		e := o.of(x.Ref, x.ID)
		if !e.live(o.at) || x.For != "" && !o.of(x.Ref, x.For).live(o.at) {
			return false
		}
		e.state = x.State
	}
	for _, l := range m.Restore {
		e := o.of(l.Ref, l.ID)
		if !e.held || e.erased || e.state != memory.Merged && e.state != memory.Superseded {
			return false
		}
		e.state = memory.Live
	}
	return swapsHold(t, m.Cells)
}

func (o *outlook) of(ref, id string) *prospect {
	k := key{ref, id}
	p := o.seen[k]
	if p == nil {
		p = new(prospect)
		if r := o.tenant.find(ref, id); r != nil {
			*p = prospect{held: true, erased: r.stub, state: r.state, expires: r.expires, entry: &r.entry}
		}
		o.seen[k] = p
	}
	return p
}

func (p *prospect) live(at int64) bool {
	return p.held && !p.erased && p.state == memory.Live && (p.placed || at < p.expires)
}

func (o *outlook) put(x *memory.Placed) bool {
	p := o.of(x.Ref, x.Entry.ID)
	if p.held {
		p.placed = true
		return !p.erased && same(p.entry, &x.Entry)
	}
	*p = prospect{held: true, placed: true, entry: &x.Entry}
	return true
}

// swapsHold reports whether every cell holds what its swap expects.
func swapsHold(t *tenant, swaps []memory.CellSwap) bool {
	for i, c := range swaps {
		now := t.cells[cell{c.Ref, c.Name}]
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
