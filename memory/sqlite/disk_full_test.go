//go:build linux

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// envFull makes the test binary fill a file until the system refuses to write; envFullAt says
// where and at which size.
const (
	envFull   = "AGENTMEMORY_SQLITE_FULL"
	envFullAt = "AGENTMEMORY_SQLITE_FULL_AT"
)

func init() { children[envFull] = fillDisk }

// fullSizes is how many sizes of a disk there are.
const fullSizes = 40

// disk bounds the files of the process, so that a write that goes beyond is refused, as it is
// on a disk that is full.
type disk struct{ limit syscall.Rlimit }

func (d *disk) shrink(size int64) error {
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &d.limit); err != nil {
		return err
	}
	less := d.limit
	less.Cur = uint64(size)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &less)
}

func (d *disk) grow() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &d.limit) }

// fills are the writes in which a disk is full, at the n-th of its sizes. Each puts entries
// until one fails, says what it put, and returns what failed.
var fills = map[string]func(f *filling, n int64) error{
	// More than the cache holds is written before the commit.
	"put": func(f *filling, n int64) error {
		if err := f.disk.shrink((n + 1) << 19); err != nil {
			return err
		}
		return f.put(24, 1<<20)
	},
	"commit": func(f *filling, n int64) error {
		if err := f.disk.shrink(100_000 + n*13_331); err != nil {
			return err
		}
		for {
			if err := f.put(1, 20_000); err != nil {
				return err
			}
		}
	},
	// The log has room, and what it has does not fit into the file.
	"checkpoint": func(f *filling, n int64) error {
		if err := f.logged(n); err != nil {
			return err
		}
		_, err := f.db.Memory().Apply(f.ctx, home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "first"}}})
		if err != nil {
			return err
		}
		if bytesIn(f.path+"-wal", erasedText) == 0 {
			return errors.New("the log was emptied")
		}
		return driver.ErrInternal // an erasure that reaches the disk later is none
	},
	"open": func(f *filling, n int64) error { // the index of the log does not fit
		if err := errors.Join(f.put(1, 10), f.db.Close(), f.disk.shrink((n+1)*800)); err != nil {
			return err
		}
		_, err := sqlite.Open(f.ctx, f.path, sqlite.Options{})
		return err
	},
	"close": func(f *filling, n int64) error {
		if err := f.logged(n); err != nil {
			return err
		}
		return f.db.Close()
	},
}

// filling is a process that fills a disk.
type filling struct {
	ctx  context.Context
	path string
	db   *sqlite.DB
	disk disk
	n    int
}

// put puts entries of a size in one mutation.
func (f *filling) put(entries, size int) error {
	m := driver.Mutation{At: now}
	var ids []string
	for range entries {
		f.n++
		ids = append(ids, fmt.Sprint("e", f.n))
		m.Put = append(m.Put, driver.Placed{Scope: home, Entry: entry(ids[len(ids)-1], strings.Repeat("x", size))})
	}
	_, err := f.db.Memory().Apply(f.ctx, home.Tenant, m)
	if err == nil {
		fmt.Println("put", strings.Join(ids, " "))
	}
	return err
}

// logged has a file of 2 MB and a log that does not fit in the room for it.
func (f *filling) logged(n int64) error {
	if err := f.put(100, 20_000); err != nil {
		return err
	}
	if err := f.db.Close(); err != nil { // the log is in the file
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if f.db, err = sqlite.Open(f.ctx, f.path, sqlite.Options{}); err != nil {
		return err
	}
	if err := f.db.Memory().Put(f.ctx, home, entry("first", erasedText)); err != nil {
		return err
	}
	fmt.Println("put first")
	for range 20 {
		if err := f.put(1, 20_000); err != nil {
			return err
		}
	}
	return f.disk.shrink(info.Size() + n*9_000)
}

// fillDisk fills a disk, and at every second size makes room and puts another entry; then it ends
// with the log as it is.
func fillDisk(ctx context.Context, path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var n int64
	var where string
	if _, err := fmt.Sscan(os.Getenv(envFullAt), &where, &n); err != nil {
		return err
	}
	f := &filling{ctx: ctx, path: path}
	var err error
	if f.db, err = sqlite.Open(ctx, path, sqlite.Options{}); err != nil {
		return err
	}
	failed := fills[where](f, n)
	over := where == "open" || where == "close"
	if !over {
		if _, err := f.db.Memory().List(ctx, home, driver.Query{At: now}); err != nil {
			return errors.Join(failed, err)
		}
	}
	switch {
	case !errors.Is(failed, driver.ErrInternal), errors.Is(failed, sqlite.ErrOutcomeUnknown):
		return fmt.Errorf("no such failure: %w", failed)
	case where == "commit" && !strings.Contains(failed.Error(), "nothing was changed: the disk is full or refuses to be written"),
		where == "put" && !strings.Contains(failed.Error(), "nothing was changed"),
		where == "close" && !strings.Contains(failed.Error(), "has all that was acknowledged"),
		where != "checkpoint" && !strings.Contains(failed.Error(), "the disk is full or refuses to be written"):
		return failed
	}
	if over || n%2 == 1 {
		os.Exit(0)
	}
	if err := f.disk.grow(); err != nil {
		return err
	}
	err = f.put(1, 10)
	if where == "checkpoint" && err == nil && bytesIn(path+"-wal", erasedText) > 0 {
		err = errors.New("what was erased is in the log still")
	}
	if err == nil {
		os.Exit(0)
	}
	return err
}

func bytesIn(path, text string) int {
	data, _ := os.ReadFile(path)
	return bytes.Count(data, []byte(text))
}

const erasedText = "the-erased-sentence"

// A disk that is full is said to be full, wherever that happens: what failed did not happen, and
// when there is room again the next write succeeds, the file opens, and everything that was
// acknowledged is there. What was erased leaves the log then too.
func TestM8_DiskFull(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for where := range fills {
		t.Run(where, func(t *testing.T) {
			for n := 0; n < fullSizes; n += long(7, 1) {
				path := filepath.Join(t.TempDir(), "memory.db")
				c := exec.CommandContext(t.Context(), self)
				c.Env = append(os.Environ(), envFull+"="+path, fmt.Sprint(envFullAt, "=", where, " ", n))
				out, err := c.CombinedOutput()
				require.NoError(t, err, "size %d: %s", n, out)
				want := strings.Fields(strings.ReplaceAll(string(out), "put ", ""))
				if where == "checkpoint" { // it was erased
					want = slices.DeleteFunc(want, func(word string) bool { return word == "first" })
				}
				db := open(t, path)
				entries, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
				require.NoError(t, err)
				require.ElementsMatch(t, want, idsOf(entries), "size %d", n)
				require.NoError(t, db.Close())
				require.Equal(t, where == "close", onDisk(t, path, erasedText) > 0)
				sound(t, path)
			}
		})
	}
}
