package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory/driver"
)

// server is the one that all tests share.
var server struct {
	once    sync.Once
	cluster *pgcluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	crashload.Child(openForLoad) // does not return in the process that is to be killed
	worker()                     // nor does this, in a process of its own
	if os.Getenv("AGENTMEMORY_WHOLE") != "1" && os.Getenv("AGENTMEMORY_LONG") != "1" {
		flag.Set("test.short", "true") // all sizes of the kit take minutes
	}
	code := m.Run()
	for _, pool := range databases.free {
		pool.Close()
	}
	if databases.admin != nil {
		for _, name := range testDatabases {
			_, _ = databases.admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		}
		for _, role := range []string{hostRole, guestRole} {
			_, _ = databases.admin.Exec(context.Background(), "DROP ROLE IF EXISTS "+role) // unless other tests use it
		}
		databases.admin.Close()
	}
	if pooler.Cluster != nil {
		if err := pooler.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if server.cluster != nil {
		if err := server.cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// envPooled has all tests connect through a pooler and in that mode of pgx.
const envPooled = "AGENTMEMORY_TEST_POOLED"

func pooled() bool { return os.Getenv(envPooled) != "" }

// pooler is the one that all tests share.
var pooler struct {
	once sync.Once
	*pgcluster.Cluster
	err error
}

// behind is the connection to the same database through the pooler, in a mode of pgx.
func behind(t testing.TB, connection, mode string) string {
	pooler.once.Do(func() {
		pooler.Cluster, pooler.err = server.cluster.Pooler(context.Background(), []string{hostRole, guestRole})
	})
	if errors.Is(pooler.err, pgcluster.ErrNoPooler) && os.Getenv(pgcluster.EnvRequire) != "1" {
		t.Skip(pooler.err)
	}
	require.NoError(t, pooler.err)
	cfg, err := pgxpool.ParseConfig(connection)
	require.NoError(t, err)
	return with(with(pooler.DSN(), "dbname", cfg.ConnConfig.Database), "default_query_exec_mode", mode)
}

// as has a pool connect as another role.
func as(cfg *pgxpool.Config, role string) {
	if pooled() {
		cfg.ConnConfig.User = role
	} else {
		cfg.ConnConfig.RuntimeParams["role"] = role
	}
}

// opened is Open with the options that a pooler needs, if the pool connects to one.
func opened(ctx context.Context, pool *pgxpool.Pool, opts Options) (*DB, error) {
	if pooled() && pool.Config().ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		opts.Pooler = true
		if opts.StatementTimeout == 0 {
			opts.StatementTimeout = time.Minute
		}
	}
	return Open(ctx, pool, opts)
}

// dsn names the database that a test may connect to. A machine without PostgreSQL
// skips the test, unless AGENTMEMORY_REQUIRE_POSTGRES is 1.
func dsn(t testing.TB) string {
	server.once.Do(func() { server.cluster, server.err = pgcluster.ForTests(context.Background()) })
	if errors.Is(server.err, pgcluster.ErrNoServer) {
		t.Skip(server.err)
	}
	require.NoError(t, server.err)
	return server.cluster.DSN()
}

// databases lends databases with the tables, and takes them back.
var databases struct {
	mu    sync.Mutex
	admin *pgxpool.Pool
	free  []*pgxpool.Pool
	made  atomic.Int64
}

// emptyDatabase makes a database without tables. It stays until the server goes.
func emptyDatabase(t testing.TB, ctx context.Context) (connection string) {
	base := dsn(t)
	databases.mu.Lock()
	defer databases.mu.Unlock()
	if databases.admin == nil {
		pool, err := pgxpool.New(context.Background(), base)
		require.NoError(t, err)
		databases.admin = pool
	}
	name := fmt.Sprintf("agentmemory_test_%d_%d", os.Getpid(), databases.made.Add(1))
	_, err := databases.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0")
	require.NoError(t, err)
	if !server.cluster.Owned() {
		testDatabases = append(testDatabases, name)
	}
	connection = with(base, "dbname", name)
	if pooled() {
		connection = behind(t, connection, os.Getenv(envPooled))
	}
	return connection
}

// with adds a setting to a connection string of either form.
func with(connection, key, value string) string {
	u, err := url.Parse(connection)
	switch {
	case err != nil || u.Scheme == "":
		return connection + " " + key + "='" + value + "'"
	case key == "dbname":
		u.Path = "/" + value
	default:
		q := u.Query()
		q.Set(key, value)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// testDatabases are to be dropped from a server that is not ours.
var testDatabases []string

// connect makes a pool, of connections that do not wait for the disk.
func connect(t testing.TB, connection string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	cfg, err := pgxpool.ParseConfig(connection)
	require.NoError(t, err)
	cfg.MaxConns = 8
	if !pooled() {
		cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	}
	for _, f := range change {
		f(cfg)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(t, err)
	return pool
}

// freshPool returns a pool of an empty database with the tables.
func freshPool(t testing.TB, ctx context.Context) *pgxpool.Pool {
	databases.mu.Lock()
	if n := len(databases.free); n > 0 {
		pool := databases.free[n-1]
		databases.free = databases.free[:n-1]
		databases.mu.Unlock()
		clean(t, ctx, pool)
		return pool
	}
	databases.mu.Unlock()
	return connect(t, emptyDatabase(t, ctx))
}

func giveBack(pool *pgxpool.Pool) {
	databases.mu.Lock()
	defer databases.mu.Unlock()
	databases.free = append(databases.free, pool)
}

func clean(t testing.TB, ctx context.Context, pool *pgxpool.Pool) {
	sql := "UPDATE agentmemory.meta SET incarnation = '" + rand.Text() + "';" // drawn here: a cluster draws none in an update
	for _, table := range securedTables {
		sql += "DELETE FROM agentmemory." + table + ";"
	}
	_, err := pool.Exec(ctx, sql)
	require.NoError(t, err)
}

func idsOf(entries []driver.Entry) []string {
	ids := []string{}
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// must returns what a call that may not fail returned.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
