package mysql

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
)

const envLoad = "AGENTMEMORY_TEST_LOAD_DSN"

// openForLoad opens the store as a host does.
func openForLoad(ctx context.Context) (crashload.Store, func() error, error) {
	db, err := Open(ctx, os.Getenv(envLoad), Options{})
	if err != nil {
		return nil, nil, err
	}
	return db.Memory(), db.Close, nil
}

func rounds(short int) int {
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		return 60
	}
	return short
}

// What was acknowledged outlives its process, and nothing is there by half; the events that were kept of
// a run are there under their numbers.
func TestM8E3_KilledWriters(t *testing.T) {
	t.Setenv(envLoad, emptyDatabase(t))
	load := crashload.Rounds{Dir: t.TempDir(), Seed: 1, N: rounds(3), Open: openForLoad}
	load.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, load.Run(t.Context()))
}

// The same when the server dies.
func TestM8E3_KilledServer(t *testing.T) {
	own := ownServer(t)
	require.NoError(t, own.admin(t.Context(), "CREATE DATABASE mortal"))
	t.Setenv(envLoad, own.in("mortal"))
	load := crashload.Rounds{Dir: t.TempDir(), Seed: 2, N: rounds(2), Open: openForLoad}
	load.Strike = func(context.Context, int) error {
		if err := own.end(syscall.SIGKILL); err != nil {
			return err
		}
		return own.start()
	}
	load.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, load.Run(t.Context()))
}
