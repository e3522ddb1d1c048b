package postgres

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/crashload"
	"github.com/openwop/agentmemory/internal/pgcluster"
	"github.com/openwop/agentmemory/memory/driver"
)

const (
	envLoad   = "AGENTMEMORY_TEST_LOAD_DSN"
	envSecure = "AGENTMEMORY_TEST_LOAD_SECURE" // 1: with row security
)

// openForLoad opens the store as a host does: with a pool that waits for the disk.
func openForLoad(ctx context.Context) (driver.Adapter, func() error, error) {
	pool, err := pgxpool.New(ctx, os.Getenv(envLoad))
	if err != nil {
		return nil, nil, err
	}
	db, err := opened(ctx, pool, Options{RowSecurity: os.Getenv(envSecure) == "1"})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	shut := func() error { defer pool.Close(); return db.Close() }
	return db.Memory(), shut, nil
}

func rounds(short int) int {
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		return 60
	}
	return short
}

// What was acknowledged outlives its process, and nothing is there by half. Row security
// is on, so that the load is also a proof that everything works under it.
func TestM8_KilledWriters(t *testing.T) {
	key := "role"
	if pooled() {
		key = "user"
	}
	t.Setenv(envLoad, with(secureDatabase(t), key, hostRole))
	t.Setenv(envSecure, "1")
	load := crashload.Rounds{Dir: t.TempDir(), Seed: 1, N: rounds(3), Open: openForLoad}
	load.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, load.Run(t.Context()))
}

// The same when the server dies, by a kill and by an immediate shutdown in turns.
func TestM8_KilledServer(t *testing.T) {
	dsn(t) // skips without a server
	if !server.cluster.Owned() {
		t.Skip("the server is not ours to kill")
	}
	own, err := pgcluster.Start(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, own.Close()) }()
	t.Setenv(envLoad, own.DSN())
	load := crashload.Rounds{Dir: t.TempDir(), Seed: 2, N: rounds(3), Open: openForLoad}
	load.Strike = func(ctx context.Context, round int) error {
		die := own.Kill
		if round%2 == 1 {
			die = own.StopImmediate
		}
		if err := die(); err != nil {
			return err
		}
		return own.Restart(ctx)
	}
	load.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, load.Run(t.Context()))
}
