package inmem

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/events"
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
	t.version++
	t.scope(s.Ref).insert(&e, t.version)
	return nil
}

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
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
	r.scope.retire(r, driver.Deleted, nil, t.version)
	return true, nil
}

// Apply commits m or returns [driver.ErrConflict], or [driver.ErrValidation] for a
// mutation that could never be committed; in both cases nothing happened.
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
	base := driver.Base{Held: t.stored, Document: t.shelf.state, Retired: t.retired, Used: t.used}
	if limit := m.Limits.Waiting; limit > 0 {
		base.Used.Waiting = int64(st.outbox.count(tenant, int(limit)))
	}
	if err := base.Check(&m); err != nil {
		return driver.Applied{}, err
	}
	var done driver.Applied
	if !m.Unversioned() {
		add := st.outbox.add
		if m.Log {
			add = func(recs []events.Record) error { return st.log.Emit(ctx, recs...) }
		}
		if err := add(m.Events); errors.Is(err, events.ErrTaken) {
			return driver.Applied{}, driver.ErrConflict.With("the id of an event has another payload", err)
		} else if err != nil {
			return driver.Applied{}, err
		}
		t.version++
		t.commit(&m)
		done.Version = t.mark.Version(t.version)
	}
	for i := range m.Documents {
		done.Revs = append(done.Revs, t.shelf.swap(&m.Documents[i], func() int64 { return st.revs.Add(1) }))
	}
	return done, nil
}

func (t *tenant) stored(ref, id string) driver.Held {
	if r := t.find(ref, id); r != nil {
		return driver.Held{Entry: r.entry, State: r.state, Erased: r.erased}
	}
	return driver.Held{}
}

// retired returns the ids of the entries that were merged into an entry or superseded by it.
func (t *tenant) retired(ref, id string) (ids []string) {
	if sc := t.scopes[ref]; sc != nil {
		for _, r := range sc.retiredFor(id) {
			ids = append(ids, r.entry.ID)
		}
	}
	return ids
}

// commit applies what a mutation that holds does to entries, as the latest version.
func (t *tenant) commit(m *driver.Mutation) {
	v := t.version
	for i := range m.Put {
		p := &m.Put[i]
		if t.find(p.Ref, p.Entry.ID) == nil {
			t.scope(p.Ref).insert(&p.Entry, v)
		}
	}
	for _, x := range m.Retire {
		r := t.find(x.Ref, x.ID)
		r.scope.retire(r, x.State, r.scope.recs.find(x.For), v)
	}
	for _, l := range m.Restore {
		r := t.find(l.Ref, l.ID)
		r.scope.restore(r, v)
	}
	for _, l := range m.Erase {
		if r := t.find(l.Ref, l.ID); r != nil && !r.erased {
			r.scope.erase(r, v)
		}
	}
}
