package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// An event that waits has a number from 2^62 on, and no sequence; one that is kept has a number
// below, and the next sequence of its run.
const (
	addEvent = `INSERT INTO events (tenant, run, event, type, node, causation, engine, schema, at, payload, number, sequence)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, `
	queueEvent = addEvent + `max(4611686018427387904, 1 + ifnull((SELECT max(number) FROM events), 0)), NULL) ON CONFLICT (tenant, run, event) DO NOTHING`
	keepEvent  = addEvent + `1 + ifnull((SELECT max(number) FROM events WHERE number < 4611686018427387904), 0),
		1 + ifnull((SELECT max(sequence) FROM events WHERE tenant = ?1 AND run = ?2 AND sequence IS NOT NULL), -1)) ON CONFLICT (tenant, run, event) DO NOTHING`
)

// addEvents has the events of a mutation wait, or keeps them. One that is there is dropped.
func (t *tx) addEvents(m *driver.Mutation) error {
	text := queueEvent
	if m.Keep {
		text = keepEvent
	}
	for i := range m.Events {
		r := &m.Events[i]
		payload, err := json.Marshal(r.Payload)
		if err != nil {
			return fail(writeFailed, err)
		}
		_, fresh := t.exec(text, r.Tenant, r.RunID, r.ID, r.Payload.EventType(), r.NodeID, r.CausationID, r.EngineVersion, r.SchemaVersion, r.Time.UnixMilli(), string(payload))
		if fresh > 0 {
			continue
		}
		var same bool
		first(t.query, []any{&same}, isSameEvent, r.Tenant, r.RunID, r.ID, r.Payload.EventType(), string(payload))
		if t.err == nil && !same {
			return errTaken
		}
	}
	return nil
}

const isSameEvent = `SELECT type = ?4 AND payload = ?5 FROM events WHERE tenant = ?1 AND run = ?2 AND event = ?3`

// errTaken refuses an event whose id names another payload.
var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

const removeDelivered = `DELETE FROM events WHERE number IN (SELECT e.number FROM json_each(?) j CROSS JOIN events e
	ON e.tenant = ` + name0 + ` AND e.run = ` + name1 + ` AND e.event = ` + name2 + ` AND e.number >= 4611686018427387904)`

// Delivered removes events that wait. The log is emptied after it: a Scrub removes those that
// must not stay.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	names := make([][3]string, len(recs))
	for i := range recs {
		names[i] = [3]string{inHex(recs[i].Tenant), inHex(recs[i].RunID), inHex(recs[i].ID)}
	}
	return st.db.tx(ctx, func(t *tx) error {
		if _, n := t.exec(removeDelivered, inJSON(names)); n == 0 {
			return errUnchanged
		}
		t.erased = true
		return nil
	})
}

// purgeRuns removes what is kept of runs that end before an instant: those that began before it
// are a range of an index, and the newest event of each is a step into another.
const purgeRuns = `DELETE FROM events WHERE number IN (SELECT e.number FROM (
	SELECT f.tenant, f.run FROM events f INDEXED BY events_first WHERE f.sequence = 0 AND f.at < ?1 AND ?1 > (
		SELECT l.at FROM events l INDEXED BY events_kept WHERE l.tenant = f.tenant AND l.run = f.run AND l.sequence IS NOT NULL
		ORDER BY l.sequence DESC LIMIT 1)
	ORDER BY f.at LIMIT ?2 + 0) r
	CROSS JOIN events e INDEXED BY events_kept ON e.tenant = r.tenant AND e.run = r.run AND e.sequence IS NOT NULL)
	RETURNING sequence`

// PurgeEvents removes the kept events of runs, of all tenants, whose first and last one are from before
// an instant, of at most limit runs, and reports whether there may be more of them.
func (st *Store) PurgeEvents(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	limit = max(1, limit)
	return more, st.db.tx(ctx, func(t *tx) error {
		runs := 0
		sequences, _ := collect(t.query, scanKey, purgeRuns, before.UnixMilli(), limit)
		for _, sequence := range sequences {
			if sequence == 0 {
				runs++
			}
		}
		if runs == 0 {
			return errUnchanged
		}
		t.erased, more = true, runs == limit
		return nil
	})
}
