//go:build linux

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// envFull makes the test binary fill a file until the system refuses to write.
const envFull = "AGENTMEMORY_SQLITE_FULL"

func init() { children[envFull] = fillDisk }

// fillDisk puts entries until that fails, and prints how many it has put and the error. The
// files of the process are bounded, so that a write that goes beyond is refused in the
// commit itself, as it is on a disk that is full.
func fillDisk(ctx context.Context, file string) error {
	signal.Ignore(syscall.SIGXFSZ)
	db, err := sqlite.Open(ctx, file, sqlite.Options{Relaxed: true})
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	st := db.Memory()
	for n := 0; ; n++ {
		err := st.Put(ctx, home, entry(fmt.Sprint(n), strings.Repeat("x", 20_000)))
		if err == nil {
			continue
		}
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		list, readable := st.List(ctx, home, driver.Query{At: now})
		fmt.Println(n, len(list), readable == nil, errors.Is(err, driver.ErrInternal), errors.Is(err, sqlite.ErrOutcomeUnknown))
		fmt.Println(err)
		if err := st.Put(ctx, home, entry("after", "x")); err != nil {
			return err
		}
		os.Exit(0) // with the log as it is
	}
}

// A disk that is full is said to be full: nothing happened, and when there is room again
// the next write succeeds.
func TestM8_DiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), envFull+"="+path)
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	line, text, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	var put, listed int
	var readable, internal, unknown bool
	_, err = fmt.Sscan(line, &put, &listed, &readable, &internal, &unknown)
	require.NoError(t, err, string(out))
	require.Positive(t, put)
	require.Equal(t, put, listed)
	require.True(t, readable && internal)
	require.False(t, unknown)
	require.Equal(t, "sqlite: the disk is full or refuses to be written, and nothing was changed", text)
	entries, err := open(t, path).Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, put+1)
}
