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

// Page 6. Events are committed with the mutation that they tell of, and wait here until a relay
// has delivered them: in the order of the commits, which is not that of their names (OUTBOX).

// queue has events wait, but for those that wait there. An id that has another
// payload there is a conflict. The numbers of the order in which they came take the place of
// those that a log will give them.
func (t *tx) queue(recs []events.Record) {
	for _, r := range recs {
		k := key("event", r.Tenant, r.RunID, r.ID)
		var known events.RunEvent
		if !t.load(k, &known) {
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
