package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// claimMillis is for how long a run is claimed, in milliseconds.
const claimMillis = 5000

// clock is the database's own time, by which claims end. One that would end later than one
// made now is of a clock that has been put back since, and has ended.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// eventPage is how many events are read at a time.
const eventPage = 256

// eventColumns are those of an event e, but for its payload, in the order of scanEvent.
const eventColumns = `e.number, e.tenant, e.run_id, e.event_id, e.node_id, e.causation_id, e.engine_version, e.schema_version, e.time, e.type`

const (
	// ofRunPage is a page of the events of one run, ofAllPage of those of all, without payloads and
	// with the oldest event of their run.
	ofRunPage = `
		SELECT ` + eventColumns + `, e.payload FROM agentmemory.events e
		WHERE e.tenant = $2 AND e.run_id = $3 AND e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`
	ofAllPage = `
		SELECT ` + eventColumns + `, (
			SELECT h.number FROM agentmemory.events h WHERE h.tenant = e.tenant AND h.run_id = e.run_id AND h.sequence IS NULL
			ORDER BY h.number LIMIT 1)
		FROM agentmemory.events e WHERE e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`
	claimHeads = `
		UPDATE agentmemory.events o SET owner = $3, until = $4::bigint + $5::bigint
		WHERE o.tenant = ANY ($1) AND o.sequence IS NULL AND o.number = ANY ($2)
			AND (o.owner = $3 OR o.until NOT BETWEEN $4::bigint + 1 AND $4::bigint + $5::bigint)
		RETURNING o.number`
	payloadsOfPage = `
		SELECT e.number, e.payload FROM agentmemory.events e WHERE e.tenant = ANY ($1) AND e.sequence IS NULL AND e.number = ANY ($2)`
)

// runName is a run of a tenant.
type runName struct{ tenant, id string }

// Undelivered yields events of committed mutations that were not marked as delivered, in
// commit order, a page at a time. The runs that it yields to a query for no single run
// are hidden for five seconds from other DBs, so that relays share the work and no event
// of a run overtakes another. A run with an event that cannot be read holds up no other:
// it is an error at the end, and what is behind it in its run waits.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		w := waitingReader{db: st.db, run: runName{tenant, runID}, runs: map[runName]bool{}}
		for more := true; more; {
			page, err := w.nextPage(ctx)
			if err != nil {
				yield(events.Record{}, err)
				return
			}
			for i := range page {
				if rec, ok := w.read(&page[i]); ok && !yield(rec, nil) {
					return
				}
			}
			more = len(page) == eventPage
		}
		if w.unread != nil {
			yield(events.Record{}, driver.ErrInternal.With("an event cannot be read", w.unread))
		}
	}
}

// waitingReader is one loop over the events that wait. It reads each once, and skips all later
// events of a run that it has skipped once.
type waitingReader struct {
	db     *DB
	run    runName          // the only one, unless it is empty
	after  int64            // the number of the event that was looked at last
	runs   map[runName]bool // those that were met; false if they were passed over
	unread error            // of an event that cannot be read
}

// waiting is an event that waits.
type waiting struct {
	number  int64
	rec     events.Record
	kind    string
	payload []byte
	ours    bool  // we have its run
	oldest  bool  // of its run, which we have
	gone    bool  // it was delivered before it was read
	head    int64 // the number of the oldest event of its run
}

// scanEvent reads a row of the eventColumns and further ones.
func scanEvent(row pgx.Row, number *int64, rec *events.Record, kind *string, further ...any) error {
	var time int64
	err := row.Scan(append([]any{number, (*name)(&rec.Tenant), (*name)(&rec.RunID), (*name)(&rec.ID), (*name)(&rec.NodeID),
		(*name)(&rec.CausationID), (*name)(&rec.EngineVersion), &rec.SchemaVersion, &time, kind}, further...)...)
	rec.Time = instant(time)
	return err
}

// nextPage reads a page. One of all runs takes three steps, each a statement for all tenants of the
// page: it is read without payloads; the runs that no other process has are claimed by their oldest
// events; and the payloads of these are read.
func (w *waitingReader) nextPage(ctx context.Context) (page []waiting, err error) {
	if w.run.id != "" {
		err = w.db.query(ctx, tenantSetting(w.run.tenant), rowsInto(&page, func(row pgx.Row, x *waiting) error {
			x.ours, x.oldest = true, true
			return scanEvent(row, &x.number, &x.rec, &x.kind, &x.payload)
		}), ofRunPage, w.after, []byte(w.run.tenant), []byte(w.run.id))
		return page, err
	}
	var now int64
	err = w.db.read(ctx, everyTenant, func(b *pgx.Batch) {
		b.Queue(`SELECT ` + clock).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		b.Queue(ofAllPage, w.after).
			Query(rowsInto(&page, func(row pgx.Row, x *waiting) error { return scanEvent(row, &x.number, &x.rec, &x.kind, &x.head) }))
	})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	claimed, err := w.claimRuns(ctx, page, now)
	if err != nil {
		return nil, err
	}
	var ours []int64
	for i := range page {
		x := &page[i]
		x.ours, x.oldest = claimed[x.head], claimed[x.number]
		if x.ours {
			ours = append(ours, x.number)
		}
	}
	payloads := map[int64][]byte{}
	err = w.db.query(ctx, everyTenant, eachRow(func(row pgx.Row) error {
		var number int64
		var payload []byte
		err := row.Scan(&number, &payload)
		payloads[number] = payload
		return err
	}), payloadsOfPage, tenantsOf(page), ours)
	for i := range page {
		x := &page[i]
		x.payload = payloads[x.number]
		x.gone = x.ours && x.payload == nil
	}
	return page, err
}

