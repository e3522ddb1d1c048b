package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

// The procedure of the README: what was forgotten after the backup was made is forgotten
// when it was restored, and tokens of the lost time are refused.
func TestM10_BackupAndRestore(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "memory.db")
	backup := filepath.Join(t.TempDir(), "backup.db")
	ledgerFile := filepath.Join(t.TempDir(), "ledger.json")
	bankOf := func(db *sqlite.DB) *memory.Bank {
		bank, err := memory.New(db.Memory(), memory.Config{Now: func() time.Time { return now }})
		require.NoError(t, err)
		return bank
	}
	tell := func(bank *memory.Bank, run, text, subject string) memory.Token {
		r, err := bank.Start(ctx, memory.RunConfig{ID: run, Tenant: home.Tenant, Redactor: redact.New(redact.Config{})})
		require.NoError(t, err)
		_, err = r.Put(ctx, home.Ref, memory.Draft{Content: text, Subjects: []string{subject}})
		require.NoError(t, err)
		token, err := r.Token(ctx)
		require.NoError(t, err)
		require.NoError(t, r.End(ctx))
		return token
	}

	db := open(t, path)
	bank := bankOf(db)
	tell(bank, "run-1", "the-forgotten-sentence", "customer:7")
	tell(bank, "run-2", "the-kept-sentence", "customer:8")

	// Backup, at any time.
	tool := raw(t, path)
	_, err := tool.Exec(`VACUUM INTO ?`, backup)
	require.NoError(t, err)
	require.NoError(t, tool.Close())

	// After each Forget, the ledger goes to a place of its own.
	_, err = bank.Forget(ctx, home.Tenant, "customer:7")
	require.NoError(t, err)
	var ledger []memory.Erasure
	for step, err := range bank.Erasures(ctx, home.Tenant) {
		require.NoError(t, err)
		ledger = append(ledger, step)
	}
	text, err := json.Marshal(ledger)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ledgerFile, text, 0o600))
	lost := tell(bank, "run-3", "the-lost-sentence", "customer:9")

	// Restore, once every host has stopped.
	require.ErrorIs(t, sqlite.Restore(ctx, backup, path), driver.ErrInternal, "it is in use")
	require.NoError(t, db.Close())
	dieWithLog(t, path, "killed") // its log is of the lost time
	require.NoError(t, sqlite.Restore(ctx, backup, path))
	require.NoFileExists(t, path+"-wal")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Positive(t, onDisk(t, path, "the-forgotten-sentence"))

	db = open(t, path)
	bank = bankOf(db)
	ledger = nil
	text, err = os.ReadFile(ledgerFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &ledger))
	done, err := bank.EraseAgain(ctx, home.Tenant, ledger, nil)
	require.NoError(t, err)
	require.Len(t, done.Erased, 1)
	require.Zero(t, onDisk(t, path, "the-forgotten-sentence"))
	require.Zero(t, onDisk(t, path, "the-lost-sentence"))
	require.Positive(t, onDisk(t, path, "the-kept-sentence"))

	for i := range 4 { // the new history has the numbers of the lost one, and more
		past, err := bank.AsOf(ctx, home.Tenant, lost)
		if err == nil {
			_, err = past.List(ctx, home.Ref, memory.ListOptions{})
		}
		require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
		tell(bank, fmt.Sprint("run-", 4+i), "new", "customer:10")
	}
	require.NoError(t, db.Close())
	require.NoError(t, sqlite.Restore(ctx, backup, path), "again")
}

// What cannot be restored leaves the database as it is.
func TestRestore_Refuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	dieWithLog(t, path, "a")
	files := func() (all [2]string) {
		for i, name := range []string{path, path + "-wal"} {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			all[i] = string(data)
		}
		return all
	}
	before := files()
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("this is no database, however long it may be"), 0o600))
	require.ErrorIs(t, sqlite.Restore(t.Context(), filepath.Join(t.TempDir(), "none"), path), driver.ErrInternal)
	require.Equal(t, before, files())
	require.ErrorIs(t, sqlite.Restore(t.Context(), path, path), driver.ErrInternal)
	for _, noFile := range []string{"", "file:backup.db", t.TempDir(), os.DevNull} {
		require.ErrorIs(t, sqlite.Restore(t.Context(), noFile, path), driver.ErrValidation, noFile)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sqlite.Restore(done, text, path), context.Canceled)
	require.Equal(t, before, files())
	require.ErrorIs(t, sqlite.Restore(t.Context(), text, path), sqlite.ErrForeignFile)
	require.Equal(t, before, files())

	damaged := filepath.Join(t.TempDir(), "damaged.db")
	db, source := fresh(t)
	for _, id := range []string{"a", "b", "c"} {
		require.NoError(t, db.Memory().Put(t.Context(), home, entry(id, "x")))
	}
	require.NoError(t, db.Close())
	spoiler := raw(t, source)
	_, err := spoiler.Exec(`PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'entries_live'`)
	require.NoError(t, err)
	require.NoError(t, spoiler.Close())
	copied(t, source, damaged)
	require.ErrorIs(t, sqlite.Restore(t.Context(), damaged, path), driver.ErrInternal)
	newer := filepath.Join(t.TempDir(), "newer.db")
	_, err = raw(t, newer).Exec(`PRAGMA application_id = 1097289061; PRAGMA user_version = 99`)
	require.NoError(t, err)
	require.ErrorIs(t, sqlite.Restore(t.Context(), newer, path), sqlite.ErrNewerSchema)

	other := raw(t, path)
	var n int
	require.NoError(t, other.QueryRow(`SELECT count(*) FROM entries`).Scan(&n))
	require.ErrorIs(t, sqlite.Restore(t.Context(), source, path), driver.ErrInternal, "another process has it open")
	require.NoError(t, other.Close())
	entries, err := open(t, path).Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, putsOfDead)
}

