package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// claimMillis is for how long a run is claimed, in milliseconds.
const claimMillis = 5000

// clock is the database's own time, by which claims end. One that would end later than one
// made now is of a clock that has been put back since, and has ended.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const claimHeads = `
	UPDATE agentmemory.events o SET owner = $3, until = $4::bigint + $5::bigint
	WHERE o.tenant = ANY ($1) AND o.sequence IS NULL AND o.number = ANY ($2)
		AND (o.owner = $3 OR o.until NOT BETWEEN $4::bigint + 1 AND $4::bigint + $5::bigint)
	RETURNING o.number`

// claimRuns claims the runs of a page for five seconds by their oldest events, so that relays share
// the work and no event of a run overtakes another. It returns those that we have.
func (db *DB) claimRuns(ctx context.Context, page []sqlstore.Event) (claimed map[int64]bool, err error) {
	var now int64
	err = db.query(ctx, everyTenant, eachRow(func(row pgx.Row) error { return row.Scan(&now) }), `SELECT `+clock)
	if err != nil {
		return nil, err
	}
	var tenants []string // which tell a cluster where the events are
	var heads []int64
	for i := range page {
		tenants, heads = append(tenants, page[i].Tenant), append(heads, page[i].Head)
	}
	slices.Sort(tenants)
	slices.Sort(heads)
	err = db.write(ctx, everyTenant, func(b *pgx.Batch) {
		claimed = map[int64]bool{}
		b.Queue(claimHeads, idKeys(slices.Compact(tenants)), slices.Compact(heads), db.owner, now, claimMillis).Query(eachRow(func(row pgx.Row) error {
			var number int64
			err := row.Scan(&number)
			claimed[number] = true
			return err
		}))
	})
	return claimed, err
}

// Delivered removes events that wait.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	if err := ctx.Err(); err != nil || len(recs) == 0 {
		return err
	}
	setting := tenantSetting(recs[0].Tenant)
	if slices.ContainsFunc(recs, func(r events.Record) bool { return r.Tenant != recs[0].Tenant }) {
		setting = everyTenant
	}
	const remove = `DELETE FROM agentmemory.events WHERE tenant = $1 AND run_id = $2 AND event_id = $3 AND sequence IS NULL`
	return st.db.write(ctx, setting, func(b *pgx.Batch) {
		for _, r := range recs {
			b.Queue(remove, []byte(r.Tenant), []byte(r.RunID), []byte(r.ID))
		}
	})
}

// release ends the claims of this DB.
func (db *DB) release(ctx context.Context) error {
	return db.write(ctx, everyTenant, func(b *pgx.Batch) {
		b.Queue(`UPDATE agentmemory.events SET owner = NULL, until = 0 WHERE sequence IS NULL AND owner = $1`, db.owner)
	})
}

// An event that is there is dropped, and is an error if it says something else. One that is kept
// gets the next sequence of its run.
const (
	queueEvent = `WITH s AS (SELECT NULL::bigint AS next)` + addEvent
	keepEvent  = `WITH s AS (
		SELECT COALESCE(max(sequence) + 1, 0) AS next FROM agentmemory.events WHERE tenant = $1 AND run_id = $2 AND sequence IS NOT NULL)` + addEvent
	addEvent = `
		INSERT INTO agentmemory.events (tenant, run_id, event_id, node_id, causation_id, engine_version, schema_version, time, type, payload, sequence)
		SELECT $1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::bytea, $6::bytea, $7::bigint, $8::bigint, $9::text, $10::text, s.next FROM s WHERE true
		ON CONFLICT (tenant, run_id, event_id) DO UPDATE SET payload = NULL -- which it cannot be: see notNull
			WHERE events.type <> excluded.type OR events.payload <> excluded.payload`
)

// queueEvents queues the events of a mutation, which wait or are kept in their order.
func (w *writes) queueEvents(b *pgx.Batch) {
	text := queueEvent
	if w.M.Keep {
		text = keepEvent
	}
	for i := range w.M.Events {
		r := &w.M.Events[i]
		payload, err := json.Marshal(r.Payload)
		if err != nil {
			panic(err) // [driver.Mutation.Validate] has let it through
		}
		b.Queue(text, []byte(w.Tenant), []byte(r.RunID), []byte(r.ID), []byte(r.NodeID), []byte(r.CausationID), []byte(r.EngineVersion),
			int64(r.SchemaVersion), r.Time.UnixMilli(), string(r.Payload.EventType()), string(payload))
	}
}

// lockRuns queues the locks of the runs of events, under which these are numbered, in one order for
// everybody.
func lockRuns(b *pgx.Batch, recs []events.Record) {
	var locks []int64
	for i := range recs {
		locks = append(locks, lockKey("run", recs[i].Tenant, recs[i].RunID))
	}
	slices.Sort(locks)
	for _, key := range slices.Compact(locks) {
		b.Queue(`SELECT pg_advisory_xact_lock($1)`, key)
	}
}

const (
	// endedRuns are runs whose first kept event, and whose last one, is from before $1.
	endedRuns = `
		SELECT f.tenant, f.run_id FROM agentmemory.events f, LATERAL (
			SELECT l.time FROM agentmemory.events l WHERE l.tenant = f.tenant AND l.run_id = f.run_id AND l.sequence IS NOT NULL
			ORDER BY l.sequence DESC LIMIT 1) l
		WHERE f.sequence = 0 AND f.time < $1 AND l.time < $1 LIMIT $2`
	removeRun = `
		DELETE FROM agentmemory.events e WHERE e.tenant = $1 AND e.run_id = $2 AND e.sequence IS NOT NULL AND $3 > (
			SELECT l.time FROM agentmemory.events l WHERE l.tenant = $1 AND l.run_id = $2 AND l.sequence IS NOT NULL
			ORDER BY l.sequence DESC LIMIT 1)`
)

// PurgeEvents removes the kept events of runs whose first and last one are from before an instant, at
// most limit runs of them. It has the lock of each, so that no other process numbers an event behind one
// that goes.
func (st *Store) PurgeEvents(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	limit = max(1, limit)
	var runs []events.Record // of each the tenant and the id
	err = st.db.query(ctx, everyTenant, rowsInto(&runs, func(row pgx.Row, r *events.Record) error {
		return row.Scan((*name)(&r.Tenant), (*name)(&r.RunID))
	}), endedRuns, before.UnixMilli(), limit)
	if err != nil || len(runs) == 0 {
		return false, err
	}
	err = st.db.write(ctx, everyTenant, func(b *pgx.Batch) {
		lockRuns(b, runs)
		for _, r := range runs {
			b.Queue(removeRun, []byte(r.Tenant), []byte(r.RunID), before.UnixMilli())
		}
	})
	return err == nil && len(runs) == limit, err
}
