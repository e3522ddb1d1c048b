package crashload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/inmem"
)

// A process may die within a line. What it began is cut off; what others wrote stays.
func TestOpen_TornEnd(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, logFile)
	whole := `{"seed":4}` + "\n" + `{"lane":1,"begins":true}` + "\n"
	for _, torn := range []string{"", "{", `{"lane":2}`} {
		require.NoError(t, os.WriteFile(name, []byte(whole+torn), 0o600))
		log, err := Open(dir, 1)
		require.NoError(t, err)
		require.Equal(t, 2, log.lines(t))
		require.NoError(t, log.add(outcome{Lane: 3}, outcome{Lane: 4}))
		got, err := log.read()
		require.NoError(t, err)
		require.Equal(t, []outcome{{Seed: 4}, {Lane: 1, Begins: true}, {Lane: 3}, {Lane: 4}}, got)
		require.NoError(t, log.Close())
	}
}

func TestOpen_BrokenFiles(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "nowhere"), 1)
	require.Error(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, logFile), []byte("{}\n{\n"), 0o600))
	_, err = Open(dir, 1)
	require.ErrorContains(t, err, "line 2")

	log := newLog(t, 1)
	require.NoError(t, log.add(outcome{Event: "the event x of y"}))
	_, err = log.Verify(t.Context(), inmem.New())
	require.ErrorContains(t, err, "of no operation")
}

// A log that is opened again has its seed, and begins lanes of other names.
func TestOpen_Reopened(t *testing.T) {
	dir, store := t.TempDir(), inmem.New()
	log, err := Open(dir, 4)
	require.NoError(t, err)
	loadFor(t, log, store, 50)
	lanes := log.lanes.Load()
	require.NoError(t, log.Close())

	log, err = Open(dir, 5)
	require.NoError(t, err)
	defer log.Close()
	require.Equal(t, uint64(4), log.seed)
	require.Equal(t, lanes, log.lanes.Load())
	loadFor(t, log, store, 50)
	report, err := log.Verify(t.Context(), store)
	require.NoError(t, err)
	require.Greater(t, int64(report.Lanes), lanes)
}

// The same outcomes have a lane draw the same operations, by which the log needs no more.
func TestLane_IsDrawnAgain(t *testing.T) {
	draw := func() (all []operation) {
		l, store := newLane(3, 7), inmem.New()
		for range laneLength {
			op := l.next()
			all = append(all, op)
			hit, revs, err := l.perform(t.Context(), store, op, l.ours(op))
			if err == nil {
				require.NoError(t, l.accept(op, outcome{Hit: hit, Revs: revs}))
			}
		}
		return all
	}
	require.Equal(t, draw(), draw())
}
