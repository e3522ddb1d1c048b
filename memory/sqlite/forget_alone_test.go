package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	modernc "modernc.org/sqlite"

	"github.com/openwop/agentmemory/internal/testkit/forgetting"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// envPass makes the test binary a process that consolidates and distills in the file that
// it names, and is killed in the commit whose number envKill says.
const envPass, envKill = "AGENTMEMORY_SQLITE_PASS", "AGENTMEMORY_SQLITE_KILL"

// killedRef is the ref in which it does that.
const killedRef = "killed"

// dieInPass consolidates and distills, and is killed on the way unless it has fewer
// commits than that.
func dieInPass(ctx context.Context, file, kill string) error {
	var left atomic.Int64
	modernc.RegisterConnectionHook(func(conn modernc.ExecQuerierContext, _ string) error {
		conn.(modernc.HookRegisterer).RegisterCommitHook(func() int32 {
			if left.Add(-1) == 0 {
				if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
					select {}
				}
			}
			return 0
		})
		// Hardly anything is kept in memory until the commit: it goes to the log before.
		_, err := conn.ExecContext(ctx, "PRAGMA cache_size = 2", nil)
		return err
	})
	db, err := sqlite.Open(ctx, file, sqlite.Options{Relaxed: true})
	if err != nil {
		return err
	}
	defer db.Close()
	h, err := forgetting.New(db.Memory(), new(forgetting.Gate))
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(kill, 10, 64)
	if err != nil {
		return err
	}
	left.Store(n)
	return h.Pass(ctx, killedRef)
}

// onAnyDisk counts how often a text is in any file beside the database.
func onAnyDisk(t *testing.T, path, text string) (n int) {
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		n += bytes.Count(data, []byte(text))
	}
	return n
}

// inStore is what the store says of all, as text.
func inStore(t *testing.T, st *sqlite.Store) string {
	var b strings.Builder
	for rec, err := range st.History(t.Context(), home.Tenant, driver.HistoryQuery{}) {
		require.NoError(t, err)
		fmt.Fprintln(&b, rec.State, rec.Entry.Content, rec.Entry.Tags, rec.Entry.Subjects)
	}
	for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}) {
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %s %s\n", d.Kind, d.Value, d.Subjects)
	}
	return b.String()
}

// After Forget alone no byte of what was told about a subject is in the file or its log,
// or reaches the sink, nor what was made of it, also if a pass of another process was
// killed: in the middle of each of its commits. What was told about another one stays.
func TestM10_AfterForgetAloneNoByteIsLeft(t *testing.T) {
	spilled := false
	for kill := 1; ; kill++ {
		died, uncommitted := forgetAlone(t, kill)
		spilled = spilled || uncommitted
		if !died {
			require.Equal(t, 5, kill-1, "commits of the passes")
			break
		}
	}
	require.True(t, spilled, "a killed transaction has left text in the log")
}

func forgetAlone(t *testing.T, kill int) (died, uncommitted bool) {
	at := fmt.Sprint("commit ", kill)
	path := filepath.Join(t.TempDir(), "memory.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	require.NoError(t, err)
	defer db.Close()
	sink := new(forgetting.Gate)
	sink.Shut.Store(true)
	h, err := forgetting.New(db.Memory(), sink)
	require.NoError(t, err)
	goes, stays := forgetting.NewWords(), forgetting.NewWords()
	h.Tell(t, goes)
	h.Tell(t, stays)
	h.TellLate(t, killedRef, 600, goes, stays) // reaches overflow pages
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), envPass+"="+path, fmt.Sprint(envKill, "=", kill))
	out, err := c.CombinedOutput()
	died = err != nil
	if died {
		require.Equal(t, "signal: killed", err.Error(), string(out))
	}
	for _, word := range slices.Concat(goes.Stored(), stays.Stored()) {
		require.Positive(t, onAnyDisk(t, path, word), at)
	}
	made := forgetting.Inflected(goes["killed"])
	uncommitted = onAnyDisk(t, path, made) > 0 && !strings.Contains(inStore(t, db.Memory()), made)

	h.Forget(t, goes, stays, func() string { return inStore(t, db.Memory()) })
	left := func() {
		for _, word := range goes.Forgotten() {
			require.Zero(t, onAnyDisk(t, path, word), at)
		}
	}
	left()
	h.Deliver(t, sink, goes)
	require.NoError(t, db.Close())
	left()
	return died, uncommitted
}

// A process that was killed before it could empty the log has forgotten everything, so
// that there is nothing left to forget for another one that is asked to. It empties the log
// all the same.
func TestM10_ForgetAgainEmptiesTheLog(t *testing.T) {
	db, path := fresh(t)
	h, err := forgetting.New(db.Memory(), new(forgetting.Gate))
	require.NoError(t, err)
	w := forgetting.NewWords()
	h.Tell(t, w)
	killed, err := forgetting.New(open(t, path).Memory(), new(forgetting.Gate))
	require.NoError(t, err)
	reader, err := raw(t, path).Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow(`SELECT count(*) FROM entries`).Scan(&n)) // is in the way of the one that is killed
	_, err = killed.Bank.Forget(t.Context(), home.Tenant, w["label"])
	require.NoError(t, err)
	require.NoError(t, reader.Rollback())
	require.Positive(t, onAnyDisk(t, path, w["plain"]))
	before, err := db.Memory().Version(t.Context(), home.Tenant)
	require.NoError(t, err)
	done, err := h.Bank.Forget(t.Context(), home.Tenant, w["label"])
	require.NoError(t, err)
	require.Zero(t, done)
	for _, word := range w.Forgotten() {
		require.Zero(t, onAnyDisk(t, path, word))
	}
	after, err := db.Memory().Version(t.Context(), home.Tenant)
	require.NoError(t, err)
	require.Equal(t, before, after, "nothing was changed")
}
