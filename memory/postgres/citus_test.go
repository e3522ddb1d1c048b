package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/testkit/crashload"
	"github.com/openwop/agentmemory/memory/driver"
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
	connection, _, join := looseDatabases(t)
	join()
	return connection
}

// looseDatabases makes empty databases of one name on all nodes of the cluster, and returns
// how to connect to that of the coordinator and of a worker, and what joins them.
func looseDatabases(t testing.TB) (coordinator, worker string, join func()) {
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
	sql := fmt.Sprintf(`SELECT citus_set_coordinator_host('%s', %d);`, admin.Config().Host, admin.Config().Port)
	for _, node := range nodes[:len(nodes)-1] {
		at, err := pgx.ParseConfig(node)
		require.NoError(t, err)
		sql += fmt.Sprintf(`SELECT citus_add_node('%s', %d);`, at.Host, at.Port)
		worker = with(with(with(os.Getenv(envCitus), "dbname", name), "host", at.Host), "port", fmt.Sprint(at.Port))
	}
	// Few shards are as good for a test, and quicker to empty.
	on(ctx, nodes[len(nodes)-1], name, `ALTER DATABASE `+name+` SET citus.shard_count TO 4`)
	return with(os.Getenv(envCitus), "dbname", name), worker, func() {
		// Nodes are told of all roles, which two processes of tests cannot do at once.
		_, err := admin.Exec(ctx, `SELECT pg_advisory_lock(1)`)
		require.NoError(t, err)
		on(ctx, nodes[len(nodes)-1], name, sql)
		_, err = admin.Exec(ctx, `SELECT pg_advisory_unlock(1)`)
		require.NoError(t, err)
	}
}

// The whole kit, on tables that are spread over the nodes of a cluster.
func TestCitus_Store(t *testing.T) {
	checkOnCitus(t, Options{}, func() *pgxpool.Pool { return connect(t, citusDatabase(t)) })
}

func checkOnCitus(t *testing.T, opts Options, pool func() *pgxpool.Pool) {
	adaptertest.Run(t, kitConfig(&lender{t: t, root: citus(t).Config().User, opts: opts, make: pool}))
}

