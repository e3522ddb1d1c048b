package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Emit puts events into the log of their runs, all or none, behind those of mutations that
// were committed before, see [events.RunLog]. It makes no version.
func (st *Store) Emit(ctx context.Context, recs ...events.Record) error {
	docs, err := runEvents(recs)
	if err != nil || len(recs) == 0 {
		return err
	}
	return st.db.write(ctx, func(t *tx) error { return t.log(recs, docs) })
}

// runEvents are the documents of events, without their sequences.
func runEvents(recs []events.Record) (docs []string, err error) {
	for _, r := range recs {
		doc, err := json.Marshal(events.RunEvent{Record: r})
		if err != nil {
			return nil, driver.ErrValidation.With("an event breaks its schema, and no run log takes it", errors.Unwrap(err))
		}
		docs = append(docs, string(doc))
	}
	return docs, nil
}

// log gives events the next sequences of their runs, but for those that are there.
func (t *tx) log(recs []events.Record, docs []string) error {
	for i, r := range recs {
		fresh, err := t.changed(`INSERT INTO run_events (tenant, run, sequence, event, document)
			VALUES (?1, ?2, (SELECT ifnull(max(sequence) + 1, 0) FROM run_events WHERE tenant = ?1 AND run = ?2), ?3, ?4)
			ON CONFLICT (tenant, run, event) DO NOTHING`, r.Tenant, r.RunID, r.ID, docs[i])
		if err != nil {
			return err
		}
		if !fresh {
			var doc []byte
			if err := t.get([]any{&doc}, `SELECT document FROM run_events WHERE tenant = ? AND run = ? AND event = ?`, r.Tenant, r.RunID, r.ID); err != nil {
				return err
			}
			var there events.RunEvent
			if err := there.UnmarshalJSON(doc); err != nil {
				return &failure{damaged, err}
			}
			if !events.SamePayload(there.Payload, r.Payload) {
				return errTaken
			}
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
		var ev events.RunEvent
		var sequence int64
		var doc []byte
		if err := rows.Scan(&sequence, &doc); err != nil {
			return false, wrap(readFailed, err)
		}
		if err := ev.UnmarshalJSON(doc); err != nil {
			return false, &failure{damaged, err}
		}
		ev.Tenant, ev.Sequence = tenant, sequence
		page, size = append(page, ev), size+len(doc)
		return size < pageBytes, nil
	}, `SELECT sequence, document FROM run_events
		WHERE tenant = ? AND run = ? AND sequence >= ? ORDER BY sequence LIMIT ? + 0`, tenant, runID, from, events.PageSize(limit))
	return page, err
}
