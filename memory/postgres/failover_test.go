package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// ownCluster is a server that the test may do with as it likes.
func ownCluster(t *testing.T) *pgcluster.Cluster {
	dsn(t) // skips without a server
	if !server.cluster.Owned() {
		t.Skip("the server is not ours to kill")
	}
	own, err := pgcluster.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	return own
}

// openAt opens the store of a server as a host does, with a pool that waits for the disk.
func openAt(t *testing.T, connection string) *DB {
	pool, err := pgxpool.New(t.Context(), connection)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db, err := Open(t.Context(), pool, Options{})
	require.NoError(t, err)
	return db
}

// settings changes those of a server.
func settings(t *testing.T, db *DB, name, value string) {
	_, err := db.pool.Exec(t.Context(), "ALTER SYSTEM SET "+name+" = '"+value+"'")
	require.NoError(t, err)
	_, err = db.pool.Exec(t.Context(), "SELECT pg_reload_conf()")
	require.NoError(t, err)
}

// until waits for what another process does.
func until(t *testing.T, db *DB, sql string) {
	require.Eventually(t, func() (holds bool) {
		return db.pool.QueryRow(t.Context(), sql).Scan(&holds) == nil && holds
	}, time.Minute, 5*time.Millisecond, sql)
}

// awaitNobody has commits wait for a standby that there is not. A server takes a setting up some time after it was
// told to.
func awaitNobody(t *testing.T, db *DB) {
	settings(t, db, "synchronous_standby_names", "nobody")
	tried := 0
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		tried++
		return errors.Is(db.Memory().Put(ctx, driver.Scope{Tenant: home.Tenant, Ref: "tried"}, entry(fmt.Sprint(tried))), ErrOutcomeUnknown)
	}, time.Minute, 5*time.Millisecond)
}

