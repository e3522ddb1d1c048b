package postgres

import (
	"context"
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
	const find = `
		SELECT (SELECT groupid FROM pg_catalog.pg_dist_local_group), EXISTS (
			SELECT FROM pg_catalog.pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary')`
	if err := q.QueryRow(ctx, find).Scan(&group, &is); err != nil {
		return false, err
	}
	if group != 0 {
		return false, driver.ErrValidation.With("the server is a worker of a cluster: connect to its coordinator", nil)
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

// oneConnection has a transaction use one connection to each node. A cluster opens more for a
// statement of many shards that takes some milliseconds, which costs more than such a statement.
const oneConnection = `SET LOCAL citus.max_adaptive_executor_pool_size TO 1`

// nextOnNodes reads a page of the events of all runs. A cluster cannot lock rows of all nodes
// at once, so that it takes three steps: it reads a page, claims the runs that no other
// process has, by an update with that condition, and reads the payloads of these. Each is
// one statement for all tenants of the page, since a statement costs a cluster more than rows.
func (w *waitingReader) nextOnNodes(ctx context.Context) ([]waiting, error) {
	page, now, err := w.readPage(ctx)
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
	err = w.db.readAs(ctx, everyTenant, func(b *pgx.Batch) {
		b.Queue(oneConnection)
		b.Queue(`SELECT e.number, e.payload FROM agentmemory.events e WHERE e.tenant = ANY ($1) AND e.sequence IS NULL AND e.number = ANY ($2)`, tenantsOf(page), ours).
			Query(eachRow(func(row pgx.Row) error {
				var number int64
				var payload []byte
				err := row.Scan(&number, &payload)
				payloads[number] = payload
				return err
			}))
	})
	for i := range page {
		x := &page[i]
		x.payload = payloads[x.number]
		x.gone = x.ours && x.payload == nil
	}
	return page, err
}

// readPage reads a page without payloads, and the time by which claims end.
func (w *waitingReader) readPage(ctx context.Context) (page []waiting, now int64, err error) {
	err = w.db.readAs(ctx, everyTenant, func(b *pgx.Batch) {
		b.Queue(oneConnection)
		b.Queue(`SELECT ` + clock).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		b.Queue(`SELECT `+eventColumns+`, (
				SELECT h.number FROM agentmemory.events h WHERE h.tenant = e.tenant AND h.run_id = e.run_id AND h.sequence IS NULL
				ORDER BY h.number LIMIT 1)
			FROM agentmemory.events e WHERE e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`, w.after).
			Query(rowsInto(&page, func(row pgx.Row, x *waiting) error { return scanEvent(row, &x.number, &x.rec, &x.kind, &x.head) }))
	})
	return page, now, err
}

// claimRuns claims the runs of a page by their oldest events, and returns those that we have.
func (w *waitingReader) claimRuns(ctx context.Context, page []waiting, now int64) (map[int64]bool, error) {
	const claim = `
		UPDATE agentmemory.events o SET owner = $3, until = $4::bigint + $5::bigint
		WHERE o.tenant = ANY ($1) AND o.sequence IS NULL AND o.number = ANY ($2)
			AND (o.owner = $3 OR o.until NOT BETWEEN $4::bigint + 1 AND $4::bigint + $5::bigint)
		RETURNING o.number`
	heads := make([]int64, len(page))
	for i := range page {
		heads[i] = page[i].head
	}
	var claimed map[int64]bool
	err := w.db.write(ctx, everyTenant, func(b *pgx.Batch) {
		claimed = map[int64]bool{}
		b.Queue(oneConnection)
		b.Queue(claim, tenantsOf(page), heads, w.db.owner, now, claimMillis).Query(eachRow(func(row pgx.Row) error {
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
