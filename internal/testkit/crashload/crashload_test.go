package crashload

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/inmem"
)

// openForgetful opens a store that is gone with its process.
func openForgetful(context.Context) (Store, func() error, error) {
	return inmem.New(), func() error { return nil }, nil
}

func newLog(t *testing.T, seed uint64) *Log {
	log, err := Open(t.TempDir(), seed)
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	log.comparisons = 1
	return log
}

func (l *Log) lines(t *testing.T) int {
	text, err := os.ReadFile(l.f.Name())
	require.NoError(t, err)
	return bytes.Count(text, []byte("\n"))
}

// loadFor loads until the log has so many lines more.
func loadFor(t *testing.T, log *Log, store Store, lines int) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	until := log.lines(t) + lines
	go func() {
		for log.lines(t) < until {
			pause(ctx, breath)
		}
		stop()
	}()
	require.NoError(t, log.Load(ctx, store))
}

func TestVerify_SoundStore(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		log := newLog(t, seed)
		store := inmem.New()
		rng := rand.New(rand.NewPCG(seed, 0))
		var last Report
		for round := range 7 {
			loadFor(t, log, store, 50+rng.IntN(800))
			report, err := log.Verify(t.Context(), store)
			require.NoError(t, err, "seed %d, round %d", seed, round)
			require.Greater(t, report.Lanes, last.Lanes)
			last = report
		}
		t.Logf("%+v", last)
		for i := range reflect.TypeFor[Report]().NumField() {
			require.False(t, reflect.ValueOf(last).Field(i).IsZero(), "%+v", last)
		}
	}
}

// What a store has handed to a process that died it may hide for a while.
func TestVerify_FetchesWhatIsHidden(t *testing.T) {
	log := newLog(t, 9)
	log.comparisons = 2
	store := &brokenStore{Store: inmem.New(), hides: true}
	loadFor(t, log, store, 400)
	report, err := log.Verify(t.Context(), store)
	require.NoError(t, err)
	require.Positive(t, report.Events)
}
