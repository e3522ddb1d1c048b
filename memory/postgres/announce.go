package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// waiting are events of files that wait, and their numbers in the table.
type waiting struct {
	recs []events.Record
	seqs []int64
}

// waitingPage is how many events one call of the sink carries.
const waitingPage = 256

const (
	selectWaiting = `
		SELECT f.seq, f.tenant, f.run_id, f.event_id, f.time, f.path, f.version FROM agentmemory.file_events f WHERE `
	waitingOfRun = selectWaiting + `f.tenant = $1 AND f.run_id = $2 ORDER BY f.seq LIMIT 256`
	waitingOfAll = selectWaiting + `NOT EXISTS (
			SELECT FROM unnest($1::bytea[], $2::bytea[]) AS x (tenant, run_id) WHERE x.tenant = f.tenant AND x.run_id = f.run_id)
		ORDER BY f.seq LIMIT 256`
)

// Flush gives the sink what no sink has taken yet, of all processes and runs, each
// run's events in their order. A run of which the sink refuses something holds up no
// other; the error is that of the last such run. A host calls it when it starts, and now
// and then as it does [memory.Bank.Relay]. Where several flush at once the sink may get
// an event from each.
func (w *Workspace) Flush(ctx context.Context) error {
	if w.sink == nil {
		return ctx.Err()
	}
	var refused error
	var stuckTenants, stuckRuns [][]byte
	for {
		all, err := w.waiting(ctx, everyTenant, waitingOfAll, stuckTenants, stuckRuns)
		if err != nil {
			return err
		}
		if len(all.recs) == 0 {
			return refused
		}
		if w.deliver(ctx, all) == nil {
			continue
		}
		for _, run := range all.byRun() {
			err := w.deliver(ctx, run)
			if ctx.Err() != nil {
				return failed(ctx, err)
			}
			if err != nil {
				refused = err
				stuckTenants = append(stuckTenants, []byte(run.recs[0].Tenant))
				stuckRuns = append(stuckRuns, []byte(run.recs[0].RunID))
			}
		}
	}
}

// flushRun delivers what waits of one run.
func (w *Workspace) flushRun(ctx context.Context, r memory.RunName) error {
	if w.sink == nil {
		return nil
	}
	for {
		run, err := w.waiting(ctx, tenantSetting(r.Tenant), waitingOfRun, []byte(r.Tenant), []byte(r.RunID))
		if err != nil || len(run.recs) == 0 {
			return err
		}
		if err := w.deliver(ctx, run); err != nil || len(run.recs) < waitingPage {
			return err
		}
	}
}

func (w *Workspace) waiting(ctx context.Context, setting, sql string, args ...any) (found waiting, err error) {
	if err := ctx.Err(); err != nil {
		return found, err
	}
	err = repeat(ctx, idempotent, func() error {
		found = waiting{}
		return w.db.send(ctx, w.db.pool, setting, func(b *pgx.Batch) { b.Queue(sql, args...).Query(found.collect) })
	})
	return found, err
}

func (x *waiting) collect(rows pgx.Rows) error {
	for rows.Next() {
		var r events.Record
		var p events.WorkspaceUpdated
		var seq, at int64
		err := rows.Scan(&seq, (*name)(&r.Tenant), (*name)(&r.RunID), (*name)(&r.ID), &at, &p.Path, &p.Version)
		if err != nil {
			return err
		}
		r.Time, r.Payload = instant(at), p
		x.recs, x.seqs = append(x.recs, r), append(x.seqs, seq)
	}
	return rows.Err()
}

// byRun splits events by run, each run's in their order.
func (x *waiting) byRun() []waiting {
	var runs []waiting
	at := map[memory.RunName]int{}
	for i, r := range x.recs {
		of := memory.RunName{Tenant: r.Tenant, RunID: r.RunID}
		n, known := at[of]
		if !known {
			n = len(runs)
			at[of] = n
			runs = append(runs, waiting{})
		}
		runs[n].recs, runs[n].seqs = append(runs[n].recs, r), append(runs[n].seqs, x.seqs[i])
	}
	return runs
}

// deliver gives events to the sink and takes them out of the table. Neither a
// connection nor a lock is held while the sink works.
func (w *Workspace) deliver(ctx context.Context, x waiting) error {
	if err := events.Emit(ctx, w.sink, x.recs...); err != nil {
		return &failure{"postgres: the sink failed", err}
	}
	const remove = `
		DELETE FROM agentmemory.file_events f USING unnest($1::bytea[], $2::bigint[]) AS d (tenant, seq)
		WHERE f.tenant = d.tenant AND f.seq = d.seq`
	setting := tenantSetting(x.recs[0].Tenant)
	tenants := make([][]byte, len(x.recs))
	for i, r := range x.recs {
		tenants[i] = []byte(r.Tenant)
		if r.Tenant != x.recs[0].Tenant {
			setting = everyTenant
		}
	}
	return w.db.write(ctx, setting, idempotent, func(b *pgx.Batch) { b.Queue(remove, tenants, x.seqs) })
}
