package inmem

import (
	"bytes"
	"context"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Put inserts e if the scope has no entry of that id. The slices of e are the
// store's from then on.
func (st *Store) Put(ctx context.Context, s memory.Scope, e memory.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := st.makeTenant(s.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	sc := t.scope(s.Ref)
	if r := sc.ids.find(e.ID); r != nil {
		if r.stub || !storerules.Same(&r.entry, &e) {
			return memory.ErrConflict
		}
		return nil
	}
	t.version++
	sc.insert(&e, t.version)
	return nil
}

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	t := st.tenant(s.Tenant)
	if t == nil {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.find(s.Ref, id)
	if r == nil || !r.liveAt(at.UnixMilli()) {
		return false, nil
	}
	t.version++
	r.scope.retire(r, memory.Deleted, nil, t.version)
	return true, nil
}

// Apply commits m or returns [memory.ErrConflict], or [memory.ErrValidation] for a
// mutation that could never be committed; in both cases nothing happened.
func (st *Store) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !storerules.WellFormed(tenant, &m) {
		return "", memory.ErrValidation
	}
	t := st.makeTenant(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.holds(&m) {
		return "", memory.ErrConflict
	}
	t.version++
	t.commit(&m)
	st.outbox.add(m.Events)
	return t.mark.Version(t.version), nil
}

// holds reports whether every condition of a well-formed m does.
func (t *tenant) holds(m *memory.Mutation) bool {
	base := storerules.Base{
		Held: func(ref, id string) storerules.Held {
			if r := t.find(ref, id); r != nil {
				return storerules.Held{Entry: &r.entry, State: r.state, Erased: r.stub}
			}
			return storerules.Held{}
		},
		Cell: func(ref, name string) []byte { return t.cells[cell{ref, name}] },
	}
	if len(m.Put) == 1 && len(m.Live)+len(m.Retire)+len(m.Restore) == 0 {
		// A write by a run: nothing else in m can bear on it.
		e := &m.Put[0].Entry
		r := t.find(m.Put[0].Ref, e.ID)
		return (r == nil || !r.stub && storerules.Same(&r.entry, e)) && base.SwapsHold(m.Cells)
	}
	return base.Hold(m)
}

// commit applies a mutation that holds, as the next version.
func (t *tenant) commit(m *memory.Mutation) {
	v := t.version
	for i := range m.Put {
		p := &m.Put[i]
		if sc := t.scope(p.Ref); sc.ids.find(p.Entry.ID) == nil {
			sc.insert(&p.Entry, v)
		}
	}
	for _, x := range m.Retire {
		r := t.find(x.Ref, x.ID)
		r.scope.retire(r, x.State, r.scope.find(x.For), v)
	}
	for _, l := range m.Restore {
		r := t.find(l.Ref, l.ID)
		r.scope.restore(r, v)
	}
	for _, l := range m.Erase {
		if r := t.find(l.Ref, l.ID); r != nil && !r.stub {
			r.scope.erase(r, v)
		}
	}
	for _, c := range m.Cells {
		key := cell{c.Ref, c.Name}
		if c.New == nil {
			delete(t.cells, key)
		} else {
			t.cells[key] = bytes.Clone(c.New)
		}
	}
}

// Cell returns a copy of the value of a cell, nil if it has none.
func (st *Store) Cell(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := st.tenant(s.Tenant)
	if t == nil {
		return nil, nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return bytes.Clone(t.cells[cell{s.Ref, name}]), nil
}
