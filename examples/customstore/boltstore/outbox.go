package boltstore

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// waiting is an event in the outbox. A payload is written with its type, by which
// [events.Decode] reads it.
type waiting struct {
	Tenant, RunID, ID, NodeID string
	Time                      time.Time
	Type                      events.Type
	Payload                   json.RawMessage
}

// queue puts events into the outbox, but for those that wait there.
func (t *tx) queue(recs []events.Record) {
	for _, r := range recs {
		name := key(r.Tenant, r.RunID, r.ID)
		if t.get(byEvent, name) != nil {
			continue
		}
		payload, err := json.Marshal(r.Payload)
		if err != nil {
			t.failed(err)
			return
		}
		n, err := t.Bucket(outbox).NextSequence()
		if err != nil {
			t.failed(err)
			return
		}
		place := with(nil, n, "")
		t.save(outbox, place, waiting{r.Tenant, r.RunID, r.ID, r.NodeID, r.Time.UTC(), r.Payload.EventType(), payload})
		t.put(byEvent, name, place)
	}
}

// Undelivered yields the events that wait, in the order of their commits. An event that
// cannot be read holds up its own run only.
func (st *Store) Undelivered(ctx context.Context, q driver.OutboxQuery) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		var broken error
		ill := map[string]bool{} // runs
		for r, err := range pages(ctx, st, outbox, nil, pageSize, func(t *tx, _, data []byte) (r events.Record, asked bool) {
			var w waiting
			t.decode(data, &w)
			run := string(key(w.Tenant, w.RunID))
			if q.Tenant != "" && q.Tenant != w.Tenant || q.RunID != "" && q.RunID != w.RunID || ill[run] {
				return r, false
			}
			payload, err := events.Decode(w.Type, w.Payload)
			if err != nil {
				broken, ill[run] = driver.Fail(driver.ErrInternal, "an event cannot be read", err), true
				return r, false
			}
			return events.Record{ID: w.ID, Tenant: w.Tenant, RunID: w.RunID, NodeID: w.NodeID, Time: w.Time, Payload: payload}, true
		}) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		if broken != nil {
			yield(events.Record{}, broken)
		}
	}
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (n int, err error) {
	err = st.view(ctx, func(t *tx) error {
		n = t.waiting(tenant, limit)
		return nil
	})
	return n, err
}

func (t *tx) waiting(tenant string, limit int) (n int) {
	var prefix []byte // of all tenants
	if tenant != "" {
		prefix = key(tenant)
	}
	for range t.ascend(byEvent, prefix, prefix) {
		if n >= limit {
			break
		}
		n++
	}
	return n
}

// Delivered takes events out of the outbox.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	return st.update(ctx, func(t *tx) error {
		for _, r := range recs {
			t.take(key(r.Tenant, r.RunID, r.ID))
		}
		return nil
	})
}

// take removes an event that waits, if it does.
func (t *tx) take(name []byte) {
	if place := t.get(byEvent, name); place != nil {
		t.remove(outbox, place)
		t.remove(byEvent, name)
	}
}
