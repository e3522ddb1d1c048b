package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// fickle is a sink that refuses for a while.
type fickle struct {
	mu      sync.Mutex
	refuses bool
	got     []events.Record
}

func (f *fickle) Emit(_ context.Context, recs ...events.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses {
		return errors.New("not now")
	}
	f.got = append(f.got, recs...)
	return nil
}

func write(path, content, ifMatch string) distill.Write {
	return distill.Write{Tenant: "acme", RunID: "run-1", Path: path, Content: content, ContentType: "text/plain", IfMatch: ifMatch, At: now}
}

func TestWorkspace(t *testing.T) {
	db, path := fresh(t)
	sink := new(fickle)
	w := db.Workspace(sink)
	_, err := w.ReadFile(t.Context(), "acme", "a.txt")
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, err = w.WriteFile(t.Context(), write("a.txt", "zero", "some"))
	require.ErrorIs(t, err, memory.ErrConflict)
	one, err := w.WriteFile(t.Context(), write("a.txt", "one", ""))
	require.NoError(t, err)
	require.Equal(t, distill.File{Path: "a.txt", Content: "one", ContentType: "text/plain", Version: 1, ETag: one.ETag, UpdatedAt: now}, one)
	_, err = w.WriteFile(t.Context(), write("a.txt", "lost", ""))
	require.ErrorIs(t, err, memory.ErrConflict)
	two, err := w.WriteFile(t.Context(), write("a.txt", "one", one.ETag))
	require.NoError(t, err)
	require.NotEqual(t, one.ETag, two.ETag)
	_, err = w.WriteFile(t.Context(), write("a.txt", "lost", one.ETag))
	require.ErrorIs(t, err, memory.ErrConflict)

	// Another process reads the same, and another tenant nothing.
	second := open(t, path).Workspace(sink)
	got, err := second.ReadFile(t.Context(), "acme", "a.txt")
	require.NoError(t, err)
	require.Equal(t, two, got)
	_, err = second.ReadFile(t.Context(), "acm", "a.txt")
	require.ErrorIs(t, err, memory.ErrNotFound)

	// One event a version.
	require.Len(t, sink.got, 2)
	for i, r := range sink.got {
		require.Equal(t, events.WorkspaceUpdated{Path: "a.txt", Version: int64(i + 1)}, r.Payload)
		require.Equal(t, "acme", r.Tenant)
	}

	for _, bad := range []string{"../a", "", "a//b"} {
		_, err = w.WriteFile(t.Context(), write(bad, "x", ""))
		require.ErrorIs(t, err, distill.ErrPath)
		_, err = w.ReadFile(t.Context(), "acme", bad)
		require.ErrorIs(t, err, distill.ErrPath)
	}
	noRun := write("b.txt", "x", "")
	noRun.RunID = ""
	_, err = w.WriteFile(t.Context(), noRun)
	require.ErrorIs(t, err, events.ErrInvalid)
	_, err = w.ReadFile(t.Context(), "acme", "b.txt")
	require.ErrorIs(t, err, memory.ErrNotFound)

	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.WriteFile(done, write("b.txt", "x", ""))
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.ReadFile(done, "acme", "a.txt")
	require.ErrorIs(t, err, context.Canceled)
}

// An event that the sink refuses outlives the process, and comes once, in its order.
func TestE3_WorkspaceEventsWait(t *testing.T) {
	db, path := fresh(t)
	sink := &fickle{refuses: true}
	w := db.Workspace(sink)
	for i := range 300 {
		_, err := w.WriteFile(t.Context(), write(fmt.Sprint("f", i), "x", ""))
		require.NoError(t, err)
	}
	require.ErrorIs(t, w.Flush(t.Context()), memory.ErrInternal)
	require.NoError(t, db.Close())
	second := open(t, path).Workspace(sink)
	sink.refuses = false
	require.NoError(t, second.Flush(t.Context()))
	require.NoError(t, second.Flush(t.Context()))
	require.Len(t, sink.got, 300)
	for i, r := range sink.got {
		require.Equal(t, fmt.Sprint("f", i), r.Payload.(events.WorkspaceUpdated).Path)
	}

	silent := open(t, path).Workspace(nil)
	_, err := silent.WriteFile(t.Context(), write("silent", "x", ""))
	require.NoError(t, err)
	require.NoError(t, silent.Flush(t.Context()))
	require.NoError(t, second.Flush(t.Context()))
	require.Len(t, sink.got, 300)
}

