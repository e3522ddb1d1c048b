package crashload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A process may die within a line. What it began is cut off; what others wrote stays.
func TestLines_TornEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	for _, c := range []struct {
		content string
		want    []int
	}{
		{"", nil},
		{"1\n2\n", []int{1, 2}},
		{"1\n2", []int{1}},
		{"1", nil},
	} {
		require.NoError(t, os.WriteFile(name, []byte(c.content), 0o600))
		l, err := openLines(name)
		require.NoError(t, err)
		require.Equal(t, len(c.want), l.count)
		require.NoError(t, l.add(3, 4))
		got, err := readLines[int](l)
		require.NoError(t, err)
		require.Equal(t, append(c.want, 3, 4), got)
		require.NoError(t, l.f.Close())
	}
	require.NoError(t, os.WriteFile(name, []byte("1\n{\n3\n"), 0o600))
	l, err := openLines(name)
	require.NoError(t, err)
	defer l.f.Close()
	_, err = readLines[int](l)
	require.ErrorContains(t, err, "line 2")
	require.Error(t, l.add(func() {}))
}

func TestOpen_BrokenFiles(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "nowhere"), 1)
	require.Error(t, err)
	for _, file := range []string{journalFile, mutationsFile, queueFile} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("{\n"), 0o600))
		_, err := Open(dir, 1)
		require.ErrorContains(t, err, "line 1", file)
	}

	log := newLog(t, 1)
	require.NoError(t, log.journal.add(note{N: 5, What: done}))
	require.ErrorContains(t, log.Load(t.Context(), inmem.New()), "operation 5")
	_, err = log.Verify(t.Context(), inmem.New())
	require.ErrorContains(t, err, "operation 5")

	log = newLog(t, 1)
	require.NoError(t, log.sink.add(delivery{Type: "no.such.event", Payload: []byte("{}")}))
	_, err = log.Verify(t.Context(), inmem.New())
	require.ErrorContains(t, err, "tells of what no operation did")
}

// A log that is opened again goes on where it was.
func TestOpen_Again(t *testing.T) {
	dir := t.TempDir()
	log, err := Open(dir, 4)
	require.NoError(t, err)
	n, err := log.intend(log.journal, note{What: open})
	require.NoError(t, err)
	run, err := log.Enqueue(t.Context(), commitment.Firing{Key: "a"})
	require.NoError(t, err)
	now := log.Now()
	require.NoError(t, log.Close())

	log, err = Open(dir, 5)
	require.NoError(t, err)
	defer log.Close()
	require.Equal(t, uint64(4), log.seed)
	require.False(t, log.Now().Before(now.Truncate(time.Millisecond)))
	next, err := log.intend(log.journal, note{What: open})
	require.NoError(t, err)
	require.Equal(t, n.N+1, next.N)
	again, err := log.Enqueue(t.Context(), commitment.Firing{Key: "a", Fence: 2})
	require.NoError(t, err)
	require.Equal(t, run, again)
	other, err := log.Enqueue(t.Context(), commitment.Firing{Key: "b"})
	require.NoError(t, err)
	require.NotEqual(t, run, other)
}

// What a store could do wrong only together with the host's own tables is written into
// them by hand.
func TestVerify_FindsWhatNobodyDid(t *testing.T) {
	log := newLog(t, 1)
	store := inmem.New()
	var starts []start
	for tries := 0; len(starts) == 0; tries++ { // until a commitment has fired
		require.Less(t, tries, 20)
		loadFor(t, log, store, 600)
		_, err := log.Verify(t.Context(), store)
		require.NoError(t, err)
		starts, err = readLines[start](log.queue)
		require.NoError(t, err)
	}
	first := starts[0]

	told, err := readLines[delivery](log.sink)
	require.NoError(t, err)
	stranger, impostor := told[0], told[0]
	stranger.ID += "x"
	impostor.Payload = []byte("{}")
	fired, err := deliveryOf(events.Record{ID: "evt", Tenant: "acme", RunID: "elsewhere", Payload: events.CommitmentFired{
		CommitmentID: "elsewhere", MemoryRef: "notes", Condition: events.ConditionTime,
	}})
	require.NoError(t, err)
	_, err = log.intend(log.mutations, note{What: mutate, Tenant: "acme", Events: []delivery{fired}})
	require.NoError(t, err)
	require.NoError(t, log.sink.add(stranger, impostor, fired))
	otherRun, otherKey, unknown, off := first, first, first, first
	otherRun.Run, otherRun.Fence = "another-run", 1<<40
	otherKey.Key, otherKey.Fence = first.Commitment+"@1", 1<<41
	unknown.Commitment, unknown.Key, unknown.Run = "cmt_none", "cmt_none@1", "r1"
	off.Key, off.Run = first.Commitment+"@x", "r2"
	require.NoError(t, log.queue.add(otherRun, otherKey, unknown, off))

	_, err = log.Verify(t.Context(), store)
	var broken *Broken
	require.ErrorAs(t, err, &broken)
	text := strings.Join(broken.Problems, "\n")
	for _, want := range []string{
		"an event tells of what no operation did",
		"an event came under the id of another",
		"an event tells of a run that was not started",
		"a firing has two runs",
		"a run has two firings",
		"a run was started for a commitment that is not there",
		"forgotten a claim",
		"claimed twice under one fence",
		"none of its own",
		"for one instant",
	} {
		require.Contains(t, text, want)
	}
}
