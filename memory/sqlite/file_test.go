package sqlite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// A symbolic link that leads nowhere makes no file, which would not be protected.
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

// A log is taken after every number of commits, with any part of it moved into the file.
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

// SQLite adds a log to any file that is beside it. A backup that is copied over the file while the
// old log is there is therefore not what was backed up: SQLite finds it damaged, and the store says
// what to do; or the log has everything since the backup, and brings the file to its own end.
// Restore puts it right, and so does the copy once the log is gone.
func TestM8_StaleLog(t *testing.T) {
	vacuumed := func(t *testing.T, path, to string) {
		_, err := raw(t, path).Exec(`VACUUM INTO ?`, to)
		require.NoError(t, err)
	}
	restart := func(t *testing.T, path string) { // all of the log is in the file, and it begins anew
		_, err := raw(t, path).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
		require.NoError(t, err)
	}
	copiedOnly := func(t *testing.T, path, to string) {
		restart(t, path)
		copied(t, path, to)
	}
	for name, c := range map[string]struct {
		backup  func(t *testing.T, path, to string)
		between func(t *testing.T, path string)
		whole   bool
	}{
		"of VACUUM INTO":              {vacuumed, nil, false},
		"of VACUUM INTO, a newer log": {vacuumed, restart, false},
		"a copy, a newer log":         {copiedOnly, restart, false},
		"a copy, the log since then":  {copiedOnly, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			const batch = 50
			db, source := fresh(t)
			put := func(from int) {
				var m driver.Mutation
				for i := from; i < from+batch; i++ {
					m.Put = append(m.Put, driver.Placed{Scope: home, Entry: entry(fmt.Sprintf("%03d", i), strings.Repeat("x", 1000))})
				}
				_, err := db.Memory().Apply(t.Context(), home.Tenant, m)
				require.NoError(t, err)
			}
			put(0)
			backup := filepath.Join(t.TempDir(), "backup.db")
			c.backup(t, source, backup)
			put(batch)
			if c.between != nil {
				c.between(t, source)
			}
			put(2 * batch)
			path := filepath.Join(t.TempDir(), "memory.db")
			spoil := func() {
				copied(t, source+"-wal", path+"-wal") // as a crash leaves it
				copied(t, backup, path)
			}
			listed := func() (int, error) {
				db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				if err != nil {
					return 0, err
				}
				entries, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
				db.Close()
				return len(entries), err
			}
			spoil()
			var verdict string
			check := raw(t, path)
			if err := check.QueryRow(`PRAGMA integrity_check(1)`).Scan(&verdict); err != nil {
				verdict = err.Error()
			}
			require.NoError(t, check.Close())
			require.Equal(t, c.whole, verdict == "ok")
			n, err := listed()
			if c.whole {
				require.NoError(t, err)
				require.Equal(t, 3*batch, n)
			} else {
				require.ErrorIs(t, err, driver.ErrInternal)
				require.ErrorContains(t, err, "restore a backup by Restore")
			}

			for _, way := range []func() error{
				func() error { return sqlite.Restore(t.Context(), backup, path) },
				func() error {
					err := os.Remove(path + "-wal")
					copied(t, backup, path)
					return err
				},
			} {
				spoil()
				require.NoError(t, way())
				n, err := listed()
				require.NoError(t, err)
				require.Equal(t, batch, n)
				sound(t, path)
			}
		})
	}
}
