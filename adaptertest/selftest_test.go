package adaptertest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// defect is one way for a store to be wrong.
type defect struct {
	name  string
	needs string // what the names of the cases that find it begin with
	do    func(b *broken)
}

// defects are such as no mutant of a store's source shows: what is wrong only at a kill, in a
// race, in memory that is shared, in what is told, with certain names, or under an engine.
func defects() []defect {
	return slices.Concat(racingDefects, keptDefects, toldDefects, nameDefects, engineDefects)
}

// longRun is set for tests that may take minutes, and wholeKit for runs of the kit with all sizes.
var (
	longRun  = os.Getenv("AGENTMEMORY_LONG") == "1"
	wholeKit = longRun || os.Getenv("AGENTMEMORY_WHOLE") == "1"
)

// lawsOf lets the cases of some laws through.
func lawsOf(names ...string) func(string) bool {
	return func(name string) bool {
		law, _, _ := strings.Cut(name, "/")
		return slices.Contains(names, law)
	}
}

// Quick lets the kit run with the sizes of -short unless AGENTMEMORY_WHOLE=1 or AGENTMEMORY_LONG=1.
func Quick(cfg Config) Config {
	cfg.Short = !wholeKit
	return cfg
}

// config is the kit's view of stores with the defect.
func (d defect) config() Config {
	cfg := configOf(d.do)
	if d.needs == "DURABLE/killed" {
		cfg.Crash = func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
			killed := *a.(*broken)
			killed.killed = true
			return newBroken(d.do, &killed), nil
		}
	}
	return cfg
}

// finds tries the cases whose names begin with what the defect needs, until one fails. Goroutines
// have to meet for some defects, so that the cases are tried many times.
func (d defect) finds(t *testing.T) bool {
	cfg := d.config()
	cfg.unshrunk = true
	report, err := cfg.look(ctx)
	require.NoError(t, err)
	for range 50 {
		for l, c := range everyCase() {
			name := l.name + "/" + c.name
			if !strings.HasPrefix(name, d.needs) || len(report.missing(c.needs)) > 0 {
				continue
			}
			if w, failed := cfg.play(ctx, report, l, c, LevelVersioned); failed != nil {
				t.Log(w.text(name, failed))
				return true
			}
		}
	}
	return false
}

// TestBroken shows for each of these broken stores that the cases which its defect needs fail, with the sizes of
// -short, and for each law that it finds one of them. What breaks a store in one place of its source is shown by
// internal/testkit/mutate.
func TestBroken(t *testing.T) {
	for _, d := range defects() {
		t.Run(strings.ReplaceAll(d.needs, "/", ":")+" "+d.name, func(t *testing.T) {
			if strings.HasPrefix(d.needs, "FAULT/resources") { // the kit waits for what seems to be left
				synctest.Test(t, func(t *testing.T) { require.True(t, d.finds(t), "the kit does not fail") })
				return
			}
			require.True(t, d.finds(t), "the kit does not fail")
		})
	}
	for _, l := range laws() {
		require.True(t, slices.ContainsFunc(defects(), func(d defect) bool { return strings.HasPrefix(d.needs, l.name+"/") }), l.name)
	}
}
