package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// Of many who open an empty file at once, one makes the schema, and all get it.
func TestMigrations_OpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if err := db.Memory().Put(t.Context(), home, entry(string(rune('a'+i)), "x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	entries, err := open(t, path).Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, 8)
}

func TestOpen_Refuses(t *testing.T) {
	with := func(script string) string {
		path := filepath.Join(t.TempDir(), "memory.db")
		if script != "" {
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			require.NoError(t, err)
			require.NoError(t, db.Close())
			_, err = raw(t, path).Exec(script)
			require.NoError(t, err)
		}
		return path
	}
	refused := func(path string, want error) {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		require.ErrorIs(t, err, want)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	refused(with(`PRAGMA user_version = 99`), sqlite.ErrNewerSchema)
	refused(with(`PRAGMA application_id = 7`), sqlite.ErrForeignFile)
	refused(with(`PRAGMA user_version = -1`), sqlite.ErrForeignFile)

	for _, mode := range []string{"WAL", "DELETE"} {
		foreign := filepath.Join(t.TempDir(), "foreign.db")
		theirs := raw(t, foreign)
		_, err := theirs.Exec(`PRAGMA journal_mode = ` + mode + `; CREATE TABLE theirs (x)`)
		require.NoError(t, err)
		require.NoError(t, theirs.Close())
		refused(foreign, sqlite.ErrForeignFile)
	}

	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "no", "such", "directory.db"), sqlite.Options{})
	require.ErrorIs(t, err, driver.ErrInternal)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sqlite.Open(done, with(""), sqlite.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// What names no file is refused with what to write instead, and nothing is made of it.
func TestOpen_NoPath(t *testing.T) {
	t.Chdir(t.TempDir())
	backup, path := fresh(t)
	require.NoError(t, backup.Close())
	for name, instead := range map[string]string{
		"": "memory.db", ":memory:": "memory/inmem", "file::memory:?cache=shared": "the path alone", "file:memory.db": "the path alone",
		"FILE:///tmp/memory.db": "the path alone", "sqlite://memory.db": "the path alone", "sqlite3:memory.db": "the path alone",
		"postgres://localhost/memory": "the path alone", ".": "a file in it", t.TempDir(): "a file in it", os.DevNull: "that of a file",
	} {
		_, err := sqlite.Open(t.Context(), name, sqlite.Options{})
		for _, err := range []error{err, sqlite.Restore(t.Context(), path, name)} {
			require.ErrorIs(t, err, driver.ErrValidation, name)
			require.ErrorContains(t, err, instead, name)
		}
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
	for _, name := range []string{"./:memory:", "memory.db"} {
		db, err := sqlite.Open(t.Context(), name, sqlite.Options{})
		require.NoError(t, err, name)
		require.NoError(t, db.Close())
		require.FileExists(t, name)
	}
}

// A path is a path, also if it reads as a URI.
func TestOpen_AnyPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "what?mode=ro&x=%41.db", "#1.db", "%2e.db", "日本.db", ":memory:"} {
		db, err := sqlite.Open(t.Context(), filepath.Join(dir, name), sqlite.Options{})
		require.NoError(t, err, name)
		require.NoError(t, db.Memory().Put(t.Context(), home, entry("a", "x")))
		require.NoError(t, db.Close())
		require.FileExists(t, filepath.Join(dir, name))
	}
}

// A file that was restored from a backup has the versions of before it, and refuses those
// that were given out since, also after other writes.
func TestM7_Restored(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	version := func(st *sqlite.Store) driver.Version {
		v, err := st.Version(t.Context(), home.Tenant)
		require.NoError(t, err)
		return v
	}
	first := version(st)
	require.NoError(t, st.Put(t.Context(), home, entry("a", "x")))
	kept := version(st)
	backup := filepath.Join(t.TempDir(), "backup.db")
	_, err := raw(t, path).Exec(`VACUUM INTO ?`, backup)
	require.NoError(t, err)
	require.NoError(t, st.Put(t.Context(), home, entry("b", "x")))
	lost := version(st)

	restored := open(t, backup).Memory()
	_, err = restored.List(t.Context(), home, driver.Query{At: now, Version: lost})
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	require.NoError(t, restored.Put(t.Context(), home, entry("c", "x")))
	_, err = restored.List(t.Context(), home, driver.Query{At: now, Version: lost})
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	_, err = st.List(t.Context(), home, driver.Query{At: now, Version: version(restored)})
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	for v, want := range map[driver.Version]int{first: 0, kept: 1} {
		entries, err := restored.List(t.Context(), home, driver.Query{At: now, Version: v})
		require.NoError(t, err)
		require.Len(t, entries, want)
	}
	other, _ := fresh(t)
	_, err = other.Memory().List(t.Context(), home, driver.Query{At: now, Version: first})
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable, "the first version of another database")
}

func TestClosed(t *testing.T) {
	db, _ := fresh(t)
	require.NoError(t, db.Close())
	require.NoError(t, db.Close())
	require.ErrorIs(t, db.Memory().Put(t.Context(), home, entry("a", "x")), driver.ErrInternal)
	_, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
	require.ErrorIs(t, err, driver.ErrInternal)
}

// What it makes is for its owner only.
func TestOpen_Mode(t *testing.T) {
	db, path := fresh(t)
	require.NoError(t, db.Memory().Put(t.Context(), home, entry("a", "x")))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}
