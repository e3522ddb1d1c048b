package crashload

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory/inmem"
)

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
	log.speed, log.untilNext = 2000, 0 // loads within one process are short
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
	var all Report
	for seed := range uint64(3) {
		log := newLog(t, seed)
		stores := sound(log)
		rng := rand.New(rand.NewPCG(seed, 0))
		var last Report
		for round := range 7 {
			loadFor(t, log, stores, 50+rng.IntN(800))
			report, err := log.Verify(t.Context(), stores)
			require.NoError(t, err, "seed %d, round %d", seed, round)
			require.Equal(t, round+1, report.Loads)
			last = report
		}
		t.Logf("%+v", last)
		all.Acknowledged += last.Acknowledged
		all.Entries += last.Entries
		all.Events += last.Events
		all.Firings += last.Firings
		all.Archives += last.Archives
	}
	for _, n := range []int{all.Acknowledged, all.Entries, all.Events, all.Firings, all.Archives} {
		require.Positive(t, n)
	}
}

// What a store has handed to a process that died it may hide for a while.
func TestVerify_FetchesWhatIsHidden(t *testing.T) {
	log := newLog(t, 9)
	stores := sound(log)
	store := &brokenMemory{Store: inmem.New()}
	stores.Memory = store
	store.hides.Store(true)
	loadFor(t, log, stores, 400)
	report, err := log.Verify(t.Context(), stores)
	require.NoError(t, err)
	require.Positive(t, report.Events)
}
