package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	driversqlite "modernc.org/sqlite"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// What is no database is called so, however short it is, and stays as it is.
func TestOpen_NoDatabase(t *testing.T) {
	for _, text := range []string{"\n", "ab", "this is no database, however long it may be: it is text and stays text", string(make([]byte, 8192))} {
		path := filepath.Join(t.TempDir(), "text")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		require.ErrorIs(t, err, sqlite.ErrForeignFile, "%d bytes", len(text))
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(after))
	}
}

// A file with two names would have two logs. One symbolic link more is no other name.
func TestOpen_Links(t *testing.T) {
	db, path := fresh(t)
	linked := filepath.Join(t.TempDir(), "linked.db")
	require.NoError(t, os.Symlink(path, linked))
	require.NoError(t, db.Memory().Put(t.Context(), home, entry("a", "x")))
	through := open(t, linked)
	require.NoError(t, through.Memory().Put(t.Context(), home, entry("b", "x")))
	entries, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.NoError(t, through.Close())
	require.NoError(t, db.Close())

	second := filepath.Join(filepath.Dir(path), "second.db")
	require.NoError(t, os.Link(path, second))
	for _, name := range []string{path, second, linked} {
		_, err := sqlite.Open(t.Context(), name, sqlite.Options{})
		require.ErrorIs(t, err, sqlite.ErrLinkedFile)
	}
	require.NoError(t, os.Remove(second))
	open(t, path)
}

// A symbolic link that leads nowhere makes no file, which nobody would have protected.
func TestOpen_DanglingLink(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(dir, "target.db"), filepath.Join(dir, "link.db")))
	_, err := sqlite.Open(t.Context(), filepath.Join(dir, "link.db"), sqlite.Options{})
	require.ErrorIs(t, err, driver.ErrInternal)
	require.NoFileExists(t, filepath.Join(dir, "target.db"))
}

// envDie makes the test binary put entries into a file and die with its log beside it.
const envDie = "AGENTMEMORY_SQLITE_DIE"

// dieWithLog puts entries and ends, as if killed.
func dieWithLog(t *testing.T, path, ids string) {
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), envDie+"="+path, envKill+"="+ids)
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	require.FileExists(t, path+"-wal")
}

func copied(t *testing.T, from, to string) {
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

// A backup that is copied over the file, however it was made, is refused while the log of
// the file that was there is beside it; a log of its own is taken.
func TestM8_ForeignLog(t *testing.T) {
	for name, backup := range map[string]func(t *testing.T, path, to string){
		"of VACUUM INTO": func(t *testing.T, path, to string) {
			_, err := raw(t, path).Exec(`VACUUM INTO ?`, to)
			require.NoError(t, err)
		},
		"a copy": func(t *testing.T, path, to string) { // nobody has it open, and it has no log
			require.NoError(t, open(t, path).Close())
			require.NoFileExists(t, path+"-wal")
			copied(t, path, to)
		},
		"a copy of an older schema": func(t *testing.T, _, to string) {
			_, path := unpacked(t)
			copied(t, path, to)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			kept := path + ".kept"
			dieWithLog(t, path, "a")
			backup(t, path, kept)
			between := open(t, path) // and a log that went
			require.NoError(t, between.Memory().Put(t.Context(), home, entry("between", "x")))
			require.NoError(t, between.Close())
			dieWithLog(t, path, "b")
			ours, log := path+".ours", path+".log"
			copied(t, path, ours)
			copied(t, path+"-wal", log)

			copied(t, kept, path)
			for range 2 { // it does not go by itself
				_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				require.ErrorIs(t, err, sqlite.ErrForeignLog)
				for _, pair := range [][2]string{{kept, path}, {log, path + "-wal"}} {
					want, err := os.ReadFile(pair[0])
					require.NoError(t, err)
					got, err := os.ReadFile(pair[1])
					require.NoError(t, err)
					require.Equal(t, want, got, "left as it was")
				}
			}

			copied(t, ours, path) // what belongs together is opened
			os.Remove(path + "-shm")
			entries, err := open(t, path).Memory().List(t.Context(), home, driver.Query{At: now})
			require.NoError(t, err)
			require.Len(t, entries, 2*putsOfDead+1)
		})
	}
}

// A log is taken after every number of commits, whatever of it was moved into the file.
func TestM8_OwnLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	for i := range 12 {
		dieWithLog(t, path, fmt.Sprint(i, "-"))
		if i%3 == 2 {
			_, err := raw(t, path).Exec(`PRAGMA wal_checkpoint(PASSIVE)`)
			require.NoError(t, err)
		}
		if i == 6 {
			_, err := raw(t, path).Exec(`VACUUM`)
			require.NoError(t, err)
		}
	}
	entries, err := open(t, path).Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, 12*putsOfDead)
}

// A backup of the time in which the log was begun is refused too, unless its pages are those
// of the file: then the log brings it up to its own end.
func TestM8_LogOfTheSameTime(t *testing.T) {
	db, path := fresh(t)
	put := func(from, to int) {
		for i := from; i < to; i++ {
			require.NoError(t, db.Memory().Put(t.Context(), home, entry(fmt.Sprint(i), "x")))
		}
	}
	put(0, 20)
	vacuumed, paged := path+".vacuumed", path+".paged"
	tool := raw(t, path)
	_, err := tool.Exec(`VACUUM INTO ?`, vacuumed)
	require.NoError(t, err)
	conn, err := tool.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Raw(func(c any) error {
		b, err := c.(interface {
			NewBackup(string) (*driversqlite.Backup, error)
		}).NewBackup(paged)
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	}))
	require.NoError(t, conn.Close())
	put(20, 40)

	killed := filepath.Join(t.TempDir(), "memory.db") // as a crash leaves it
	copied(t, path+"-wal", killed+"-wal")
	copied(t, vacuumed, killed)
	_, err = sqlite.Open(t.Context(), killed, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrForeignLog)

	copied(t, paged, killed)
	entries, err := open(t, killed).Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, 40)
	var verdict string
	require.NoError(t, raw(t, killed).QueryRow(`PRAGMA integrity_check`).Scan(&verdict))
	require.Equal(t, "ok", verdict)
}
