package crashload

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// openForgetful opens a store that is gone with its process.
func openForgetful(context.Context) (driver.Adapter, func() error, error) {
	return inmem.New(), nil, nil
}

func newLog(t *testing.T, seed uint64) *Log {
	log, err := Open(t.TempDir(), seed)
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	log.speed, log.untilNext = 2000, 0 // loads within one process are short
	return log
}

// loadFor loads until the journal has so many lines more.
func loadFor(t *testing.T, log *Log, store driver.Adapter, lines int) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	until := log.journal.count + lines
	log.journal.grown = func(count int) {
		if count >= until {
			stop()
		}
	}
	require.NoError(t, log.Load(ctx, store))
}

func TestVerify_SoundStore(t *testing.T) {
	var all Report
	for seed := range uint64(3) {
		log := newLog(t, seed)
		store := inmem.New()
		rng := rand.New(rand.NewPCG(seed, 0))
		var last Report
		for round := range 7 {
			loadFor(t, log, store, 50+rng.IntN(800))
			report, err := log.Verify(t.Context(), store)
			require.NoError(t, err, "seed %d, round %d", seed, round)
			require.Equal(t, round+1, report.Loads)
			last = report
		}
		t.Logf("%+v", last)
		all.Acknowledged += last.Acknowledged
		all.Entries += last.Entries
		all.Documents += last.Documents
		all.Events += last.Events
		all.Firings += last.Firings
		all.Archives += last.Archives
	}
	for _, n := range []int{all.Acknowledged, all.Entries, all.Documents, all.Events, all.Firings, all.Archives} {
		require.Positive(t, n)
	}
}

// What a store has handed to a process that died it may hide for a while.
func TestVerify_FetchesWhatIsHidden(t *testing.T) {
	log := newLog(t, 9)
	store := &brokenStore{Store: inmem.New()}
	store.hides.Store(true)
	loadFor(t, log, store, 400)
	report, err := log.Verify(t.Context(), store)
	require.NoError(t, err)
	require.Positive(t, report.Events)
}
