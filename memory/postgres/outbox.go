package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

const eventColumns = `o.tenant, o.run_id, o.event_id, o.node_id, o.time, o.type, o.payload`

// hold is for how long a run is claimed, in milliseconds.
const hold = 5000

// clock is the database's own time, by which claims end.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// Undelivered returns events of committed mutations that were not marked as delivered,
// in commit order. What it returns to a query for no single run is hidden for five
// seconds from other DBs, and everything else of those runs too, so that relays share
// the work and no event of a run overtakes another. A run with an event that cannot be
// read holds up no other: it is an error once nothing else is left to deliver, and what
// is behind it in its run waits.
func (st *Store) Undelivered(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if q.RunID != "" && slices.Contains(q.Except, memory.RunName{Tenant: q.Tenant, RunID: q.RunID}) {
		return nil, nil
	}
	q.Except = slices.Clone(q.Except)
	var broken error
	for {
		var p eventPage
		var err error
		if q.RunID != "" {
			err = st.ofRun(ctx, q, &p)
		} else {
			err = st.claim(ctx, q, &p)
		}
		switch {
		case err != nil:
			return nil, err
		case len(p.recs) > 0:
			return p.recs, nil
		case p.unread != nil:
			broken = &failure{"postgres: an event cannot be read", p.unread}
		}
		if p.unread == nil || q.RunID != "" {
			return nil, broken
		}
		q.Except = append(q.Except, p.stuck...) // others may wait behind these
	}
}

func limitOf(q memory.OutboxQuery) any {
	if q.Limit > 0 {
		return int64(q.Limit)
	}
	return nil
}

// ofRun reads what waits of one run.
func (st *Store) ofRun(ctx context.Context, q memory.OutboxQuery, p *eventPage) error {
	const ofRun = `SELECT ` + eventColumns + ` FROM agentmemory.outbox o WHERE o.tenant = $1 AND o.run_id = $2 ORDER BY o.seq LIMIT $3`
	return st.db.read(ctx, q.Tenant, func(b *pgx.Batch) {
		b.Queue(ofRun, []byte(q.Tenant), []byte(q.RunID), limitOf(q)).Query(p.collect)
	})
}

// claim takes runs that nobody else has, and reads what waits of them.
func (st *Store) claim(ctx context.Context, q memory.OutboxQuery, p *eventPage) error {
	// The oldest event of a run stands for it: who has its claim has the run.
	const claim = `
		WITH head AS MATERIALIZED (
			SELECT o.tenant, o.seq, o.run_id FROM agentmemory.outbox o
			WHERE ($1::bytea IS NULL OR o.tenant = $1) AND (o.owner = $4 OR o.until <= ` + clock + `)
				AND NOT EXISTS (SELECT FROM unnest($2::bytea[], $3::bytea[]) AS x (tenant, run_id)
					WHERE x.tenant = o.tenant AND x.run_id = o.run_id)
				AND NOT EXISTS (SELECT FROM agentmemory.outbox p
					WHERE p.tenant = o.tenant AND p.run_id = o.run_id AND p.seq < o.seq)
			ORDER BY o.seq LIMIT $5 FOR UPDATE OF o SKIP LOCKED
		), claimed AS (
			UPDATE agentmemory.outbox o SET owner = $4, until = ` + clock + ` + $6 FROM head
			WHERE o.tenant = head.tenant AND o.seq = head.seq
		)
		SELECT ` + eventColumns + ` FROM agentmemory.outbox o
		JOIN head ON head.tenant = o.tenant AND head.run_id = o.run_id AND head.seq <= o.seq
		ORDER BY o.seq LIMIT $5`
	tenants, runs := make([][]byte, len(q.Except)), make([][]byte, len(q.Except))
	for i, x := range q.Except {
		tenants[i], runs[i] = []byte(x.Tenant), []byte(x.RunID)
	}
	var tenant any
	setting := everyTenant
	if q.Tenant != "" {
		tenant, setting = []byte(q.Tenant), tenantSetting(q.Tenant)
	}
	return st.db.write(ctx, setting, idempotent, func(b *pgx.Batch) {
		b.Queue(claim, tenant, tenants, runs, st.db.owner, limitOf(q), hold).Query(p.collect)
	})
}

// eventPage is a page of the outbox.
type eventPage struct {
	recs   []events.Record
	stuck  []memory.RunName // with an event that cannot be read
	unread error            // why not
}

func (p *eventPage) collect(rows pgx.Rows) error {
	*p = eventPage{}
	for rows.Next() {
		var r events.Record
		var time int64
		var kind string
		var payload []byte
		err := rows.Scan((*name)(&r.Tenant), (*name)(&r.RunID), (*name)(&r.ID), (*name)(&r.NodeID), &time, &kind, &payload)
		if err != nil {
			return err
		}
		run := memory.RunName{Tenant: r.Tenant, RunID: r.RunID}
		if slices.Contains(p.stuck, run) {
			continue
		}
		r.Time = instant(time)
		if r.Payload, err = events.Decode(events.Type(kind), payload); err != nil {
			p.stuck, p.unread = append(p.stuck, run), err
			continue
		}
		p.recs = append(p.recs, r)
	}
	return rows.Err()
}

// Delivered takes events out of the outbox.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	if err := ctx.Err(); err != nil || len(recs) == 0 {
		return err
	}
	tenants, runs, ids := make([][]byte, len(recs)), make([][]byte, len(recs)), make([][]byte, len(recs))
	setting := tenantSetting(recs[0].Tenant)
	for i := range recs {
		tenants[i], runs[i], ids[i] = []byte(recs[i].Tenant), []byte(recs[i].RunID), []byte(recs[i].ID)
		if recs[i].Tenant != recs[0].Tenant {
			setting = everyTenant
		}
	}
	const remove = `
		DELETE FROM agentmemory.outbox o USING unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS d (tenant, run_id, event_id)
		WHERE o.tenant = d.tenant AND o.run_id = d.run_id AND o.event_id = d.event_id`
	return st.db.write(ctx, setting, idempotent, func(b *pgx.Batch) { b.Queue(remove, tenants, runs, ids) })
}

// release ends the claims of this DB.
func (db *DB) release(ctx context.Context) error {
	return db.write(ctx, everyTenant, idempotent, func(b *pgx.Batch) {
		b.Queue(`UPDATE agentmemory.outbox SET owner = NULL, until = 0 WHERE owner = $1`, db.owner)
	})
}
