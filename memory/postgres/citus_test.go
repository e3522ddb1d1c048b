package postgres

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
)

// envCitus names a database on the coordinator of a Citus cluster, by a superuser of all its
// nodes. Tests make databases of their own there, and drop them.
const envCitus = "AGENTMEMORY_CITUS_DSN"

var citusDatabases atomic.Int64

// citus connects to the cluster, or skips the test.
func citus(t testing.TB) *pgx.Conn {
	base := os.Getenv(envCitus)
	if base == "" {
		t.Skip("no cluster to test against: " + envCitus + " names no coordinator of Citus")
	}
	conn, err := pgx.Connect(t.Context(), base)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}

// citusDatabase makes an empty database on all nodes of the cluster, and returns how to
// connect to it on the coordinator.
func citusDatabase(t testing.TB) string {
	ctx, admin := t.Context(), citus(t)
	name := fmt.Sprintf("agentmemory_test_%d_%d", os.Getpid(), citusDatabases.Add(1))
	rows, err := admin.Query(ctx, `SELECT format('host=%s port=%s', nodename, nodeport) FROM pg_dist_node WHERE isactive ORDER BY groupid DESC`)
	require.NoError(t, err)
	nodes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	on := func(ctx context.Context, node, database, sql string) {
		cfg := admin.Config()
		at, err := pgx.ParseConfig(node)
		require.NoError(t, err)
		cfg.Host, cfg.Port, cfg.Database, cfg.Fallbacks = at.Host, at.Port, database, nil
		conn, err := pgx.ConnectConfig(ctx, cfg)
		require.NoError(t, err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		require.NoError(t, err)
	}
	for _, node := range nodes {
		on(ctx, node, admin.Config().Database, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8'`)
		on(ctx, node, name, `CREATE EXTENSION citus`)
	}
	t.Cleanup(func() {
		for i := range nodes { // the coordinator first, whose daemon connects to the others
			on(context.Background(), nodes[len(nodes)-1-i], admin.Config().Database, `DROP DATABASE `+name+` WITH (FORCE)`)
		}
	})
	join := fmt.Sprintf(`SELECT citus_set_coordinator_host('%s', %d);`, admin.Config().Host, admin.Config().Port)
	for _, node := range nodes[:len(nodes)-1] {
		at, err := pgx.ParseConfig(node)
		require.NoError(t, err)
		join += fmt.Sprintf(`SELECT citus_add_node('%s', %d);`, at.Host, at.Port)
	}
	on(ctx, nodes[len(nodes)-1], name, join)
	return with(os.Getenv(envCitus), "dbname", name)
}

// citusPool connects to a new database of the cluster.
func citusPool(t testing.TB, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	pool := connect(t, citusDatabase(t), change...)
	t.Cleanup(pool.Close)
	return pool
}

// The whole kit, on tables that are spread over the nodes of a cluster.
func TestCitus_Store(t *testing.T) {
	user := citus(t).Config().User
	report, err := adaptertest.Check(t.Context(), kitConfig(&lender{t: t, root: user, make: func() *pgxpool.Pool { return citusPool(t) }}))
	require.NoError(t, err)
	require.True(t, report.OK(), strings.Join(report.Failures(), "\n"))
}

// What somebody does first: entries come back, and the rows are on the workers.
func TestCitus_Open(t *testing.T) {
	ctx, pool := t.Context(), citusPool(t)
	db, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	require.True(t, db.distributed)
	st := db.Memory()
	require.NoError(t, st.Put(ctx, home, entry("a")))
	require.Equal(t, []string{"a"}, list(t, st, home))
	var tables, nodes int
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(*), count(DISTINCT colocation_id) FROM citus_tables WHERE citus_table_type = 'distributed'`).Scan(&tables, &nodes))
	require.Equal(t, len(securedTables), tables)
	require.Equal(t, 1, nodes, "all rows of a tenant are on one node")
	again, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, list(t, again.Memory(), home))
}
