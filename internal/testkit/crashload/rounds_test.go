package crashload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// envOpener says which stores the child opens.
const envOpener = "AGENTMEMORY_CRASHLOAD_OPENER"

var openers = map[string]Opener{
	"durable":   openDurable,
	"forgetful": openForgetful,
	"broken": func(context.Context) (Store, func() error, error) {
		return nil, nil, errors.New("no database")
	},
}

func TestMain(m *testing.M) {
	Child(openers[os.Getenv(envOpener)])
	os.Exit(m.Run())
}

func rounds(t *testing.T, opener string, n int) Rounds {
	dir := t.TempDir()
	t.Setenv(envChanges, filepath.Join(dir, "changes"))
	t.Setenv(envOpener, opener)
	return Rounds{Dir: dir, Seed: 7, N: n, Open: openers[opener]}
}

func TestRounds_DurableStoresSurvive(t *testing.T) {
	n := 6
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		n = 60
	}
	r := rounds(t, "durable", n)
	lanes := 0
	r.Seen = func(round int, report Report) {
		t.Logf("%d: %+v", round, report)
		require.Greater(t, report.Lanes, lanes)
		lanes = report.Lanes
	}
	require.NoError(t, r.Run(t.Context()))
}

func TestRounds_FindsStoresThatForget(t *testing.T) {
	err := rounds(t, "forgetful", 3).Run(t.Context())
	var broken *Broken
	require.ErrorAs(t, err, &broken)
	require.ErrorContains(t, err, "round 1: ")
	require.Greater(t, len(broken.Problems), mostProblems)
	require.ErrorContains(t, err, "more")

	t.Setenv(envLoses, "1")
	err = rounds(t, "durable", 20).Run(t.Context())
	require.ErrorAs(t, err, &broken)
}

func TestRounds_Strike(t *testing.T) {
	r := rounds(t, "durable", 2)
	var strikes []int
	r.Strike = func(_ context.Context, round int) error {
		strikes = append(strikes, round)
		return nil
	}
	require.NoError(t, r.Run(t.Context()))
	require.Equal(t, []int{0, 1}, strikes)

	out := errors.New("out of lightning")
	r.Strike = func(context.Context, int) error { return out }
	require.ErrorIs(t, r.Run(t.Context()), out)
}

func TestRounds_ChildrenThatFail(t *testing.T) {
	require.ErrorContains(t, rounds(t, "broken", 1).Run(t.Context()), "no database")
	r := rounds(t, "durable", 1)
	r.Dir = filepath.Join(r.Dir, "nowhere")
	require.Error(t, r.Run(t.Context()))

	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, rounds(t, "durable", 1).Run(ctx), context.Canceled)
}
