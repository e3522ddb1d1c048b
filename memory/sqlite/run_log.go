package sqlite

import (
	"context"
	"database/sql"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Emit puts events into the log of their runs, all or none, behind those of mutations that
// were committed before, see [events.RunLog]. It makes no version.
func (st *Store) Emit(ctx context.Context, recs ...events.Record) error {
	for _, r := range recs {
		if err := r.Validate(); err != nil {
			return driver.Fail(driver.ErrValidation, "an event that no log takes", err)
		}
	}
	payloads, err := encodeEvents(recs)
	if err != nil || len(recs) == 0 {
		return err
	}
	return st.db.write(ctx, func(t *tx) error { return t.log(recs, payloads) })
}

// log gives events the next sequences of their runs, but for those that are there.
func (t *tx) log(recs []events.Record, payloads []string) error {
	for i, r := range recs {
		_, err := t.exec(`INSERT INTO run_events (tenant, run, sequence, event, type, node, at, payload)
			VALUES (?1, ?2, (SELECT ifnull(max(sequence) + 1, 0) FROM run_events WHERE tenant = ?1 AND run = ?2), ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (tenant, run, event) DO NOTHING`,
			r.Tenant, r.RunID, r.ID, string(r.Payload.EventType()), r.NodeID, r.Time.UnixMilli(), payloads[i])
		if err != nil {
			return err
		}
	}
	return nil
}

// pageBytes is how much text a page of the log has, apart from its last event.
const pageBytes = 4 << 20

// Read returns events of a run from a sequence on, see [events.RunLog].
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	var page []events.RunEvent
	size := 0
	err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		ev := events.RunEvent{Record: events.Record{Tenant: tenant, RunID: runID}}
		var at int64
		var kind events.Type
		var payload []byte
		if err := rows.Scan(&ev.Sequence, &ev.ID, &kind, &ev.NodeID, &at, &payload); err != nil {
			return false, wrap(readFailed, err)
		}
		var err error
		if ev.Payload, err = events.Decode(kind, payload); err != nil {
			return false, &failure{damaged, err}
		}
		ev.Time = instant(at)
		page, size = append(page, ev), size+len(payload)
		return size < pageBytes, nil
	}, `SELECT sequence, event, type, node, at, payload FROM run_events
		WHERE tenant = ? AND run = ? AND sequence >= ? ORDER BY sequence LIMIT ? + 0`, tenant, runID, from, events.PageSize(limit))
	return page, err
}
