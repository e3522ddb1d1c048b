package adaptertest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A store that takes 50 milliseconds for each call is proven in a quarter of an hour with -short, where
// sixteen cases run side by side. The time is that of the test's own clock. Usually the laws with the longest cases are
// proven, and those that end contexts, race or count; with AGENTMEMORY_LONG=1 all.
func TestT3_ASlowStoreIsProvenInAQuarterOfAnHour(t *testing.T) {
	wanted := lawsOf("MODEL", "LOG", "FAULT", "RACING")
	if longRun {
		wanted = everything
	}
	synctest.Test(t, func(t *testing.T) {
		slow := Delay(func(ctx context.Context) {
			call, ended := context.WithTimeout(ctx, 50*time.Millisecond)
			defer ended()
			<-call.Done()
		})
		began := time.Now()
		report, err := Config{Short: true, Parallel: 16, New: func(context.Context) (driver.Adapter, error) {
			return Inject(inmem.New(), slow), nil
		}}.check(t.Context(), wanted)
		require.NoError(t, err)
		require.True(t, report.OK(), report)
		require.Equal(t, LevelVersioned, report.Level)
		t.Log(time.Since(began))
		require.LessOrEqual(t, time.Since(began), 15*time.Minute)
	})
}

// What is reported does not depend on how many cases run at once. With AGENTMEMORY_LONG=1 the long cases of names are among
// them.
func TestT4_CasesSideBySideGiveTheSameReport(t *testing.T) {
	among := lawsOf("RECORD", "ORDER", "QUERY", "FAULT")
	if longRun {
		among = lawsOf("RECORD", "ORDER", "QUERY", "FAULT", "CTI-1")
	}
	wanted := func(name string) bool { return among(name) && !strings.Contains(name, "racing") }
	cfg := configOf(listed(func(_ *broken, _ driver.Scope, q driver.Query, found []driver.Entry) []driver.Entry {
		return found[min(len(found), len(q.Tags)):]
	}))
	want, err := cfg.check(ctx, wanted)
	require.NoError(t, err)
	require.NotEmpty(t, want.Failures())
	cfg.Parallel = 8
	got, err := cfg.check(ctx, wanted)
	require.NoError(t, err)
	require.Equal(t, want.String(), got.String())
}
