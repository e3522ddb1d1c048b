package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
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
		kind := r.Payload.EventType()
		payload, err := json.Marshal(r.Payload)
		if err != nil {
			return fail(writeFailed, err)
		}
		_, fresh := t.exec(text, r.Tenant, r.RunID, r.ID, kind, r.NodeID, r.CausationID, r.EngineVersion, r.SchemaVersion, r.Time.UnixMilli(), string(payload))
		if fresh > 0 {
			continue
		}
		first(t.query, []any{&kind, &payload}, `SELECT type, payload FROM events WHERE tenant = ? AND run = ? AND event = ?`, r.Tenant, r.RunID, r.ID)
		there, err := events.Decode(kind, payload)
		if err != nil {
			return fail(damaged, err)
		}
		if !events.SamePayload(there, r.Payload) {
			return errTaken
		}
	}
	return nil
}

// errTaken refuses an event whose id names another payload.
var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

const (
	eventColumns  = `SELECT tenant, run, event, type, node, causation, engine, schema, at, payload, number, ifnull(sequence, 0) FROM events`
	waitingEvents = eventColumns + ` WHERE number > ?1 ORDER BY number`
	waitingOfRun  = eventColumns + ` WHERE tenant = ?2 AND run = ?3 AND number > ?1 ORDER BY number`
	keptEvents    = eventColumns + ` WHERE tenant = ?1 AND run = ?2 AND sequence >= ?3 AND sequence IS NOT NULL ORDER BY sequence LIMIT ?4 + 0`
	countWaiting  = `SELECT count(*) FROM (SELECT 1 FROM events WHERE tenant = ?2 AND number >= 4611686018427387904 LIMIT ?1 + 0)`
	countAll      = `SELECT count(*) FROM (SELECT 1 FROM events WHERE number >= 4611686018427387904 LIMIT ?1 + 0)`

	// beforeWaiting is the number before those of events that wait.
	beforeWaiting = 1<<62 - 1
)

// storedEvent is an event with its row.
type storedEvent struct {
	events.RunEvent
	number int64
	size   int   // of the payload
	ill    error // why it cannot be read
}

func scanEvent(rows *sql.Rows) (e storedEvent, err error) {
	var at int64
	var kind events.Type
	var payload []byte
	err = rows.Scan(&e.Tenant, &e.RunID, &e.ID, &kind, &e.NodeID, &e.CausationID, &e.EngineVersion, &e.SchemaVersion, &at, &payload, &e.number, &e.Sequence)
	if err != nil {
		return e, wrap(readFailed, err)
	}
	e.Time, e.size = instant(at), len(payload)
	if e.Payload, err = events.Decode(kind, payload); err != nil {
		e.ill = fail(damaged, err)
	}
	return e, nil
}

// runName is a run of a tenant.
type runName struct{ tenant, id string }

// Undelivered yields the events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one database get the
// same events, and a sink drops the second. What is behind an event that cannot be read
// waits in its run. It reads 512 events at a time. The body of the loop may use the store.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		text, last := waitingEvents, int64(beforeWaiting)
		if runID != "" {
			text = waitingOfRun
		}
		var broken error
		ill := map[runName]bool{}
		driver.Pages(func(*events.Record) (page []events.Record, more bool, err error) {
			n := 0
			err = st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
				e, err := scanEvent(rows)
				last, n = e.number, n+1
				run := runName{e.Tenant, e.RunID}
				if e.ill != nil && !ill[run] {
					broken, ill[run] = e.ill, true
				}
				if err == nil && !ill[run] {
					page = append(page, e.Record)
				}
				return n < ahead, err
			}, text, last, tenant, runID)
			if err == nil && n < ahead {
				err = broken
			}
			return page, n == ahead, err
		})(yield)
	}
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (n int, err error) {
	text := countWaiting
	if tenant == "" {
		text = countAll
	}
	return n, first(st.db.reads(ctx), []any{&n}, text, max(0, limit), tenant)
}

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

// pageBytes is how much text a page of a log has, apart from its last event.
const pageBytes = 4 << 20

// Read returns kept events of a run from a sequence on, see [events.Reader].
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	var page []events.RunEvent
	size := 0
	err := st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
		e, err := scanEvent(rows)
		if err == nil {
			err = e.ill
		}
		page, size = append(page, e.RunEvent), size+e.size
		return size < pageBytes, err
	}, keptEvents, tenant, runID, from, events.PageSize(limit))
	if err != nil {
		return nil, err
	}
	return page, nil
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

// PurgeEvents removes the kept events of runs, of all tenants, whose newest one is from before
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
