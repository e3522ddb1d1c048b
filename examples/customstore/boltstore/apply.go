package boltstore

import (
	"context"

	"github.com/openwop/agentmemory/memory/driver"
)

var _ driver.Transactor = (*Store)(nil)

// Apply commits m, all of it or nothing. Whether it may be committed is not for the store
// to say: [driver.Base.Check] asks for what is there, and judges. The store looks up, and
// writes in the order of the fields.
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (done driver.Applied, err error) {
	err = st.update(ctx, func(t *tx) error {
		if err := m.Validate(tenant); err != nil {
			return err
		}
		if err := t.base(tenant, m.Limits).Check(&m); err != nil {
			return err
		}
		if !m.MachineryOnly() {
			done.Version = t.change(tenant, func(a *account) { t.commit(a, &m) })
		}
		for i := range m.Documents {
			done.Revs = append(done.Revs, t.swap(&m.Documents[i]))
		}
		return nil
	})
	if err != nil {
		return driver.Applied{}, err
	}
	return done, nil
}

// base is the state that a mutation meets.
func (t *tx) base(tenant string, limits driver.Limits) driver.Base {
	used := t.account(tenant).Used
	used.Waiting = int64(t.waiting(tenant, int(limits.Waiting)))
	return driver.Base{
		Held: func(ref, id string) driver.Held {
			r := t.find(driver.Scope{Tenant: tenant, Ref: ref}, id)
			if r == nil {
				return driver.Held{}
			}
			return driver.Held{Entry: r.entry(), State: r.State, Erased: r.Erased}
		},
		Document: func(ref, kind, name string) (int64, driver.Class) {
			d := t.document(key(tenant, ref, kind, name), true)
			if d == nil {
				return 0, 0
			}
			return d.Rev, d.Class
		},
		Retired: func(ref, id string) (ids []string) {
			heir := key(tenant, ref, id)
			for _, r := range t.ascend(byHeir, heir, heir) {
				ids = append(ids, string(r))
			}
			return ids
		},
		Used: used,
	}
}

// commit does what a mutation that holds does to entries and to the outbox.
func (t *tx) commit(a *account, m *driver.Mutation) {
	for _, p := range m.Put {
		if t.find(p.Scope, p.Entry.ID) == nil {
			t.insert(a, p.Scope, p.Entry)
		}
	}
	for _, x := range m.Retire {
		t.retire(a, t.find(x.Scope, x.ID), x.State, x.For)
	}
	for _, l := range m.Restore {
		t.restore(a, t.find(l.Scope, l.ID))
	}
	for _, l := range m.Erase {
		if r := t.find(l.Scope, l.ID); r != nil && !r.Erased {
			t.erase(a, r)
		}
	}
	t.queue(m.Events)
}

// restore begins another life of a retired entry.
func (t *tx) restore(a *account, r *record) {
	t.remove(byHeir, key(r.Tenant, r.Ref, r.For, r.Entry.ID))
	r.State, r.For = driver.Live, ""
	r.Lives = append(r.Lives, life{From: a.Version})
	a.Used.Add(r.entry(), 1)
	t.keep(a, r, isRestored)
}

// erase leaves a stub of an entry, and a scar for each of its lives: who reads the scope as
// it was then has to be told that something is missing.
func (t *tx) erase(a *account, r *record) {
	for _, l := range r.Lives {
		if l.To == 0 {
			l.To = a.Version
		}
		t.put(scars, with(with(key(r.Tenant), l.To, ""), l.From, string(key(r.Ref))), nil)
	}
	t.forget(a, r)
	r.Entry, r.Lives, r.Erased = entry{ID: r.Entry.ID}, nil, true
	t.keep(a, r, isErased)
}

// forget removes what was made of an entry that is not erased, and what finds it.
func (t *tx) forget(a *account, r *record) {
	if r.counts() {
		a.Used.Add(r.entry(), -1)
	}
	t.remove(byAge, r.age())
	t.withdraw(r)
}
