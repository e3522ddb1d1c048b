package boltstore

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 7. One mutation, many parts, all or nothing. bbolt makes it whole; what may be committed
// is judged by rules that are the same for every store (BATCH, LIMIT). The engines of the
// library work on nothing but this: the kit runs them too (CONSOLIDATE, DISTILL, FIRE).

// Apply commits m, all of it or nothing. Whether it may be committed is not for the store to
// judge: [driver.Stored.Plan] asks for what is there, and says what to do.
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (done driver.Applied, err error) {
	err = st.update(ctx, func(t *tx) {
		t.note(m.Validate(tenant))
		plan := t.plan(&m, t.needs(tenant, &m))
		if t.err != nil {
			return
		}
		if !m.Unversioned() {
			done.Version = t.change(tenant, &plan)
		}
		for _, l := range plan.Erase {
			t.discardMadeOf(l)
		}
		for i := range m.Documents {
			done.Revs = append(done.Revs, t.swap(&m.Documents[i]))
		}
		t.queue(m.Events)
	})
	return done, err
}

// needs is what is there of that which a mutation names, but for entries.
func (t *tx) needs(tenant string, m *driver.Mutation) driver.Stored {
	s := m.Needs()
	s.Used = t.account(tenant).Used
	if m.Limits.Waiting > 0 {
		s.Used.Waiting = int64(len(t.waiting(tenant, "")))
	}
	for l := range s.MergedInto {
		for k := range t.under(key("record", l.Tenant, l.Ref)) {
			if r := t.record(k); r.For == l.ID {
				s.MergedInto[l] = append(s.MergedInto[l], r.Entry.ID)
			}
		}
	}
	for i := range m.Documents {
		s.Documents[i] = t.document(documentKey(&m.Documents[i].Document))
	}
	return s
}

// Lookup returns the records of those ids that the scope holds, in the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return view(ctx, st, func(t *tx) (recs []driver.Record) {
		for _, id := range ids {
			if r := t.find(driver.Located{Scope: s, ID: id}); r.Entry.ID != "" {
				recs = append(recs, r.Record)
			}
		}
		return recs
	})
}

// History yields the records that q asks for. It looks at all of the tenant: a store for many
// entries would have keys for refs, subjects and successors.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return all(ctx, st, func(t *tx) (recs []driver.Record) {
		for k := range t.under(key("record", tenant)) {
			if r := t.record(k).Record; q.Matches(&r) {
				recs = append(recs, r)
			}
		}
		return recs
	})
}
