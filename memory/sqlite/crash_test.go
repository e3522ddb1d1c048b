package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
	"github.com/openwop/agentmemory/memory/sqlite"
)

const envFile = "AGENTMEMORY_SQLITE_FILE"

// openUnderLoad opens the file behind a frame of its log that a crash has torn.
func openUnderLoad(ctx context.Context) (crashload.Store, func() error, error) {
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
	for name, act := range children {
		if file := os.Getenv(name); file != "" {
			if err := act(context.Background(), file); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	if os.Getenv("AGENTMEMORY_WHOLE") != "1" && os.Getenv("AGENTMEMORY_LONG") != "1" {
		flag.Set("test.short", "true") // all sizes of the kit take minutes
	}
	os.Exit(m.Run())
}

// What was acknowledged is there after kill -9, whole, and so are the events that were kept of
// a run, under their numbers.
func TestM8E3_Kill(t *testing.T) {
	rounds := crashload.Rounds{Dir: t.TempDir(), Seed: 1, N: 4, Open: openUnderLoad}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		rounds.N = 60
	}
	t.Setenv(envFile, filepath.Join(rounds.Dir, "memory.db"))
	rounds.Seen = func(round int, r crashload.Report) { t.Logf("round %d: %+v", round+1, r) }
	require.NoError(t, rounds.Run(t.Context()))
}
