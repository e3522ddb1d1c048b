package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// coordinator reports whether the server is the coordinator of a Citus cluster that has nodes
// for the rows of distributed tables. A worker of one is no server to open: the locks that
// stand for absent documents and for the logs of runs are those of one server, and so are the
// sequences, by which events wait in the order of their versions and revisions ascend.
func coordinator(ctx context.Context, q querier) (is bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')`).Scan(&is)
	if err != nil || !is {
		return false, err
	}
	var group int
	const look = `
		SELECT (SELECT groupid FROM pg_catalog.pg_dist_local_group), EXISTS (
			SELECT FROM pg_catalog.pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary')`
	if err := q.QueryRow(ctx, look).Scan(&group, &is); err != nil {
		return false, err
	}
	if group != 0 {
		return false, driver.Fail(driver.ErrValidation, "the server is a worker of a cluster: connect to its coordinator", nil)
	}
	return is, nil
}

// distribute spreads the tables over the nodes of a cluster. All rows of a tenant come to
// the same node, and meta to each.
func distribute(ctx context.Context, tx pgx.Tx) error {
	const prepare = `
		SET LOCAL citus.multi_shard_modify_mode TO 'sequential';
		SELECT create_reference_table('agentmemory.meta')`
	if _, err := tx.Exec(ctx, prepare); err != nil {
		return err
	}
	for i, table := range securedTables { // what others refer to comes before them
		with := `default`
		if i > 0 {
			with = `agentmemory.` + securedTables[0]
		}
		_, err := tx.Exec(ctx, `SELECT create_distributed_table($1::text::regclass, 'tenant', colocate_with => $2::text)`, `agentmemory.`+table, with)
		if err != nil {
			return err
		}
	}
	return nil
}

// enterNodes makes the function by which a transaction names its tenant on all nodes that it
// comes to: only the command SET LOCAL goes there, and it takes no parameters.
func enterNodes(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		CREATE OR REPLACE FUNCTION agentmemory.enter(setting text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			SET LOCAL citus.propagate_set_commands TO 'local';
			EXECUTE format('SET LOCAL agentmemory.tenant TO %L', setting);
		END $$`)
	return err
}

// nextOnNodes reads a page of the events of all runs. A cluster cannot lock rows of all nodes
// at once, so that it takes three steps: it looks what there is, takes the runs that nobody
// else has, by updates that hold for no others, and reads what those have still.
func (w *walk) nextOnNodes(ctx context.Context, setting string) ([]waiting, error) {
	page, now, err := w.look(ctx, setting)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	oldest, err := w.take(ctx, setting, page, now)
	if err != nil {
		return nil, err
	}
	seqs, payloads := map[string][]int64{}, map[int64][]byte{}
	for i := range page {
		x := &page[i]
		var head int64
		head, x.ours = oldest[runName{x.rec.Tenant, x.rec.RunID}]
		if x.oldest = x.ours && x.seq == head; x.ours {
			seqs[x.rec.Tenant] = append(seqs[x.rec.Tenant], x.seq)
		}
	}
	err = w.db.readAs(ctx, setting, func(b *pgx.Batch) {
		for tenant, seqs := range seqs {
			b.Queue(`SELECT o.seq, o.payload FROM agentmemory.outbox o WHERE o.tenant = $1 AND o.seq = ANY ($2)`, []byte(tenant), seqs).
				Query(eachRow(func(row pgx.Row) error {
					var seq int64
					var payload []byte
					err := row.Scan(&seq, &payload)
					payloads[seq] = payload
					return err
				}))
		}
	})
	for i := range page {
		x := &page[i]
		x.payload = payloads[x.seq]
		x.gone = x.ours && x.payload == nil
	}
	return page, err
}

// look reads a page without payloads, and the time by which claims end.
func (w *walk) look(ctx context.Context, setting string) (page []waiting, now int64, err error) {
	of, args := ``, []any{w.after}
	if w.q.Tenant != "" {
		of, args = ` AND o.tenant = $2`, append(args, []byte(w.q.Tenant))
	}
	err = w.db.readAs(ctx, setting, func(b *pgx.Batch) {
		b.Queue(`SELECT ` + clock).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		b.Queue(`SELECT `+eventColumns+`, NULL::text, false, false FROM agentmemory.outbox o
			WHERE o.seq > $1`+of+` ORDER BY o.seq LIMIT 256`, args...).
			Query(rowsInto(&page, scanWaiting))
	})
	return page, now, err
}

// take claims the runs of a page, and returns the oldest event of each that we have.
func (w *walk) take(ctx context.Context, setting string, page []waiting, now int64) (map[runName]int64, error) {
	runs := map[string][][]byte{}
	for i := range page {
		r := &page[i].rec
		runs[r.Tenant] = append(runs[r.Tenant], []byte(r.RunID))
	}
	const take = `
		UPDATE agentmemory.outbox o SET owner = $2, until = $3::bigint + $5::bigint
		WHERE o.tenant = $1 AND o.seq = ANY (ARRAY(
			SELECT h.seq FROM unnest($4::bytea[]) AS r (run_id), LATERAL (
				SELECT o.seq FROM agentmemory.outbox o WHERE o.tenant = $1 AND o.run_id = r.run_id ORDER BY o.seq LIMIT 1) h))
			AND (o.owner = $2 OR o.until NOT BETWEEN $3::bigint + 1 AND $3::bigint + $5::bigint)
		RETURNING o.run_id, o.seq`
	var oldest map[runName]int64
	err := w.db.write(ctx, setting, idempotent, func(b *pgx.Batch) {
		oldest = map[runName]int64{}
		for _, tenant := range slices.Sorted(maps.Keys(runs)) { // one order for everybody, as rows are locked
			b.Queue(take, []byte(tenant), w.db.owner, now, runs[tenant], hold).Query(eachRow(func(row pgx.Row) error {
				var run name
				var seq int64
				err := row.Scan(&run, &seq)
				oldest[runName{tenant, string(run)}] = seq
				return err
			}))
		}
	})
	return oldest, err
}