// envRestore makes the test binary restore the backup beside a file.
const envRestore = "AGENTMEMORY_SQLITE_RESTORE"

func init() {
	children[envRestore] = func(ctx context.Context, path string) error { return sqlite.Restore(ctx, path+".backup", path) }
}

// A Restore that is killed at any moment leaves the old database, with all of its log, or the new
// one.
func TestRestore_Killed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(5, 5))
	db, source := fresh(t)
	require.NoError(t, db.Memory().Put(t.Context(), home, entry("backup", "x")))
	require.NoError(t, db.Close())
	old := 0
	for range long(12, 200) {
		path := filepath.Join(t.TempDir(), "memory.db")
		copied(t, source, path+".backup")
		dieWithLog(t, path, "a")
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), envRestore+"="+path)
		require.NoError(t, c.Start())
		for range rng.IntN(40_000) {
			if _, err := os.Stat(path + "-wal"); err != nil {
				break // the log has gone, and the backup comes
			}
		}
		require.NoError(t, c.Process.Kill())
		c.Wait()
		db := open(t, path)
		entries, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
		require.NoError(t, err)
		if len(entries) == putsOfDead {
			old++
		} else {
			require.Equal(t, []string{"backup"}, idsOf(entries))
		}
		require.NoError(t, db.Close())
		sound(t, path)
	}
	t.Logf("%d kills left the old database", old)
}

// What a killed process left beside the file or beside the copy is not added to the backup: neither
// a log, nor the journal of the moment in which the log is turned on or off.
func TestRestore_LeftBeside(t *testing.T) {
	db, other := fresh(t)
	require.NoError(t, db.Memory().Put(t.Context(), home, entry("other", "x")))
	require.NoError(t, db.Close())
	tool, err := raw(t, other).Conn(t.Context())
	require.NoError(t, err)
	defer tool.Close()
	_, err = tool.ExecContext(t.Context(), `PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; BEGIN IMMEDIATE; UPDATE meta SET value = value; PRAGMA user_version = 1`)
	require.NoError(t, err)
	db, backup := fresh(t)
	const entries = 60
	for i := range entries {
		require.NoError(t, db.Memory().Put(t.Context(), home, entry(fmt.Sprint(i), strings.Repeat("x", 3000))))
	}
	require.NoError(t, db.Close())
	for _, beside := range []string{"-journal", "-restore-journal", "-restore-wal", "-restore-shm"} {
		path := filepath.Join(t.TempDir(), "memory.db")
		copied(t, other+"-journal", path+beside)
		require.NoError(t, sqlite.Restore(t.Context(), backup, path), beside)
		db := open(t, path)
		found, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
		require.NoError(t, err)
		require.Len(t, found, entries, beside)
		require.NoError(t, db.Close())
		sound(t, path)
		left, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, left, 1, beside)
	}
}

// A database that Restore may not open is not known to be closed: it stays, with its log.
func TestRestore_NotAllowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	dieWithLog(t, path, "a")
	db, backup := fresh(t)
	require.NoError(t, db.Close())
	require.NoError(t, os.Rename(path+"-wal", path+".log"))
	require.NoError(t, os.Mkdir(path+"-wal", 0o700)) // which no user may open as a log
	_, refused := sqlite.Open(t.Context(), path, sqlite.Options{})
	for _, err := range []error{refused, sqlite.Restore(t.Context(), backup, path)} {
		require.ErrorIs(t, err, driver.ErrInternal)
		require.ErrorContains(t, err, "make all of them writable")
	}
	require.NoError(t, os.Remove(path+"-wal"))
	require.NoError(t, os.Rename(path+".log", path+"-wal"))
	entries, err := open(t, path).Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, putsOfDead)
}
