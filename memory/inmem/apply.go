package inmem

import (
	"context"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Put inserts e if the scope has no entry of that id. The slices of e are the
// store's from then on.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := st.makeTenant(s.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.find(s.Ref, e.ID); r != nil {
		if r.erased || !r.entry.Equal(&e) {
			return driver.ErrConflict
		}
		return nil
	}
	t.commit(&driver.Plan{Insert: []driver.Placed{{Scope: s, Entry: e}}})
	return nil
}

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	t := st.tenant(s.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.find(s.Ref, id)
	if r == nil || !r.liveAt(at) {
		return false, nil
	}
	end := driver.Retirement{Located: driver.Located{Scope: s, ID: id}, State: driver.Deleted}
	t.commit(&driver.Plan{Retire: []driver.Retirement{end}})
	return true, nil
}

// Apply commits m, or returns [driver.ErrConflict], an error of its limits, or
// [driver.ErrValidation] for a mutation that could never be committed; in all these cases
// nothing happened.
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if err := ctx.Err(); err != nil {
		return driver.Applied{}, err
	}
	if err := m.Validate(tenant); err != nil {
		return driver.Applied{}, err
	}
	t := st.makeTenant(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	stored := t.stored(&m)
	if limit := m.Limits.Waiting; limit > 0 {
		stored.Used.Waiting = int64(st.events.countWaiting(tenant))
	}
	plan, err := stored.Plan(&m)
	if err == nil {
		err = st.events.add(m.Events, m.Keep)
	}
	if err != nil {
		return driver.Applied{}, err
	}
	var done driver.Applied
	if !m.Unversioned() {
		t.commit(&plan)
		done.Version = t.mark.Version(t.version)
	}
	for i := range m.Documents {
		done.Revs = append(done.Revs, t.shelf.swap(&m.Documents[i], func() int64 { return st.revs.Add(1) }))
	}
	return done, nil
}

// stored looks up what a mutation needs.
func (t *tenant) stored(m *driver.Mutation) driver.Stored {
	s := m.Needs()
	s.Used = t.used
	for l := range s.Entries {
		if r := t.find(l.Ref, l.ID); r != nil {
			s.Entries[l] = r.record()
		}
	}
	for l := range s.MergedInto {
		if sc := t.scopes[l.Ref]; sc != nil {
			for r := range sc.retiredFor[l.ID] {
				s.MergedInto[l] = append(s.MergedInto[l], r.entry.ID)
			}
		}
	}
	for i := range m.Documents {
		s.Documents[i] = t.shelf.state(&m.Documents[i].Document)
	}
	return s
}

// commit does to entries what a plan says, and makes a version of it.
func (t *tenant) commit(plan *driver.Plan) {
	t.version++
	t.journals = append(t.journals, plan.Journal())
	v := t.version
	for i := range plan.Insert {
		p := &plan.Insert[i]
		t.scope(p.Ref).insert(&p.Entry, v)
	}
	for _, x := range plan.Retire {
		r := t.find(x.Ref, x.ID)
		r.scope.retire(r, x.State, r.scope.recs[x.For], v)
	}
	for _, l := range plan.Restore {
		r := t.find(l.Ref, l.ID)
		r.scope.restore(r, v)
	}
	for _, l := range plan.Erase {
		r := t.find(l.Ref, l.ID)
		r.scope.erase(r, v)
	}
}
