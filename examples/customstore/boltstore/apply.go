package boltstore

import (
	"context"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 7. One mutation, many parts, all or nothing. bbolt makes it whole; what may be committed
// is judged by rules that are the same for every store (BATCH, LIMIT). The engines of the
// library work on nothing but this: the kit runs them too (CONSOLIDATE, DISTILL, FIRE).

// Apply commits m, all of it or nothing. Whether it may be committed is not for the store to
// judge: [driver.Stored.Plan] asks for what is there, and says what to do.
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (done driver.Applied, err error) {
	err = st.update(ctx, func(t *tx) error {
		if err := m.Validate(tenant); err != nil {
			return err
		}
		stored := t.stored(tenant, &m)
		plan, err := stored.Plan(&m)
		if err != nil {
			return err
		}
		if !m.Unversioned() {
			done.Version = t.change(tenant, &plan, func(version uint64) { t.commit(version, &plan) })
		}
		for i := range m.Documents {
			done.Revs = append(done.Revs, t.swap(&m.Documents[i]))
		}
		t.queue(m.Events)
		return nil
	})
	if err != nil {
		return driver.Applied{}, err
	}
	return done, nil
}

// stored is what is there of that which a mutation names. A lookup that fails is known at the
// end of the transaction, also if its answer was changed.
func (t *tx) stored(tenant string, m *driver.Mutation) driver.Stored {
	s := m.Needs()
	s.Used = t.account(tenant).Used
	if m.Limits.Waiting > 0 {
		s.Used.Waiting = int64(len(t.waiting(tenant)))
	}
	for l := range s.Entries {
		if r := t.find(l.Scope, l.ID); r != nil {
			s.Entries[l] = r.Record
		} else {
			delete(s.Entries, l)
		}
	}
	for l := range s.MergedInto {
		for _, data := range t.ascend(key("record", l.Tenant, l.Ref)) {
			if r := t.record(data); r.For == l.ID {
				s.MergedInto[l] = append(s.MergedInto[l], r.Entry.ID)
			}
		}
	}
	for i := range m.Documents {
		s.Documents[i] = t.document(documentKey(&m.Documents[i].Document))
	}
	return s
}

// commit does to entries what a plan says.
func (t *tx) commit(version uint64, plan *driver.Plan) {
	for i := range plan.Insert {
		t.insert(version, &plan.Insert[i])
	}
	for i := range plan.Retire {
		t.retire(version, &plan.Retire[i])
	}
	for _, l := range plan.Restore {
		r := t.find(l.Scope, l.ID)
		r.State, r.For = driver.Live, ""
		r.Lives = append(r.Lives, life{From: version})
		t.keep(r)
	}
	for _, l := range plan.Erase {
		t.erase(version, t.find(l.Scope, l.ID))
	}
}

// erase leaves the id of an entry and its successor, and a gap for each life: who reads the
// scope as it was then has to learn that something is missing.
func (t *tx) erase(version uint64, r *record) {
	for _, l := range r.Lives {
		if l.To == 0 {
			l.To = version
		}
		t.put(append(with(with(key("gap", r.Tenant), l.To), l.From), r.Ref...), nil)
	}
	t.forget(r)
	r.Entry, r.Lives, r.Erased = driver.Entry{ID: r.Entry.ID}, nil, true
	t.keep(r)
}

// forget removes what finds an entry that is not erased, and what was made of it or of its
// whole ref.
func (t *tx) forget(r *record) {
	t.remove(r.age())
	for _, d := range t.documents(key("document", r.Tenant, r.Ref)) {
		if d.Whole || slices.Contains(d.Of, r.Entry.ID) {
			t.discard(d)
		}
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

// History yields the records that q asks for. It looks at all of the tenant: a store for many
// entries would have keys for refs, subjects and successors.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return all(ctx, st, func(t *tx) (recs []driver.Record, err error) {
		for _, data := range t.ascend(key("record", tenant)) {
			if r := t.record(data).Record; q.Matches(&r) {
				recs = append(recs, r)
			}
		}
		return recs, nil
	})
}
