package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// encodeEvents returns the payloads as the database has them.
func encodeEvents(recs []events.Record) ([]string, error) {
	var payloads []string
	for _, r := range recs {
		if r.Payload == nil {
			return nil, memory.ErrValidation
		}
		data, err := json.Marshal(r.Payload)
		if err != nil {
			return nil, &failure{writeFailed, err}
		}
		payloads = append(payloads, string(data))
	}
	return payloads, nil
}

// queue puts events into the outbox. One that waits there is dropped.
func (t *tx) queue(recs []events.Record, payloads []string) error {
	for i, r := range recs {
		_, err := t.exec(`INSERT INTO outbox (tenant, run, event, type, node, at, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, r.Tenant, r.RunID, r.ID, string(r.Payload.EventType()), r.NodeID, r.Time.UnixMilli(), payloads[i])
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	outboxColumns = `SELECT tenant, run, event, type, node, at, payload FROM outbox`
	outboxOfAll   = outboxColumns + ` ORDER BY seq`
	outboxOf      = outboxColumns + ` WHERE tenant = ? ORDER BY seq`
	outboxOfRun   = outboxColumns + ` WHERE tenant = ? AND run = ? ORDER BY seq LIMIT ? + 0`
)

// Undelivered returns events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one database get the
// same events, and a sink drops the second. A run with an event that cannot be read
// holds up no other: it is an error once nothing else is left to deliver, and what is
// behind it in its run waits.
func (st *Store) Undelivered(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	text, args := outboxOfAll, []any(nil)
	switch {
	case q.RunID != "" && len(q.Except) == 0:
		limit := q.Limit
		if limit == 0 {
			limit = -1
		}
		text, args = outboxOfRun, []any{q.Tenant, q.RunID, limit}
	case q.Tenant != "":
		text, args = outboxOf, []any{q.Tenant}
	}
	var recs []events.Record
	var broken error
	except := slices.Clone(q.Except)
	err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		var r events.Record
		var at int64
		var kind events.Type
		var payload []byte
		if err := rows.Scan(&r.Tenant, &r.RunID, &r.ID, &kind, &r.NodeID, &at, &payload); err != nil {
			return false, wrap(readFailed, err)
		}
		if q.RunID != "" && r.RunID != q.RunID || slices.Contains(except, memory.RunName{Tenant: r.Tenant, RunID: r.RunID}) {
			return true, nil
		}
		var err error
		r.Time = instant(at)
		if r.Payload, err = events.Decode(kind, payload); err != nil {
			broken = &failure{damaged, err}
			except = append(except, memory.RunName{Tenant: r.Tenant, RunID: r.RunID})
			return true, nil
		}
		recs = append(recs, r)
		return len(recs) != q.Limit, nil
	}, text, args...)
	if err == nil && len(recs) == 0 {
		err = broken
	}
	if err != nil {
		return nil, err
	}
	return recs, nil
}

// Delivered takes events out of the outbox.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	return st.db.write(ctx, func(t *tx) error {
		for i := range recs {
			r := &recs[i]
			if _, err := t.exec(`DELETE FROM outbox WHERE tenant = ? AND run = ? AND event = ?`, r.Tenant, r.RunID, r.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
