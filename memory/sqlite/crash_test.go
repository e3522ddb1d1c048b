package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
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

// openLogUnderLoad opens the file behind a frame of its log that a crash has torn.
func openLogUnderLoad(ctx context.Context) (driver.EventKeeper, func() error, error) {
	if wal, err := os.OpenFile(os.Getenv(envFile)+"-wal", os.O_APPEND|os.O_WRONLY, 0); err == nil {
		_, err = wal.Write(bytes.Repeat([]byte("torn"), 700))
		if err = errors.Join(err, wal.Close()); err != nil {
			return nil, nil, err
		}
	}
	db, err := sqlite.Open(ctx, os.Getenv(envFile), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	return db.Memory(), db.Close, nil
}

// E3: of a run's events in the database what was acknowledged is there after kill -9, under
// its number, and an event of a mutation if and only if its entry is.
func TestE3_KilledKeptEvents(t *testing.T) {
	rounds := crashload.LogRounds{Dir: t.TempDir(), Seed: 1, N: 4, Open: openLogUnderLoad}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		rounds.N = 60
	}
	t.Setenv(envFile, filepath.Join(rounds.Dir, "memory.db"))
	rounds.Seen = func(round, events int) { t.Logf("round %d: %d events", round+1, events) }
	require.NoError(t, rounds.Run(t.Context()))
}

// putsOfDead is how many entries putAndDie puts.
const putsOfDead = 2

// putAndDie puts entries and leaves the file and its log as they are.
func putAndDie(ctx context.Context, file, ids string) error {
	db, err := sqlite.Open(ctx, file, sqlite.Options{})
	for i := range putsOfDead {
		if err == nil {
			err = db.Memory().Put(ctx, home, entry(fmt.Sprint(ids, i), "x"))
		}
	}
	return err
}

// children are what the test binary does instead of testing, by the variable that names
// the file.
var children = map[string]func(ctx context.Context, file string) error{
	envWorker: work,
	envPass:   func(ctx context.Context, file string) error { return dieInPass(ctx, file, os.Getenv(envKill)) },
	envDie:    func(ctx context.Context, file string) error { return putAndDie(ctx, file, os.Getenv(envKill)) },
}

func TestMain(m *testing.M) {
	crashload.Child(openUnderLoad)
	crashload.ChildLog(openLogUnderLoad)
	for name, act := range children {
		if file := os.Getenv(name); file != "" {
			if err := act(context.Background(), file); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
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
