package postgres

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

const (
	envLoad   = "AGENTMEMORY_TEST_LOAD_DSN"
	envSecure = "AGENTMEMORY_TEST_LOAD_SECURE" // 1: with row security
)

// openForLoad opens the store as a host does: with a pool that waits for the disk.
func openForLoad(ctx context.Context) (crashload.Store, func() error, error) {
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

// What was acknowledged outlives its process, and nothing is there by half; the events that
// were kept of a run are there under their numbers. Row security is on, so that the load is also
// a proof that everything works under it.
func TestM8E3_KilledWriters(t *testing.T) {
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

// The same when the server dies.
func TestM8E3_KilledServer(t *testing.T) {
	load := crashload.Rounds{Dir: t.TempDir(), Seed: 2, N: rounds(3), Open: openForLoad}
	load.Strike = mortalServer(t)
	load.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, load.Run(t.Context()))
}

// mortalServer starts a server for the load and returns what kills it, by a kill and by an
// immediate shutdown in turns, and starts it again.
func mortalServer(t *testing.T) func(ctx context.Context, round int) error {
	dsn(t) // skips without a server
	if !server.cluster.Owned() {
		t.Skip("the server is not ours to kill")
	}
	own, err := pgcluster.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	t.Setenv(envLoad, own.DSN())
	return func(ctx context.Context, round int) error {
		die := own.Kill
		if round%2 == 1 {
			die = own.StopImmediate
		}
		if err := die(); err != nil {
			return err
		}
		return own.Restart(ctx)
	}
}