// claimRuns claims the runs of a page by their oldest events, and returns those that we have.
func (w *waitingReader) claimRuns(ctx context.Context, page []waiting, now int64) (claimed map[int64]bool, err error) {
	heads := make([]int64, len(page))
	for i := range page {
		heads[i] = page[i].head
	}
	slices.Sort(heads)
	err = w.db.write(ctx, everyTenant, func(b *pgx.Batch) {
		claimed = map[int64]bool{}
		b.Queue(claimHeads, tenantsOf(page), slices.Compact(heads), w.db.owner, now, claimMillis).Query(eachRow(func(row pgx.Row) error {
			var number int64
			err := row.Scan(&number)
			claimed[number] = true
			return err
		}))
	})
	return claimed, err
}

// tenantsOf are the tenants of a page, which tell a cluster where its events are.
func tenantsOf(page []waiting) [][]byte {
	var tenants []string
	for i := range page {
		tenants = append(tenants, page[i].rec.Tenant)
	}
	slices.Sort(tenants)
	return idKeys(slices.Compact(tenants))
}

// read reads an event, and whether it is to be yielded. A run that another process has, or
// that was met behind its oldest event, is skipped from then on.
func (w *waitingReader) read(x *waiting) (events.Record, bool) {
	run := runName{x.rec.Tenant, x.rec.RunID}
	ours, met := w.runs[run]
	w.after = x.number
	if met && !ours {
		return x.rec, false
	}
	if ours = x.oldest || met && x.ours; ours && !x.gone {
		payload, err := events.Decode(events.Type(x.kind), x.payload)
		if err != nil {
			w.unread, ours = err, false
		}
		x.rec.Payload = payload
	}
	w.runs[run] = ours
	return x.rec, ours && !x.gone
}

// Waiting counts the events that wait, those of all tenants if tenant is empty, up to
// limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	of, setting, args := ``, everyTenant, []any{max(limit, 0)}
	if tenant != "" {
		of, setting, args = ` AND tenant = $2`, tenantSetting(tenant), append(args, []byte(tenant))
	}
	n := 0
	err := st.db.query(ctx, setting, eachRow(func(row pgx.Row) error { return row.Scan(&n) }),
		`SELECT count(*) FROM (SELECT 1 FROM agentmemory.events WHERE sequence IS NULL`+of+` LIMIT $1) x`, args...)
	return n, err
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

