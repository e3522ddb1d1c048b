package postgres

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

func dsn(t testing.TB) string {
	d := os.Getenv("AGENTMEMORY_POSTGRES_DSN")
	if d == "" {
		t.Skip("no PostgreSQL")
	}
	return d
}

// databases lends databases with the tables, and takes them back.
var databases struct {
	mu    sync.Mutex
	admin *pgxpool.Pool
	free  []*pgxpool.Pool
	made  atomic.Int64
}

// emptyPool returns a pool of a database of its own.
func emptyPool(t testing.TB, ctx context.Context) *pgxpool.Pool {
	databases.mu.Lock()
	defer databases.mu.Unlock()
	if databases.admin == nil {
		pool, err := pgxpool.New(context.Background(), dsn(t))
		require.NoError(t, err)
		databases.admin = pool
	}
	name := fmt.Sprintf("agentmemory_test_%d_%d", os.Getpid(), databases.made.Add(1))
	_, err := databases.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0")
	require.NoError(t, err)
	cfg, err := pgxpool.ParseConfig(dsn(t))
	require.NoError(t, err)
	cfg.ConnConfig.Database = name
	cfg.MaxConns = 8
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
	return emptyPool(t, ctx)
}

func giveBack(pool *pgxpool.Pool) {
	databases.mu.Lock()
	defer databases.mu.Unlock()
	databases.free = append(databases.free, pool)
}

func clean(t testing.TB, ctx context.Context, pool *pgxpool.Pool) {
	sql := "UPDATE agentmemory.meta SET incarnation = md5(random()::text);"
	for _, table := range append(append([]string{}, tenantTables...), sharedTables...) {
		sql += "DELETE FROM agentmemory." + table + ";"
	}
	_, err := pool.Exec(ctx, sql)
	require.NoError(t, err)
}
