package boltstore

import (
	"bytes"
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 7. One mutation, many parts, all or nothing. bbolt makes it whole; what may be committed
// is judged by rules that are the same for every store (BATCH, LIMIT). The engines of the
// library work on nothing but this: the kit runs them too (CONSOLIDATE, DISTILL, FIRE).

// Apply commits m, all of it or nothing. Whether it may be committed is not for the store to
// judge: [driver.Base.Check] asks for what is there, and says so. The store then does what
// the parts say, in the order of the fields.
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (done driver.Applied, err error) {
	err = st.update(ctx, func(t *tx) error {
		if err := m.Validate(tenant); err != nil {
			return err
		}
		if err := t.base(tenant, &m).Check(&m); err != nil {
			return err
		}
		if !m.Unversioned() {
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

// base is the state that a mutation meets. A lookup that fails is known at the end of the
// transaction, whatever was made of its answer.
func (t *tx) base(tenant string, m *driver.Mutation) driver.Base {
	b := driver.Base{Used: t.account(tenant).Used}
	b.Used.Waiting = int64(t.waiting(tenant, int(m.Limits.Waiting)))
	b.Held = func(ref, id string) driver.Held {
		if r := t.find(driver.Scope{Tenant: tenant, Ref: ref}, id); r != nil {
			return driver.Held{Entry: &r.Entry, State: r.State, Erased: r.Erased}
		}
		return driver.Held{}
	}
	b.Document = func(ref, kind, name string) (int64, driver.Class) {
		d := t.document(key("document", tenant, ref, kind, name))
		return d.Rev, d.Class
	}
	b.Retired = func(ref, id string) (ids []string) {
		heir := key("heir", tenant, ref, id)
		for _, retired := range t.ascend(heir, heir) {
			ids = append(ids, string(retired))
		}
		return ids
	}
	return b
}

// commit does what a mutation that holds says of entries and events.
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
	t.remove(key("heir", r.Tenant, r.Ref, r.For, r.Entry.ID))
	r.State, r.For = driver.Live, ""
	r.Lives = append(r.Lives, life{From: a.Version})
	a.Used.Add(&r.Entry, 1)
	t.keep(a, r, 'r')
}

// erase leaves a stub of an entry, which has the id and the successor, and a scar for each
// life: who reads the scope as it was then has to learn that something is missing.
func (t *tx) erase(a *account, r *record) {
	for _, l := range r.Lives {
		if l.To == 0 {
			l.To = a.Version
		}
		t.put(append(with(with(key("scar", r.Tenant), l.To), l.From), r.Ref...), nil)
	}
	t.forget(a, r)
	r.Entry, r.Lives, r.Erased = driver.Entry{ID: r.Entry.ID}, nil, true
	t.keep(a, r, 'e')
}

// forget removes what finds an entry that is not erased, and what was made of it.
func (t *tx) forget(a *account, r *record) {
	if r.current() {
		a.Used.Add(&r.Entry, -1)
	}
	t.remove(r.age())
	made := key("made", r.Tenant, r.Ref, r.Entry.ID)
	for _, k := range t.keys(made, above(made)) {
		t.discard(t.document(t.Get(k)))
	}
}

// Lookup returns the records of those ids that the scope holds, in the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) (recs []driver.Record, err error) {
	err = st.view(ctx, func(t *tx) error {
		for _, id := range ids {
			if r := t.find(s, id); r != nil {
				recs = append(recs, r.Record)
			}
		}
		return nil
	})
	return recs, err
}

// History yields the records that q asks for. It looks at all of the ref, or of the tenant:
// a store for many entries would have keys for subjects, as it has for successors.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	all := key("record", tenant)
	return loop(ctx, st, all, func(t *tx, from *[]byte) (driver.Record, bool, error) {
		for k, data := range t.ascend(all, *from) {
			if r := t.record(data).Record; q.Matches(&r) {
				*from = append(bytes.Clone(k), 0) // the least key behind this one
				return r, true, nil
			}
		}
		return driver.Record{}, false, nil
	})
}