// payloadsOf are the payloads of events, as the database has them.
func payloadsOf(recs []events.Record) (texts []string, err error) {
	for _, r := range recs {
		text, err := json.Marshal(r.Payload)
		if err != nil {
			return nil, driver.ErrValidation.With("the payload of an event cannot be written as JSON", err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// queueEvents queues the events of a mutation, which wait in their order or, run by run, are kept.
func (w *writes) queueEvents(b *pgx.Batch) {
	if !w.m.Keep {
		w.addEvents(b, "", func(*events.Record) bool { return true })
		return
	}
	added := map[string]bool{}
	for i := range w.m.Events {
		if run := w.m.Events[i].RunID; !added[run] {
			w.addEvents(b, run, func(r *events.Record) bool { return r.RunID == run })
			added[run] = true
		}
	}
}

// An event that is there is dropped, and is an error if it says something else. Of a run $2
// whose events are kept, the others get the next sequences.
const (
	waits = `
		WITH s AS (SELECT NULL::bigint AS next, '{}'::bytea[] AS there)`
	keeps = `
		WITH s AS (SELECT
			COALESCE((SELECT max(sequence) + 1 FROM agentmemory.events WHERE tenant = $1 AND run_id = $2 AND sequence IS NOT NULL), 0) AS next,
			ARRAY(SELECT event_id FROM agentmemory.events WHERE tenant = $1 AND run_id = $2 AND event_id = ANY ($4)) AS there)`
)

// addEvents queues those events of a mutation that each chooses.
func (w *writes) addEvents(b *pgx.Batch, run string, chooses func(*events.Record) bool) {
	var runs, ids, nodes, causes, engines [][]byte
	var schemas, times []int64
	var types, payloads []string
	for i := range w.m.Events {
		r := &w.m.Events[i]
		if !chooses(r) {
			continue
		}
		runs, ids, nodes = append(runs, []byte(r.RunID)), append(ids, []byte(r.ID)), append(nodes, []byte(r.NodeID))
		causes, engines = append(causes, []byte(r.CausationID)), append(engines, []byte(r.EngineVersion))
		schemas, times = append(schemas, int64(r.SchemaVersion)), append(times, r.Time.UnixMilli())
		types, payloads = append(types, string(r.Payload.EventType())), append(payloads, w.payloads[i])
	}
	if len(ids) == 0 {
		return
	}
	const add = `
		INSERT INTO agentmemory.events (tenant, run_id, event_id, node_id, causation_id, engine_version, schema_version, time, type, payload, sequence)
		SELECT $1, v.run, v.id, v.node, v.cause, v.engine, v.schema, v.time, v.type, v.payload,
			s.next + row_number() OVER (PARTITION BY v.id = ANY (s.there) ORDER BY v.place) - 1
		FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bigint[], $9::bigint[], $10::text[], $11::text[])
			WITH ORDINALITY AS v (run, id, node, cause, engine, schema, time, type, payload, place), s
		WHERE $2::bytea IS NOT NULL ORDER BY v.place
		ON CONFLICT (tenant, run_id, event_id) DO UPDATE SET payload = NULL -- which it cannot be: see notNull
			WHERE events.type <> excluded.type OR events.payload <> excluded.payload`
	sequence := waits
	if w.m.Keep {
		sequence = keeps
	}
	b.Queue(sequence+add, []byte(w.tenant), []byte(run), runs, ids, nodes, causes, engines, schemas, times, types, payloads)
}

// lockRuns queues the locks of the runs of events, in one order for everybody.
func lockRuns(b *pgx.Batch, recs []events.Record) {
	var locks []int64
	for i := range recs {
		locks = append(locks, runLock(&recs[i]))
	}
	slices.Sort(locks)
	for _, key := range slices.Compact(locks) {
		b.Queue(`SELECT pg_advisory_xact_lock($1)`, key)
	}
}

// runLock is the key of the advisory lock of a run, under which its events are numbered.
// Runs that share one wait for each other, and no more than that.
func runLock(r *events.Record) int64 {
	b := binary.AppendUvarint([]byte("run"), uint64(len(r.Tenant)))
	sum := sha256.Sum256(append(append(b, r.Tenant...), r.RunID...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Read returns kept events of a run from a sequence on, see [events.Reader]. A page ends once it
// has four megabytes of text.
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	const read = `
		SELECT ` + eventColumns + `, e.payload, e.sequence FROM (
			SELECT *, sum(octet_length(payload)) OVER (ORDER BY sequence) - octet_length(payload) AS before FROM (
				SELECT * FROM agentmemory.events WHERE tenant = $1 AND run_id = $2 AND sequence >= $3 ORDER BY sequence LIMIT $4) p
		) e WHERE before < 4194304 ORDER BY e.sequence`
	var page []events.RunEvent
	err := st.db.query(ctx, tenantSetting(tenant), rowsInto(&page, func(row pgx.Row, ev *events.RunEvent) error {
		var number int64
		var kind string
		var payload []byte
		err := scanEvent(row, &number, &ev.Record, &kind, &payload, &ev.Sequence)
		if err != nil {
			return err
		}
		if ev.Payload, err = events.Decode(events.Type(kind), payload); err != nil {
			return driver.ErrInternal.With("an event cannot be read", err)
		}
		return nil
	}), read, []byte(tenant), []byte(runID), from, events.PageSize(limit))
	return page, err
}

const (
	// endedRuns are runs whose first kept event, and whose newest one, is from before $1.
	endedRuns = `
		SELECT f.tenant, f.run_id FROM agentmemory.events f, LATERAL (
			SELECT l.time FROM agentmemory.events l WHERE l.tenant = f.tenant AND l.run_id = f.run_id AND l.sequence IS NOT NULL
			ORDER BY l.sequence DESC LIMIT 1) l
		WHERE f.sequence = 0 AND f.time < $1 AND l.time < $1 LIMIT $2`
	removeRun = `
		DELETE FROM agentmemory.events e WHERE e.tenant = $1 AND e.run_id = $2 AND e.sequence IS NOT NULL AND NOT EXISTS (
			SELECT FROM agentmemory.events n WHERE n.tenant = $1 AND n.run_id = $2 AND n.sequence IS NOT NULL AND n.time >= $3)`
)

// PurgeEvents removes the kept events of runs whose newest one is from before an instant, at
// most limit runs of them. It has the lock of each, so that nobody numbers an event behind one
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
