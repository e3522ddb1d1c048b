package postgres

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// claimMillis is for how long a run is claimed, in milliseconds.
const claimMillis = 5000

// clock is the database's own time, by which claims end. One that would end later than one
// made now is of a clock that has been put back since, and has ended.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// outboxPage is how many events are read at a time.
const outboxPage = 256

// eventColumns are what collect reads.
const eventColumns = `o.seq, o.tenant, o.run_id, o.event_id, o.node_id, o.time, o.type`

// ofRunPage is a page of the events of one run.
const ofRunPage = `
	SELECT ` + eventColumns + `, o.payload, true, true FROM agentmemory.outbox o
	WHERE o.tenant = $2 AND o.run_id = $3 AND o.seq > $1 ORDER BY o.seq LIMIT 256`

// claimPage reads a page of events and claims their runs. A run is claimed through its oldest
// event, unless another process has it. Each row tells whether we have its run, and whether it
// is the oldest event of that.
func claimPage(tenant string) string {
	return `
		WITH page AS MATERIALIZED (
			SELECT * FROM agentmemory.outbox o WHERE o.seq > $1` + tenant + ` ORDER BY o.seq LIMIT 256
		), mine AS MATERIALIZED (
			SELECT r.tenant, r.run_id, m.seq FROM (SELECT DISTINCT tenant, run_id FROM page) r, LATERAL (
				SELECT o.seq FROM agentmemory.outbox o WHERE o.tenant = r.tenant AND o.run_id = r.run_id ORDER BY o.seq LIMIT 1) head, LATERAL (
				SELECT o.seq FROM agentmemory.outbox o WHERE o.seq = head.seq
					AND (o.owner = $2 OR o.until NOT BETWEEN ` + clock + ` + 1 AND ` + clock + ` + $3)
				FOR UPDATE SKIP LOCKED) m
		), claimed AS (
			UPDATE agentmemory.outbox SET owner = $2, until = ` + clock + ` + $3 WHERE seq = ANY (ARRAY(SELECT seq FROM mine))
		), told AS (
			SELECT *, (tenant, run_id) IN (SELECT tenant, run_id FROM mine) AS ours FROM page
		)
		SELECT ` + eventColumns + `, CASE WHEN o.ours THEN o.payload ELSE '' END, o.ours, o.seq IN (SELECT seq FROM mine)
		FROM told o ORDER BY o.seq`
}

// runName is a run of a tenant.
type runName struct{ tenant, id string }

// Undelivered yields events of committed mutations that were not marked as delivered, in
// commit order, a page at a time. The runs that it yields to a query for no single run
// are hidden for five seconds from other DBs, so that relays share the work and no event
// of a run overtakes another. A run with an event that cannot be read holds up no other:
// it is an error at the end, and what is behind it in its run waits.
func (st *Store) Undelivered(ctx context.Context, q driver.OutboxQuery) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		w := outboxReader{db: st.db, q: q, runs: map[runName]bool{}}
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
			more = len(page) == outboxPage
		}
		if w.unread != nil {
			yield(events.Record{}, driver.ErrInternal.With("an event cannot be read", w.unread))
		}
	}
}

// outboxReader is one loop over the outbox. It reads each event once, and skips all later
// events of a run that it has skipped once.
type outboxReader struct {
	db     *DB
	q      driver.OutboxQuery
	after  int64            // the number of the event that was looked at last
	runs   map[runName]bool // those that were met; false if they were passed over
	unread error            // of an event that cannot be read
}

// waiting is a row of the outbox.
type waiting struct {
	seq     int64
	rec     events.Record
	kind    string
	payload []byte
	ours    bool  // we have its run
	oldest  bool  // of its run, which we have
	gone    bool  // it was delivered before it was read
	head    int64 // the number of the oldest event of its run; only a cluster is asked for it
}

// scanWaiting reads a row of the eventColumns and further ones.
func scanWaiting(row pgx.Row, x *waiting, further ...any) error {
	var time int64
	err := row.Scan(append([]any{&x.seq, (*name)(&x.rec.Tenant), (*name)(&x.rec.RunID), (*name)(&x.rec.ID), (*name)(&x.rec.NodeID),
		&time, &x.kind}, further...)...)
	x.rec.Time = instant(time)
	return err
}

// nextPage reads a page.
func (w *outboxReader) nextPage(ctx context.Context) (page []waiting, err error) {
	setting, tenant := everyTenant, ``
	if w.q.Tenant != "" {
		setting, tenant = tenantSetting(w.q.Tenant), ` AND o.tenant = $4`
	}
	collect := rowsInto(&page, func(row pgx.Row, x *waiting) error { return scanWaiting(row, x, &x.payload, &x.ours, &x.oldest) })
	if w.q.RunID != "" {
		err = w.db.readAs(ctx, setting, func(b *pgx.Batch) {
			b.Queue(ofRunPage, w.after, []byte(w.q.Tenant), []byte(w.q.RunID)).Query(collect)
		})
		return page, err
	}
	if w.db.distributed {
		return w.nextOnNodes(ctx, setting)
	}
	args := []any{w.after, w.db.owner, claimMillis}
	if w.q.Tenant != "" {
		args = append(args, []byte(w.q.Tenant))
	}
	err = w.db.write(ctx, setting, idempotent, func(b *pgx.Batch) { b.Queue(claimPage(tenant), args...).Query(collect) })
	if err != nil {
		return nil, err
	}
	return page, nil
}

// read reads an event, and whether it is to be yielded. A run that another process has, or
// that was met behind its oldest event, is skipped from then on.
func (w *outboxReader) read(x *waiting) (events.Record, bool) {
	run := runName{x.rec.Tenant, x.rec.RunID}
	ours, met := w.runs[run]
	w.after = x.seq
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
		of, setting, args = ` WHERE tenant = $2`, tenantSetting(tenant), append(args, []byte(tenant))
	}
	n := 0
	err := st.db.readAs(ctx, setting, func(b *pgx.Batch) {
		b.Queue(`SELECT count(*) FROM (SELECT 1 FROM agentmemory.outbox`+of+` LIMIT $1) x`, args...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	})
	return n, err
}

// Delivered takes events out of the outbox.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	if err := ctx.Err(); err != nil || len(recs) == 0 {
		return err
	}
	setting := tenantSetting(recs[0].Tenant)
	if slices.ContainsFunc(recs, func(r events.Record) bool { return r.Tenant != recs[0].Tenant }) {
		setting = everyTenant
	}
	const remove = `DELETE FROM agentmemory.outbox WHERE tenant = $1 AND run_id = $2 AND event_id = $3`
	return st.db.write(ctx, setting, idempotent, func(b *pgx.Batch) {
		for _, r := range recs {
			b.Queue(remove, []byte(r.Tenant), []byte(r.RunID), []byte(r.ID))
		}
	})
}

// release ends the claims of this DB.
func (db *DB) release(ctx context.Context) error {
	return db.write(ctx, everyTenant, idempotent, func(b *pgx.Batch) {
		b.Queue(`UPDATE agentmemory.outbox SET owner = NULL, until = 0 WHERE owner = $1`, db.owner)
	})
}
