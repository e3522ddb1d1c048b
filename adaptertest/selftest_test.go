package adaptertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func defects() []defect {
	return slices.Concat(readDefects(), adapterDefects(), transactorDefects(), outboxDefects(), versionedDefects(),
		documentDefects(), batchReadDefects(), changesDefects(), tenantDefects(), limitDefects(), searchDefects(), scanDefects(), pagesAtDefects(),
		durableDefects(), cancelDefects(), modelDefects(), engineDefects(), narrowDefects())
}

// maxTries is how often a broken store is tried before it counts as not caught. A
// defect of concurrency shows only when goroutines meet, so it is tried until they do;
// any other is caught by the first try.
const maxTries = 50

// caught expects that the case fails which is there for a defect.
func caught(t *testing.T, d defect) {
	t.Helper()
	for range maxTries {
		report, err := configOf(d.do).check(ctx, cases(d.needs))
		require.NoError(t, err)
		if !report.OK() {
			t.Log("\n" + strings.Join(report.Failures(), "\n"))
			return
		}
	}
	t.Errorf("%s does not fail", d.needs)
}

// TestBroken shows for each broken store that the kit fails, on the right law and in
// the case that is there for it. A defect of concurrency is tried up to maxTries times.
func TestBroken(t *testing.T) {
	names := map[string]bool{}
	for _, d := range defects() {
		lawName, _, _ := strings.Cut(d.needs, "/")
		name := lawName + "/" + d.name
		if names[name] {
			t.Errorf("two defects are called %q", name)
		}
		names[name] = true
		t.Run(name, func(t *testing.T) { caught(t, d) })
	}
	require.Greater(t, len(names), 60)
}

func failed(r *Report) []string {
	var names []string
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			if c.Status == Broken {
				names = append(names, l.Name+"/"+c.Name)
			}
		}
	}
	return names
}

// A store with no defect passes everything, durability included.
func TestSound(t *testing.T) {
	report, err := Check(ctx, configOf(func(*broken) {}))
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Equal(t, LevelVersioned, report.Level)
	require.Empty(t, report.NotOffered)
}
