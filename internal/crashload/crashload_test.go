package crashload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory/inmem"
)

func TestMain(m *testing.M) {
	Child(openForgetful)
	os.Exit(m.Run())
}

// sound are stores in this process, which live on when a load is stopped.
func sound(log *Log) Stores {
	return Stores{
		Memory: inmem.New(), Commitments: commitment.NewInMemory(), Archives: distill.NewMemoryStore(),
		Workspace: distill.NewMemoryWorkspace(log),
	}
}

// openForgetful opens stores that are gone with their process.
func openForgetful(_ context.Context, log *Log) (Stores, error) { return sound(log), nil }

func newLog(t *testing.T, seed uint64) *Log {
	log, err := Open(t.TempDir(), seed)
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	return log
}

// loadFor loads until the journal has so many lines more.
func loadFor(t *testing.T, log *Log, s Stores, lines int) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	until := log.journal.count + lines
	log.journal.grown = func(count int) {
		if count >= until {
			stop()
		}
	}
	require.NoError(t, log.Load(ctx, s))
}

func TestVerify_SoundStores(t *testing.T) {
	for seed := range uint64(3) {
		log := newLog(t, seed)
		stores := sound(log)
		rng := rand.New(rand.NewPCG(seed, 0))
		var last Report
		for round := range 12 {
			loadFor(t, log, stores, 50+rng.IntN(800))
			report, err := log.Verify(t.Context(), stores)
			require.NoError(t, err, "seed %d, round %d", seed, round)
			require.Equal(t, round+1, report.Loads)
			last = report
		}
		fmt.Printf("%+v\n", last)
	}
}