// What a host does first: entries come back, and the rows are on the workers.
func TestCitus_Open(t *testing.T) {
	ctx, pool := t.Context(), connect(t, citusDatabase(t))
	t.Cleanup(pool.Close)
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

// Events and revisions are numbered by the coordinator's sequences, wherever their rows
// are on: the numbers that a node would draw itself begin at 2^48, and are of no order.
func TestCitus_NumbersAreTheCoordinators(t *testing.T) {
	ctx, pool := t.Context(), connect(t, citusDatabase(t))
	t.Cleanup(pool.Close)
	db, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	st, want, rev := db.Memory(), []string(nil), int64(0)
	for i := range 20 {
		s := driver.Scope{Tenant: fmt.Sprint("t", i%10), Ref: "r"}
		event := events.Record{ID: fmt.Sprint(i), Tenant: s.Tenant, RunID: "r", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
		d := driver.Document{Scope: s, Kind: "k", Key: fmt.Sprint(i)}
		for _, act := range []driver.Act{driver.Set, driver.Set, driver.Retain} {
			done, err := st.Apply(ctx, s.Tenant, driver.Mutation{At: now, Events: []events.Record{event}, Documents: []driver.DocumentSwap{{Document: d, Act: act}}})
			require.NoError(t, err)
			require.Greater(t, done.Revs[0], rev)
			rev, d.Rev = done.Revs[0], done.Revs[0]
		}
		want = append(want, event.ID)
	}
	require.Equal(t, want, take(t, db), "in the order of their commits, over all tenants")
	var seq int64
	require.NoError(t, pool.QueryRow(ctx, `SELECT max(number) FROM agentmemory.events`).Scan(&seq))
	const ofNodes = 1 << 48
	require.Less(t, seq, int64(ofNodes))
	require.Less(t, rev, int64(ofNodes))
	var shards int
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(DISTINCT get_shard_id_for_distribution_column('agentmemory.events', tenant)) FROM agentmemory.events`).Scan(&shards))
	require.Greater(t, shards, 1, "of one shard this would say little")
}

// secureOnCitus connects to a new database of the cluster as hostRole. A role that is made in
// one database is on all nodes, but of another one a superuser has to make it known.
func secureOnCitus(t *testing.T) *pgxpool.Pool {
	connection := secured(t, citusDatabase(t))
	admin := connect(t, connection)
	defer admin.Close()
	for _, command := range []string{`CREATE TABLE public.heard (of int)`, `ALTER TABLE public.heard OWNER TO ` + hostRole,
		`SELECT create_distributed_table('public.heard', 'of')`, `DROP TABLE public.heard`} {
		_, err := admin.Exec(t.Context(), command)
		require.NoError(t, err)
	}
	return connect(t, connection, func(cfg *pgxpool.Config) { as(cfg, hostRole) })
}

// A database that was there before its cluster is spread when it is opened anew. Who had it open
// writes nothing from then on, and no process opens it on a worker.
func TestCitus_OpenWithRows(t *testing.T) {
	ctx := t.Context()
	coordinator, worker, join := looseDatabases(t)
	pool, other := connect(t, coordinator), connect(t, worker)
	t.Cleanup(pool.Close)
	t.Cleanup(other.Close)
	before, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	require.False(t, before.distributed, "no node has joined it")
	old := before.Memory()
	require.NoError(t, old.Put(ctx, home, entry("a")))
	queue(t, old, "r", "1")
	v, err := old.Version(ctx, home.Tenant)
	require.NoError(t, err)
	join()
	_, err = Open(ctx, other, Options{})
	require.ErrorIs(t, err, driver.ErrValidation)
	require.NoError(t, old.Put(ctx, home, entry("b")), "it has not been spread yet")

	db, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	require.True(t, db.distributed)
	require.ErrorIs(t, old.Put(ctx, home, entry("c")), ErrNewerSchema)
	st := db.Memory()
	queue(t, st, "r", "2")
	require.NoError(t, st.Put(ctx, home, entry("d")))
	require.Equal(t, []string{"d", "b", "a"}, list(t, st, home))
	then, err := st.List(ctx, home, driver.Query{Version: v, At: now})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, idsOf(then))
	require.Equal(t, []string{"1", "2"}, take(t, db))
}

// The second wall stands on the nodes too, where the statements of a transaction are carried out.
func TestCitus_RowSecurity(t *testing.T) {
	pool := secureOnCitus(t)
	t.Cleanup(pool.Close)
	holdsApart(t, pool)
}

// The whole kit under policies.
func TestCitus_StoreRowSecurity(t *testing.T) {
	if os.Getenv("AGENTMEMORY_LONG") != "1" {
		t.Skip("takes minutes: set AGENTMEMORY_LONG=1")
	}
	checkOnCitus(t, Options{RowSecurity: true, StatementTimeout: time.Minute}, func() *pgxpool.Pool {
		return secureOnCitus(t)
	})
}

// Relays do there by three steps what they do elsewhere by one.
func TestCitus_Relays(t *testing.T) {
	databases := &lender{t: t, root: citus(t).Config().User, make: func() *pgxpool.Pool { return connect(t, citusDatabase(t)) }}
	for name, test := range map[string]func(t *testing.T, db *DB){
		"share runs":     shareRuns,
		"count only":     countOnly,
		"pass over":      passOver,
		"look once":      lookOnce,
		"hold up one":    holdUpOne,
		"end old claims": endOldClaims,
	} {
		t.Run(name, func(t *testing.T) {
			db, err := databases.fresh(t.Context())
			require.NoError(t, err)
			test(t, db.DB)
			require.NoError(t, db.Close())
		})
	}
}

// envStrikes has a command of the shell in each line, which kills a server of the cluster and
// starts it again: the coordinator's or a worker's.
const envStrikes = "AGENTMEMORY_CITUS_STRIKES"

// What was acknowledged outlives each server of the cluster.
func TestCitus_KilledNodes(t *testing.T) {
	strikes := strings.Split(strings.TrimSpace(os.Getenv(envStrikes)), "\n")
	if strikes[0] == "" {
		t.Skip(envStrikes + " has no commands that kill servers and start them again")
	}
	loadOnCitus(t, rounds(2*len(strikes)), func(ctx context.Context, _ *pgx.Conn, round int) error {
		text, err := exec.CommandContext(ctx, "sh", "-c", strikes[round%len(strikes)]).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return err
	})
}

// What was acknowledged is there when its rows have moved to another node meanwhile.
func TestCitus_MovedShards(t *testing.T) {
	loadOnCitus(t, rounds(4), func(ctx context.Context, coordinator *pgx.Conn, _ int) error {
		const shards = `
			SELECT DISTINCT ON (s.shardid) s.shardid, s.nodename, s.nodeport, n.nodename, n.nodeport FROM citus_shards s, pg_dist_node n
			WHERE s.table_name = 'agentmemory.tenants'::regclass AND n.shouldhaveshards AND (n.nodename, n.nodeport) <> (s.nodename, s.nodeport)`
		rows, err := coordinator.Query(ctx, shards)
		if err != nil {
			return err
		}
		moves, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
			Shard    int64
			From     string
			FromPort int
			To       string
			ToPort   int
		}])
		if err == nil && len(moves) == 0 {
			err = errors.New("no shard to move")
		}
		for _, m := range moves {
			if err == nil {
				_, err = coordinator.Exec(ctx, `SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')`, m.Shard, m.From, m.FromPort, m.To, m.ToPort)
			}
		}
		return err
	})
}

