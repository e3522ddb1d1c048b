package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/crashload"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

const envFile = "AGENTMEMORY_SQLITE_FILE"

func openUnderLoad(ctx context.Context) (driver.Adapter, func() error, error) {
	db, err := sqlite.Open(ctx, os.Getenv(envFile), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	return db.Memory(), db.Close, nil
}

func TestMain(m *testing.M) {
	crashload.Child(openUnderLoad)
	if file := os.Getenv(envWorker); file != "" {
		if err := work(context.Background(), file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if file := os.Getenv(envPass); file != "" {
		if err := dieInPass(context.Background(), file, os.Getenv(envKill)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What was acknowledged is there after kill -9, whole, and nothing fires twice.
func TestM8_Kill(t *testing.T) {
	rounds := crashload.Rounds{Dir: t.TempDir(), Seed: 1, N: 4, Open: openUnderLoad}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		rounds.N = 60
	}
	t.Setenv(envFile, filepath.Join(rounds.Dir, "memory.db"))
	rounds.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, rounds.Run(t.Context()))
}
