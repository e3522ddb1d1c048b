package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"

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
		if t.load(k, &known) {
			if !events.SamePayload(known.Payload, r.Payload) {
				t.note(driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken))
			}
			continue
		}
		n, err := t.NextSequence()
		t.note(err)
		t.save(k, events.RunEvent{Record: r, Sequence: int64(n)})
	}
}

// waiting returns the keys of the events of a tenant that wait, or of all if it is empty.
func (t *tx) waiting(tenant string) [][]byte {
	prefix := key("event")
	if tenant != "" {
		prefix = key("event", tenant)
	}
	return t.keys(prefix, above(prefix))
}

// Undelivered yields the events that wait, in the order of their commits. It has them all
// in memory: their number is bounded by [driver.Limits]. If one cannot be read, its run
// waits, and no other one.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return all(ctx, st, func(t *tx) (recs []events.Record, err error) {
		var found []events.RunEvent
		stuck := map[[2]string]bool{}
		for _, k := range t.waiting(tenant) {
			names := bytes.Split(k, []byte{0})
			var e events.RunEvent
			ill := json.Unmarshal(t.Get(k), &e)
			e.Tenant, e.RunID = string(names[1]), string(names[2])
			switch run := [2]string{e.Tenant, e.RunID}; {
			case runID != "" && e.RunID != runID:
			case ill != nil:
				err, stuck[run] = driver.ErrInternal.With("an event cannot be read", ill), true
			default:
				found = append(found, e)
			}
		}
		slices.SortFunc(found, func(a, b events.RunEvent) int { return cmp.Compare(a.Sequence, b.Sequence) })
		for _, e := range found {
			if !stuck[[2]string{e.Tenant, e.RunID}] {
				recs = append(recs, e.Record)
			}
		}
		return recs, err
	})
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (n int, err error) {
	err = st.view(ctx, func(t *tx) error {
		n = max(0, min(limit, len(t.waiting(tenant))))
		return nil
	})
	return n, err
}

// Delivered removes events that wait.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	return st.update(ctx, func(t *tx) error {
		for _, r := range recs {
			t.remove(key("event", r.Tenant, r.RunID, r.ID))
		}
		return nil
	})
}
