package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// choosy is a sink that refuses the runs of one tenant.
type choosy struct {
	refuses string
	got     []events.Record
	first   func(ctx context.Context) // runs before the first delivery
}

func (c *choosy) Emit(ctx context.Context, recs ...events.Record) error {
	if f := c.first; f != nil {
		c.first = nil
		f(ctx)
	}
	for _, r := range recs {
		if r.Tenant == c.refuses {
			return errors.New("not from " + r.Tenant)
		}
	}
	c.got = append(c.got, recs...)
	return nil
}

func (c *choosy) paths() (paths []string) {
	for _, r := range c.got {
		paths = append(paths, r.Tenant+"/"+r.Payload.(events.WorkspaceUpdated).Path)
	}
	return paths
}

func file(tenant, path, content, ifMatch string) distill.Write {
	return distill.Write{Tenant: tenant, RunID: "run-1", Path: path, Content: content, ContentType: "text/plain", IfMatch: ifMatch, At: now}
}

func mustWrite(t *testing.T, w *Workspace, x distill.Write) distill.File {
	f, err := w.WriteFile(t.Context(), x)
	require.NoError(t, err)
	return f
}

func TestWorkspace(t *testing.T) {
	db := openDB(t, Options{})
	sink := new(choosy)
	w, ctx := db.Workspace(sink), t.Context()
	_, err := w.ReadFile(ctx, "acme", "a.txt")
	require.ErrorIs(t, err, memory.ErrNotFound)
	for _, tag := range []string{"some", "0123456789abcdef-1", "0123456789abcdef-x"} {
		_, err = w.WriteFile(ctx, file("acme", "a.txt", "zero", tag))
		require.ErrorIs(t, err, memory.ErrConflict)
	}
	one := mustWrite(t, w, file("acme", "a.txt", "one", ""))
	require.Equal(t, distill.File{Path: "a.txt", Content: "one", ContentType: "text/plain", Version: 1, ETag: one.ETag, UpdatedAt: now}, one)
	_, err = w.WriteFile(ctx, file("acme", "a.txt", "lost", ""))
	require.ErrorIs(t, err, memory.ErrConflict)
	two := mustWrite(t, w, file("acme", "a.txt", "one", one.ETag))
	require.NotEqual(t, one.ETag, two.ETag)
	_, err = w.WriteFile(ctx, file("acme", "a.txt", "lost", one.ETag))
	require.ErrorIs(t, err, memory.ErrConflict)

	got, err := db.Workspace(nil).ReadFile(ctx, "acme", "a.txt")
	require.NoError(t, err)
	require.Equal(t, two, got)
	_, err = w.ReadFile(ctx, "acm", "a.txt")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Len(t, sink.got, 2)
	for i, r := range sink.got {
		require.Equal(t, events.WorkspaceUpdated{Path: "a.txt", Version: int64(i + 1)}, r.Payload)
	}

	for _, bad := range []string{"../a", "", "a//b"} {
		_, err = w.WriteFile(ctx, file("acme", bad, "x", ""))
		require.ErrorIs(t, err, distill.ErrPath)
		_, err = w.ReadFile(ctx, "acme", bad)
		require.ErrorIs(t, err, distill.ErrPath)
	}
	noRun := file("acme", "b.txt", "x", "")
	noRun.RunID = ""
	_, err = w.WriteFile(ctx, noRun)
	require.ErrorIs(t, err, events.ErrInvalid)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = w.WriteFile(done, file("acme", "b.txt", "x", ""))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, w.Flush(done), context.Canceled)
	_, err = w.ReadFile(ctx, "acme", "b.txt")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

// A tenant whose events are refused holds up no other, however many there are, and
// gets them in their order when the sink takes them.
func TestE3_RefusedEventsHoldUpNoOther(t *testing.T) {
	db := openDB(t, Options{})
	sink := &choosy{refuses: "acme"}
	w, ctx := db.Workspace(sink), t.Context()
	const many = 300 // more than a page
	var want []string
	for i := range many {
		path := fmt.Sprintf("f%03d", i)
		mustWrite(t, w, file("acme", path, "x", ""))
		want = append(want, "acme/"+path)
	}
	mustWrite(t, w, file("globex", "g", "x", ""))
	require.Equal(t, []string{"globex/g"}, sink.paths())

	// Of a process that ended before it delivered.
	_, err := db.pool.Exec(ctx, `INSERT INTO agentmemory.file_events (tenant, run_id, event_id, time, path, version)
		SELECT 'initech', 'run-9', 'evt_ws_x', time, 'i', 1 FROM agentmemory.file_events LIMIT 1`)
	require.NoError(t, err)
	err = w.Flush(ctx)
	require.EqualError(t, err, "postgres: the sink failed")
	require.Equal(t, []string{"globex/g", "initech/i"}, sink.paths())

	sink.refuses, sink.got = "", nil
	require.NoError(t, w.Flush(ctx))
	require.Equal(t, want, sink.paths())
	require.NoError(t, w.Flush(ctx))
	require.Len(t, sink.got, many)

	silent := db.Workspace(nil)
	mustWrite(t, silent, file("acme", "silent", "x", ""))
	require.NoError(t, silent.Flush(ctx))
	require.NoError(t, w.Flush(ctx))
	require.Len(t, sink.got, many)
}

// A sink may write files, and a delivery that takes long holds up no other.
func TestE3_SinkUsesTheWorkspace(t *testing.T) {
	db := openDB(t, Options{})
	sink := new(choosy)
	w := db.Workspace(sink)
	sink.first = func(ctx context.Context) {
		mustWrite(t, w, file("acme", "b.txt", "x", ""))
		require.NoError(t, w.Flush(ctx))
	}
	mustWrite(t, w, file("acme", "a.txt", "x", ""))
	require.NoError(t, w.Flush(t.Context()))
	seen := map[string]bool{}
	for _, r := range sink.got {
		seen[r.ID] = true
	}
	require.Len(t, seen, 2)
}
