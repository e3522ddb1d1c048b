package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// encodeEvents returns the payloads as the database has them.
func encodeEvents(recs []events.Record) ([]string, error) {
	var payloads []string
	for _, r := range recs {
		data, err := json.Marshal(r.Payload)
		if err != nil {
			return nil, driver.ErrValidation.With("the payload of an event cannot be written as JSON", err)
		}
		payloads = append(payloads, string(data))
	}
	return payloads, nil
}

// queue puts events into the outbox. One that waits there is dropped.
func (t *tx) queue(recs []events.Record, payloads []string) error {
	for i, r := range recs {
		kind := string(r.Payload.EventType())
		fresh, err := t.changed(`INSERT INTO outbox (tenant, run, event, type, node, at, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, r.Tenant, r.RunID, r.ID, kind, r.NodeID, r.Time.UnixMilli(), payloads[i])
		if err != nil {
			return err
		}
		if !fresh {
			same := false
			err := t.get([]any{&same}, `SELECT type = ? AND payload = ? FROM outbox WHERE tenant = ? AND run = ? AND event = ?`,
				kind, payloads[i], r.Tenant, r.RunID, r.ID)
			if err != nil {
				return err
			}
			if !same {
				return errTaken
			}
		}
	}
	return nil
}

// errTaken refuses an event whose id names another payload.
var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

const (
	outboxColumns = `SELECT seq, tenant, run, event, type, node, at, payload FROM outbox`
	outboxOfAll   = outboxColumns + ` WHERE seq > ?1 ORDER BY seq`
	outboxOf      = outboxColumns + ` NOT INDEXED WHERE seq > ?1 AND tenant = ?2 ORDER BY seq`
	outboxOfRun   = outboxColumns + ` WHERE tenant = ? AND run = ? ORDER BY seq`
)

// runName is a run of a tenant.
type runName struct{ tenant, id string }

// Undelivered yields the events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one database get the
// same events, and a sink drops the second. What is behind an event that cannot be read
// waits in its run. It reads 512 events at a time, but a run at once. The body of the loop
// may use the store.
func (st *Store) Undelivered(ctx context.Context, q driver.OutboxQuery) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		var broken error
		ill := map[runName]bool{}
		for last := int64(0); ; {
			text, args := outboxOfAll, []any{last}
			switch {
			case q.RunID != "":
				text, args = outboxOfRun, []any{q.Tenant, q.RunID}
			case q.Tenant != "":
				text, args = outboxOf, append(args, q.Tenant)
			}
			var page []events.Record
			read := 0
			err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
				read++
				more := read < ahead || q.RunID != ""
				var r events.Record
				var at int64
				var kind events.Type
				var payload []byte
				if err := rows.Scan(&last, &r.Tenant, &r.RunID, &r.ID, &kind, &r.NodeID, &at, &payload); err != nil {
					return false, wrap(readFailed, err)
				}
				run := runName{r.Tenant, r.RunID}
				if ill[run] {
					return more, nil
				}
				var err error
				r.Time = instant(at)
				if r.Payload, err = events.Decode(kind, payload); err != nil {
					broken, ill[run] = &failure{damaged, err}, true
					return more, nil
				}
				page = append(page, r)
				return more, nil
			}, text, args...)
			if err != nil {
				yield(events.Record{}, err)
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if read < ahead || q.RunID != "" {
				break
			}
		}
		if broken != nil {
			yield(events.Record{}, broken)
		}
	}
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (n int, err error) {
	text, args := `SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT ?1 + 0)`, []any{max(0, limit)}
	if tenant != "" {
		text, args = countWaiting, append(args, tenant)
	}
	return n, st.db.get(ctx, []any{&n}, text, args...)
}

const countWaiting = `SELECT count(*) FROM (SELECT 1 FROM outbox WHERE tenant = ?2 LIMIT ?1 + 0)`

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