// A change that waits for a synchronous standby and is given up was made here, and will be
// gone after a failover: that is not known, and the store says so, though the server says that
// all is well.
func TestErrOutcomeUnknown_SynchronousStandby(t *testing.T) {
	own := ownCluster(t)
	db := openAt(t, own.DSN())
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("old")))
	awaitNobody(t, db)
	for name, change := range map[string]func(ctx context.Context) error{
		"Put":    func(ctx context.Context) error { return st.Put(ctx, home, entry("a")) },
		"Delete": func(ctx context.Context) error { _, err := st.Delete(ctx, home, "old", now); return err },
		"Apply that adds": func(ctx context.Context) error {
			_, err := st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry("b")}}})
			return err
		},
		"Apply with a condition": func(ctx context.Context) error {
			_, err := st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{lease("l", 0), lease("m", 0)}, Put: []driver.Placed{{Scope: home, Entry: entry("c")}}})
			return err
		},
		"Apply of machinery": func(ctx context.Context) error {
			_, err := st.Apply(ctx, home.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{lease("alone", 0)}})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- change(ctx) }()
		until(t, db, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`)
		cancel()
		err := <-result
		require.ErrorIs(t, err, ErrOutcomeUnknown, name)
		require.ErrorIs(t, err, context.Canceled, name)
	}
	settings(t, db, "synchronous_standby_names", "")
	require.Equal(t, []string{"c", "b", "a"}, list(t, st, home))
}

// A second try finds what the first one made on the primary alone. It is acknowledged when the standby has it.
func TestErrOutcomeUnknown_SecondTries(t *testing.T) {
	own := ownCluster(t)
	db := openAt(t, own.DSN())
	bank, err := memory.New(db.Memory(), memory.Config{})
	require.NoError(t, err)
	job, err := bank.Background(memory.JobConfig{ID: "job", Tenant: home.Tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	old, err := job.Put(t.Context(), home.Ref, memory.Draft{Content: "old", Subjects: []string{"customer"}})
	require.NoError(t, err)
	run, err := bank.Start(t.Context(), memory.RunConfig{ID: "run", Tenant: home.Tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	engine, err := commitment.New(bank, commitment.Config{Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil }})
	require.NoError(t, err)
	tomorrow := bank.Now().Add(24 * time.Hour)
	awaitNobody(t, db)
	calls := map[string]func(ctx context.Context) error{
		"Put": func(ctx context.Context) error {
			_, err := job.Put(ctx, home.Ref, memory.Draft{Content: "a", Key: "a"})
			return err
		},
		"Replace": func(ctx context.Context) error {
			_, err := run.Replace(ctx, home.Ref, old.ID, memory.Draft{Content: "b", Key: "b"})
			return err
		},
		"Arm": func(ctx context.Context) error {
			_, err := engine.Arm(ctx, job, commitment.Source{Ref: home.Ref}, commitment.Arm{At: tomorrow})
			return err
		},
		"Forget": func(ctx context.Context) error { _, err := bank.Forget(ctx, home.Tenant, "customer"); return err },
	}
	for _, name := range []string{"Put", "Replace", "Arm", "Forget"} {
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			require.ErrorIs(t, calls[name](ctx), ErrOutcomeUnknown, name)
			cancel()
		}
	}
	settings(t, db, "synchronous_standby_names", "")
	require.NoError(t, calls["Put"](t.Context()))
	require.NoError(t, calls["Forget"](t.Context()))
}

// A primary dies. What it acknowledged is on the synchronous standby, and its versions are
// what they were; what the asynchronous one had not got is lost there, and no version of the
// lost history is ever read, though its number is given out again.
func TestM7_Failover(t *testing.T) {
	ctx := t.Context()
	primary := ownCluster(t)
	db := openAt(t, primary.DSN())
	st := db.Memory()
	standby := func(name string) *pgcluster.Cluster {
		c, err := primary.Standby(ctx, name)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	behind, ahead := standby("behind"), standby("ahead")
	settings(t, db, "synchronous_standby_names", "ahead")
	until(t, db, `SELECT count(*) = 2 AND bool_or(sync_state = 'sync') FROM pg_stat_replication`)
	version := func(db *DB) driver.Version {
		v, err := db.Memory().Version(ctx, home.Tenant)
		require.NoError(t, err)
		return v
	}
	require.NoError(t, st.Put(ctx, home, entry("both")))
	shared := version(db)
	until(t, db, `SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication`)
	require.NoError(t, behind.Kill())
	for i := range 20 {
		require.NoError(t, st.Put(ctx, home, entry(fmt.Sprintf("%02d", i))))
	}
	last := version(db)
	want := list(t, st, home)
	require.NoError(t, primary.Kill())

	require.NoError(t, ahead.Promote(ctx))
	first := openAt(t, ahead.DSN())
	require.Equal(t, want, list(t, first.Memory(), home))
	seen, err := first.Memory().List(ctx, home, driver.Query{Version: last, At: now})
	require.NoError(t, err)
	require.Equal(t, want, idsOf(seen))
	require.Equal(t, last, version(first))

	require.NoError(t, behind.Restart(ctx))
	require.NoError(t, behind.Promote(ctx))
	refusesTheLost(t, openAt(t, behind.DSN()), shared, last)
}

// refusesTheLost has a store that goes on from the version shared refuse one that it has
// lost, before and after it has given out the same number.
func refusesTheLost(t *testing.T, db *DB, shared, lost driver.Version) {
	st, ctx := db.Memory(), t.Context()
	was, err := st.List(ctx, home, driver.Query{Version: shared, At: now})
	require.NoError(t, err)
	of, _, err := lost.Parse()
	require.NoError(t, err)
	for written := false; ; written = true {
		_, err = st.List(ctx, home, driver.Query{Version: lost, At: now})
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		_, err = st.List(ctx, home, driver.Query{Version: lost, IDs: []string{"both"}, At: now})
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		_, err = st.Changes(ctx, home, shared, lost)
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		_, err = st.Purge(ctx, home.Tenant, lost, now)
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		if written {
			break
		}
		for n := uint64(0); n < of; {
			require.NoError(t, st.Put(ctx, home, entry(fmt.Sprint("new", n))))
			v, err := st.Version(ctx, home.Tenant)
			require.NoError(t, err)
			n, _, err = v.Parse()
			require.NoError(t, err)
		}
	}
	seen, err := st.List(ctx, home, driver.Query{Version: shared, At: now})
	require.NoError(t, err)
	require.Equal(t, idsOf(was), idsOf(seen))
}

// The procedures of README.md for backups: what was forgotten after one was taken stays
// forgotten when it is restored, and no version of the lost history is read.
func TestM10_BackupAndRestore(t *testing.T) {
	ctx := t.Context()
	own := ownCluster(t)
	db := openAt(t, own.DSN())
	st := db.Memory()
	bank, err := memory.New(st, memory.Config{})
	require.NoError(t, err)
	for i := range 4 {
		e := entry(fmt.Sprint("e", i))
		e.Subjects = []string{fmt.Sprint("customer:", i%2)}
		require.NoError(t, st.Put(ctx, home, e))
	}
	shared, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)

	program := func(name string, args ...string) []byte {
		cmd := exec.CommandContext(ctx, own.Program(name), args...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err, name)
		return out
	}
	dump := program("pg_dump", "--dbname", own.DSN(), "--schema", "agentmemory")
	base, err := own.Backup(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, base.Close()) })

	_, err = bank.Forget(ctx, home.Tenant, "customer:1")
	require.NoError(t, err)
	lost, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	var ledger []memory.Erasure // which a host keeps apart
	for x, err := range bank.Erasures(ctx, home.Tenant) {
		require.NoError(t, err)
		ledger = append(ledger, x)
	}
	require.NotEmpty(t, ledger)

	_, err = db.pool.Exec(ctx, `CREATE DATABASE restored TEMPLATE template0 ENCODING 'UTF8'`)
	require.NoError(t, err)
	restore := exec.CommandContext(ctx, own.Program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", with(own.DSN(), "dbname", "restored"))
	restore.Stdin = strings.NewReader(string(dump))
	out, err := restore.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, base.Restart(ctx))

	for name, connection := range map[string]string{"dump": with(own.DSN(), "dbname", "restored"), "base backup": base.DSN()} {
		t.Run(name, func(t *testing.T) {
			db := openAt(t, connection)
			require.Len(t, list(t, db.Memory(), home), 4, "as they were")
			bank, err := memory.New(db.Memory(), memory.Config{})
			require.NoError(t, err)
			done, err := bank.EraseAgain(ctx, home.Tenant, ledger, nil)
			require.NoError(t, err)
			require.Len(t, done.Erased, 2)
			require.Equal(t, []string{"e2", "e0"}, list(t, db.Memory(), home))
			refusesTheLost(t, db, shared, lost)
			intact, err := db.Memory().Intact(ctx, home, shared)
			require.NoError(t, err)
			require.False(t, intact)
		})
	}
}