// loadOnCitus puts the load of the kill tests on a cluster, to which something happens meanwhile.
func loadOnCitus(t *testing.T, n int, strike func(ctx context.Context, coordinator *pgx.Conn, round int) error) {
	connection := citusDatabase(t)
	t.Setenv(envLoad, connection)
	load := crashload.Rounds{Dir: t.TempDir(), Seed: 3, N: n}
	// A node that died while it committed its part of an Emit for two tenants has it once the cluster
	// has recovered, which it begins once a minute by itself.
	load.Open = func(ctx context.Context) (crashload.Store, func() error, error) {
		conn, err := pgx.Connect(ctx, connection)
		if err == nil {
			_, err = conn.Exec(ctx, `SELECT recover_prepared_transactions()`)
			err = errors.Join(err, conn.Close(ctx))
		}
		if err != nil {
			return nil, nil, err
		}
		return openForLoad(ctx)
	}
	load.Strike = func(ctx context.Context, round int) error {
		conn, err := pgx.Connect(ctx, connection)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		return strike(ctx, conn, round)
	}
	load.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, load.Run(t.Context()))
}

// BenchmarkServers has the same calls made to a server of one's own and to the cluster, one
// after the other, by a host that waits for the disk.
func BenchmarkServers(b *testing.B) {
	for _, server := range []struct {
		name     string
		database func(b *testing.B) string
	}{
		{"PostgreSQL", func(b *testing.B) string { return emptyDatabase(b, b.Context()) }},
		{"Citus", func(b *testing.B) string { return citusDatabase(b) }},
	} {
		b.Run(server.name, func(b *testing.B) {
			ctx := b.Context()
			pool, err := pgxpool.New(ctx, server.database(b))
			require.NoError(b, err)
			defer pool.Close()
			db, err := Open(ctx, pool, Options{})
			require.NoError(b, err)
			benchmarkCalls(b, db.Memory())
		})
	}
}

func benchmarkCalls(b *testing.B, st *Store) {
	ctx, n := b.Context(), 0
	tenant := func(i int) driver.Scope { return driver.Scope{Tenant: fmt.Sprint("t", i%100), Ref: "support"} }
	put := func() (driver.Scope, string) {
		n++
		s, e := tenant(n), entry(fmt.Sprint("e", n))
		require.NoError(b, st.Put(ctx, s, e))
		return s, e.ID
	}
	for range 1000 {
		put()
	}
	first, err := st.Version(ctx, tenant(0).Tenant)
	require.NoError(b, err)
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"List1", func() error { n++; _, err := st.List(ctx, tenant(n), driver.Query{At: now, Limit: 1}); return err }},
		{"ListAt100", func() error {
			_, err := st.List(ctx, tenant(0), driver.Query{Version: first, At: now, Limit: 100})
			return err
		}},
		{"Put", func() error { put(); return nil }},
		{"Apply100", func() error {
			n++
			s := tenant(n)
			var m driver.Mutation
			m.At = now
			for i := range 100 {
				m.Put = append(m.Put, driver.Placed{Scope: s, Entry: entry(fmt.Sprint("m", n, ".", i))})
			}
			_, err := st.Apply(ctx, s.Tenant, m)
			return err
		}},
		{"ApplyWithACondition", func() error {
			n++
			s := tenant(n)
			event := events.Record{ID: fmt.Sprint(n), Tenant: s.Tenant, RunID: "r", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
			old, e := entry(fmt.Sprint("o", n)), entry(fmt.Sprint("n", n))
			m := driver.Mutation{At: now, Put: []driver.Placed{{Scope: s, Entry: old}, {Scope: s, Entry: e}}, Events: []events.Record{event},
				Retire: []driver.Retirement{{Located: driver.Located{Scope: s, ID: old.ID}, State: driver.Merged, For: e.ID}}}
			_, err := st.Apply(ctx, s.Tenant, m)
			return err
		}},
		{"Swap", func() error {
			n++
			s := tenant(n)
			d := driver.Document{Scope: s, Kind: "lease", Key: fmt.Sprint(n)}
			_, err := st.Apply(ctx, s.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: d}}})
			return err
		}},
		{"Relay256", func() error {
			var recs []events.Record
			for rec, err := range st.Undelivered(ctx, "", "") {
				if err != nil {
					return err
				}
				if recs = append(recs, rec); len(recs) == 256 {
					break
				}
			}
			return nil
		}},
		{"Due", func() error { _, err := st.Due(ctx, "lease", now, 100); return err }},
	} {
		b.Run(call.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, call.do())
			}
		})
	}
}
