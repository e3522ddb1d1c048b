package postgres

import (
	"context"

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
