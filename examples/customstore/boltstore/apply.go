package boltstore

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Page 5. One mutation, many parts, all or nothing. bbolt makes it whole; what may be committed
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

// Events are committed with the mutation that they tell of, and wait here until a relay has delivered
// them: in the order of the commits, which is not that of their names (OUTBOX).

// queue has events wait, but for those that wait there. An id that has another
// payload there is a conflict. The numbers of the order in which they came take the place of
// those that a log will give them.
func (t *tx) queue(recs []events.Record) {
	for _, r := range recs {
		k := key("event", r.Tenant, r.RunID, r.ID)
		var known events.RunEvent
		if t.load(k, &known); known.Payload == nil {
			n, err := t.NextSequence()
			t.note(err)
			t.save(k, events.RunEvent{Record: r, Sequence: int64(n)})
		} else if !events.SamePayload(known.Payload, r.Payload) {
			t.note(driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken))
		}
	}
}

// waiting returns the keys of the events that wait, of a tenant and a run if these are not empty.
func (t *tx) waiting(tenant, runID string) [][]byte {
	names := slices.DeleteFunc([]string{"event", tenant, runID}, func(name string) bool { return name == "" })
	return slices.Collect(t.under(key(names...)))
}

// Undelivered yields the events that wait, in the order of their commits. It has them all
// in memory: their number is bounded by [driver.Limits]. If one cannot be read, its run
// waits, and no other one.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return all(ctx, st, func(t *tx) (recs []events.Record) {
		var found []events.RunEvent
		for _, k := range t.waiting(tenant, runID) {
			var e events.RunEvent
			t.load(k, &e) // one that cannot be read stays empty, and comes before all others
			names := strings.Split(string(k), "\x00")
			e.Tenant, e.RunID = names[1], names[2]
			found = append(found, e)
		}
		slices.SortFunc(found, func(a, b events.RunEvent) int { return cmp.Compare(a.Sequence, b.Sequence) })
		stuck := map[[2]string]bool{}
		for _, e := range found {
			run := [2]string{e.Tenant, e.RunID}
			if stuck[run] = stuck[run] || e.Payload == nil; !stuck[run] {
				recs = append(recs, e.Record)
			}
		}
		return recs
	})
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	return view(ctx, st, func(t *tx) int { return max(0, min(limit, len(t.waiting(tenant, "")))) })
}

// Delivered removes events that wait.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	return st.update(ctx, func(t *tx) {
		for _, r := range recs {
			t.remove(key("event", r.Tenant, r.RunID, r.ID))
		}
	})
}
