package adaptertest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func defects() []defect {
	return slices.Concat(readDefects(), adapterDefects(), transactorDefects(), outboxDefects(), versionedDefects(), otherDefects(), engineDefects(), narrowDefects())
}

// TestBroken shows for each broken store that the kit fails, on the right law and in
// the case that is there for it. With AGENTMEMORY_LONG=1 all other cases are run on
// it too, and the log tells which of them fail.
func TestBroken(t *testing.T) {
	names := map[string]bool{}
	for _, d := range defects() {
		lawName, _, _ := strings.Cut(d.needs, "/")
		name := lawName + "/" + d.name
		if names[name] {
			t.Errorf("two defects are called %q", name)
		}
		names[name] = true
		t.Run(name, func(t *testing.T) {
			var report *Report
			var found []string
			// A case that races the store catches a defect of concurrency only when the
			// goroutines meet.
			for try := 0; try < maxTries && !slices.Contains(found, d.needs); try++ {
				var err error
				report, err = configOf(d.do).proof().check(ctx, func(c string) bool {
					return c == d.needs || os.Getenv("AGENTMEMORY_LONG") != ""
				})
				require.NoError(t, err)
				found = failed(report)
			}
			require.Contains(t, found, d.needs)
			t.Logf("fails %v\n%s", found, strings.Join(report.Failures(), "\n"))
		})
	}
	require.Greater(t, len(names), 60)
}

// maxTries is how often a broken store is tried before it counts as not caught.
const maxTries = 50

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

// TestT1_EveryCaseIsNeeded shows that at least one broken store needs each case.
func TestT1_EveryCaseIsNeeded(t *testing.T) {
	needed := map[string]bool{}
	for _, d := range defects() {
		needed[d.needs] = true
	}
	known := map[string]bool{}
	for _, l := range laws() {
		for _, c := range l.cases {
			name := l.name + "/" + c.name
			if known[name] {
				t.Errorf("two cases are called %s", name)
			}
			known[name] = true
			if !needed[name] {
				t.Errorf("no broken store needs %s", name)
			}
		}
	}
	for name := range needed {
		if !known[name] {
			t.Errorf("there is no case %s", name)
		}
	}
}

// A store with no defect passes everything, durability included.
func TestSound(t *testing.T) {
	report, err := Check(ctx, configOf(func(*broken) {}))
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Equal(t, LevelVersioned, report.Level)
	require.Empty(t, report.NotOffered)
}
