package adaptertest

import (
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func defects() []defect {
	return slices.Concat(readDefects(), adapterDefects(), transactorDefects(), outboxDefects(), logDefects(), versionedDefects(),
		documentDefects(), batchReadDefects(), changesDefects(), tenantDefects(), limitDefects(), searchDefects(), scanDefects(), pagesAtDefects(),
		durableDefects(), cancelDefects(), modelDefects(), engineDefects(), narrowDefects(), cachedDefects(), foldedDefects(), textDefects(), judgingDefects())
}

// maxTries is how often a broken store is tried before it counts as not caught. A
// defect of concurrency shows only when goroutines meet, so it is tried until they do;
// any other is caught by the first try.
const maxTries = 5

// fullRun is set for the runs that take many minutes.
var fullRun = os.Getenv("AGENTMEMORY_LONG") == "1"

// caught expects that the kit fails on a store with a defect.
func caught(t *testing.T, d defect) {
	t.Helper()
	cfg := configOf(d.do)
	cfg.first = true
	for range maxTries {
		for _, short := range []bool{true, false} { // what fails beyond the sizes of -short takes half a minute
			cfg.short = short
			report, err := cfg.check(ctx, everything)
			require.NoError(t, err)
			if !report.OK() {
				t.Log(report.Failures()[0])
				return
			}
		}
	}
	t.Errorf("the kit does not fail (%s)", d.needs)
}

// sampled tells whether a broken store is tried when there is no time for all: one in eight, by its
// name, so that another store changes nothing, and none whose law takes all names.
func sampled(d defect) bool {
	h := fnv.New32a()
	io.WriteString(h, d.needs+" "+d.name)
	return h.Sum32()%8 == 0 && !strings.HasPrefix(d.needs, "CTI-1/")
}

// TestBroken shows for each of these broken stores that the kit fails; for one in eight
// unless AGENTMEMORY_LONG=1. What breaks a store in one place of its source is shown by
// internal/testkit/mutate; these are wrong in what they answer, whatever way they came to it. A
// defect of concurrency is tried up to maxTries times.
func TestBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute; -short is set")
	}
	for _, d := range defects() {
		if !fullRun && !sampled(d) {
			continue
		}
		t.Run(strings.ReplaceAll(d.needs, "/", ":")+" "+d.name, func(t *testing.T) {
			t.Parallel()
			caught(t, d)
		})
	}
}

// A store with no defect passes everything, durability included.
func TestSound(t *testing.T) {
	cfg := configOf(func(*broken) {})
	cfg.Crash = cfg.Reopen
	report, err := Check(ctx, cfg)
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Equal(t, LevelVersioned, report.Level)
	require.Empty(t, report.NotOffered)
}