// emitting is a sink that does something first.
type emitting struct {
	fickle
	first func()
}

func (e *emitting) Emit(ctx context.Context, recs ...events.Record) error {
	if f := e.first; f != nil {
		e.first = nil
		f()
	}
	return e.fickle.Emit(ctx, recs...)
}

// An event that comes while another process has delivered what this one is delivering is
// not taken for one of those.
func TestE3_WorkspaceFlushesOverlap(t *testing.T) {
	db, path := fresh(t)
	sink := new(emitting)
	theirs := &fickle{}
	second := open(t, path).Workspace(theirs)
	sink.first = func() {
		require.NoError(t, second.Flush(t.Context()))
		theirs.refuses = true
		_, err := second.WriteFile(t.Context(), write("b.txt", "x", ""))
		require.NoError(t, err)
		sink.first = func() { sink.refuses = true }
	}
	_, err := db.Workspace(sink).WriteFile(t.Context(), write("a.txt", "x", ""))
	require.NoError(t, err)
	sink.refuses = false
	require.NoError(t, db.Workspace(sink).Flush(t.Context()))
	require.Equal(t, "b.txt", sink.got[len(sink.got)-1].Payload.(events.WorkspaceUpdated).Path)
}

// Of writes and archives of several processes at once one wins, and no other fails but
// by a conflict.
func TestEngines_Race(t *testing.T) {
	db, path := fresh(t)
	dbs := []*sqlite.DB{db, open(t, path)}
	for round := range 20 {
		var all sync.WaitGroup
		var wrote atomic.Int64
		var addresses [8]distill.Digest
		for i := range addresses {
			all.Go(func() {
				db := dbs[i%len(dbs)]
				_, err := db.Workspace(nil).WriteFile(t.Context(), write(fmt.Sprint("f", round), fmt.Sprint(i), ""))
				if err == nil {
					wrote.Add(1)
				} else {
					assert.ErrorIs(t, err, memory.ErrConflict)
				}
				addresses[i], err = db.Archives().Keep(t.Context(), home, distill.Digest{byte(round)}, []byte{byte(round), byte(i)}, now)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		require.EqualValues(t, 1, wrote.Load())
		for _, a := range addresses {
			require.Equal(t, addresses[0], a)
		}
	}
}

// The text of a version that was overwritten is not left in the file.
func TestWorkspace_OverwrittenTextIsGone(t *testing.T) {
	db, path := fresh(t)
	w := db.Workspace(nil)
	f, err := w.WriteFile(t.Context(), write("a.txt", "the-first-text", ""))
	require.NoError(t, err)
	require.Positive(t, onDisk(t, path, "the-first-text"))
	_, err = w.WriteFile(t.Context(), write("a.txt", "second", f.ETag))
	require.NoError(t, err)
	require.Zero(t, onDisk(t, path, "the-first-text"))
}

// The bytes of a dropped archive are not left in the file.
func TestArchives_DroppedBytesAreGone(t *testing.T) {
	db, path := fresh(t)
	data := []byte("the-archived-text")
	address, err := db.Archives().Keep(t.Context(), home, distill.Digest{1}, data, now)
	require.NoError(t, err)
	require.Positive(t, onDisk(t, path, string(data)))
	require.NoError(t, db.Archives().Drop(t.Context(), home, address, time.Time{}))
	require.Zero(t, onDisk(t, path, string(data)))
}
