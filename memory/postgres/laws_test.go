package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

var (
	now  = time.UnixMilli(1_760_000_000_000).UTC()
	home = memory.Scope{Tenant: "acme", Ref: "support"}
)

func entry(id string) memory.Entry {
	return memory.Entry{ID: id, Content: "content of " + id, CreatedAt: now, RunID: "run-1"}
}

func list(t *testing.T, st *Store, s memory.Scope) (ids []string) {
	entries, err := st.List(t.Context(), s, memory.Query{At: now})
	require.NoError(t, err)
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// A view does not move while another transaction is open, nor when it commits.
func TestM7_TransactionHeldOpen(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	require.NoError(t, st.Put(ctx, home, entry("a")))
	require.NoError(t, st.Put(ctx, home, entry("b")))
	v, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	see := func() {
		got, err := st.ListAt(ctx, home, v, memory.Query{At: now})
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, "b", got[0].ID)
	}

	// A mutation that has written everything and has not committed.
	conn, err := db.pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	w := &writes{db: db, tenant: home.Tenant, held: map[place]*heldEntry{}, m: &memory.Mutation{
		Put:    []memory.Placed{{Scope: home, Entry: entry("c")}},
		Retire: []memory.Retirement{{Located: memory.Located{Scope: home, ID: "b"}, State: memory.Superseded, For: "c"}},
	}}
	b := new(pgx.Batch)
	b.Queue("BEGIN")
	w.bump(b)
	w.queueAll(b)
	require.NoError(t, conn.SendBatch(ctx, b).Close())
	see()
	same, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	require.Equal(t, v, same)

	// Another tenant does not wait for it; a writer of the same one does, and its wait
	// ends with its context, without a trace.
	require.NoError(t, st.Put(ctx, memory.Scope{Tenant: "globex", Ref: "support"}, entry("x")))
	brief, cancel := context.WithCancel(ctx)
	waits := make(chan error)
	go func() { waits <- st.Put(brief, home, entry("d")) }()
	require.Eventually(t, func() bool {
		var n int
		const blocked = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
		require.NoError(t, db.pool.QueryRow(ctx, blocked).Scan(&n))
		return n > 0
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-waits, context.Canceled)

	_, err = conn.Exec(ctx, "COMMIT")
	require.NoError(t, err)
	see()
	require.Equal(t, []string{"c", "a"}, list(t, st, home))
}

// A token from before a restore is refused, also by a process that was running.
func TestM7_NewIncarnation(t *testing.T) {
	db := openDB(t, Options{})
	ctx := t.Context()
	require.NoError(t, db.Memory().Put(ctx, home, entry("a")))
	v, err := db.Memory().Version(ctx, home.Tenant)
	require.NoError(t, err)
	running, err := Open(ctx, db.pool, Options{})
	require.NoError(t, err)
	require.NoError(t, db.NewIncarnation(ctx))
	_, err = running.Memory().ListAt(ctx, home, v, memory.Query{At: now})
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	require.Equal(t, []string{"a"}, list(t, running.Memory(), home))
}

// Any number of processes may open an empty database at once, and none opens a newer
// one.
func TestOpen_Migrations(t *testing.T) {
	ctx := t.Context()
	var connection string
	for range 5 {
		connection = emptyDatabase(t, ctx)
		var group sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			group.Go(func() {
				pool := connect(t, connection)
				defer pool.Close()
				_, errs[i] = Open(ctx, pool, Options{})
			})
		}
		group.Wait()
		for _, err := range errs {
			require.NoError(t, err, "%v", errors.Unwrap(err))
		}
	}
	pool := connect(t, connection)
	defer pool.Close()
	_, err := pool.Exec(ctx, `UPDATE agentmemory.meta SET schema = schema + 1`)
	require.NoError(t, err)
	_, err = Open(ctx, pool, Options{})
	require.ErrorIs(t, err, ErrNewerSchema)
	_, err = Open(ctx, pool, Options{RowSecurity: true})
	require.ErrorIs(t, err, ErrNewerSchema)
}

// hostRole is neither a superuser nor, but for the tables it makes, anybody special.
const hostRole = "agentmemory_test_host"

// secureDatabase makes an empty database in which hostRole may make the tables.
func secureDatabase(t *testing.T) (connection string) {
	ctx := t.Context()
	connection = emptyDatabase(t, ctx)
	admin := connect(t, connection)
	defer admin.Close()
	_, err := admin.Exec(ctx, `
		DO $$ BEGIN CREATE ROLE `+hostRole+` NOSUPERUSER; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$;
		CREATE SCHEMA agentmemory AUTHORIZATION `+hostRole+`;
		DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO `+hostRole+`', current_database()); END $$`)
	require.NoError(t, err)
	return connection
}

// securePool connects to such a database as that role.
func securePool(t *testing.T) *pgxpool.Pool {
	return connect(t, secureDatabase(t), func(cfg *pgxpool.Config) { cfg.ConnConfig.RuntimeParams["role"] = hostRole })
}

// The second wall holds when the first is gone: statements without a tenant find
// nothing of another, not even for the owner of the tables.
func TestCTI1_RowSecurity(t *testing.T) {
	ctx := t.Context()
	pool := securePool(t)
	defer pool.Close()
	db, err := Open(ctx, pool, Options{RowSecurity: true})
	require.NoError(t, err)
	for _, tenant := range []string{"acme", "globex"} {
		s := memory.Scope{Tenant: tenant, Ref: "support"}
		e := entry("of " + tenant)
		e.Subjects = []string{"customer:1"}
		_, err := db.Memory().Apply(ctx, tenant, memory.Mutation{
			At: now, Put: []memory.Placed{{Scope: s, Entry: e}},
			Cells: []memory.CellSwap{{Scope: s, Name: "c", New: []byte("x")}},
		})
		require.NoError(t, err)
	}
	count := func(setting, table string) (n int) {
		err := db.send(ctx, pool, setting, func(b *pgx.Batch) {
			b.Queue("SELECT count(*) FROM agentmemory." + table).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		})
		require.NoError(t, err)
		return n
	}
	for _, table := range []string{"entries", "subjects", "cells", "tenants"} {
		require.Equal(t, 1, count(tenantSetting("acme"), table), table)
		require.Zero(t, count(tenantSetting("initech"), table), table)
		require.Zero(t, count(everyTenant, table), table)
	}
	_, err = pool.Exec(ctx, `UPDATE agentmemory.entries SET content = 'overwritten'`)
	if err == nil { // a session that has had the setting sees an empty one
		require.Equal(t, "content of of acme", mustGet(t, db, "acme").Content)
	}
	require.Equal(t, "content of of globex", mustGet(t, db, "globex").Content)

	// A role that may read the tables and owns none of them sees no more, and puts
	// nothing with another tenant.
	guest := guestPool(t, pool)
	defer guest.Close()
	for _, table := range []string{"entries", "subjects", "cells", "tenants"} {
		tag, err := guest.Exec(ctx, "SELECT * FROM agentmemory."+table) // no tenant is named
		require.True(t, err != nil || tag.RowsAffected() == 0, table)
		var n int
		err = db.send(ctx, guest, tenantSetting("acme"), func(b *pgx.Batch) {
			b.Queue("SELECT count(*) FROM agentmemory." + table).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		})
		require.NoError(t, err)
		require.Equal(t, 1, n, table)
	}
	err = db.send(ctx, guest, tenantSetting("acme"), func(b *pgx.Batch) {
		b.Queue("INSERT INTO agentmemory.tenants (tenant, version) VALUES ('initech', 1)")
	})
	require.Equal(t, "42501", codeOf(err))

	// A process that does not ask for it gets it.
	again, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	require.Equal(t, "content of of acme", mustGet(t, again, "acme").Content)
}

// guestRole owns no table and may use all.
const guestRole = "agentmemory_test_guest"

// guestPool connects as that role.
func guestPool(t *testing.T, owner *pgxpool.Pool) *pgxpool.Pool {
	admin := connect(t, owner.Config().ConnString())
	defer admin.Close()
	_, err := admin.Exec(t.Context(), `
		DO $$ BEGIN CREATE ROLE `+guestRole+` NOSUPERUSER; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$;
		GRANT USAGE ON SCHEMA agentmemory TO `+guestRole+`;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA agentmemory TO `+guestRole)
	require.NoError(t, err)
	return connect(t, owner.Config().ConnString(), func(cfg *pgxpool.Config) {
		cfg.ConnConfig.RuntimeParams["role"] = guestRole
	})
}

func mustGet(t *testing.T, db *DB, tenant string) memory.Entry {
	e, err := db.Memory().Get(t.Context(), memory.Scope{Tenant: tenant, Ref: "support"}, "of "+tenant, now)
	require.NoError(t, err)
	return e
}

// secureLoans lets a kit run under row security.
func secureLoans(t *testing.T) *lender {
	return &lender{t: t, opts: Options{RowSecurity: true, StatementTimeout: time.Minute}, make: func() *pgxpool.Pool { return securePool(t) }}
}

// The same statements as in TestStore, under policies.
func TestStore_RowSecurity(t *testing.T) {
	if os.Getenv("AGENTMEMORY_LONG") != "1" {
		t.Skip("takes a minute: set AGENTMEMORY_LONG=1")
	}
	report, err := adaptertest.Check(t.Context(), kitConfig(secureLoans(t)))
	require.NoError(t, err)
	require.True(t, report.OK(), strings.Join(report.Failures(), "\n"))
}

func TestCommitments_RowSecurity(t *testing.T) {
	adaptertest.RunCommitmentStore(t, commitmentConfig(secureLoans(t)))
}

// Relays of two processes share the runs, and neither gets an event of a run of which
// the other has one.
func TestE3_RelaysShareRuns(t *testing.T) {
	one := openDB(t, Options{})
	ctx := t.Context()
	other, err := Open(ctx, one.pool, Options{})
	require.NoError(t, err)
	queue := func(run, id string) {
		rec := events.Record{ID: id, Tenant: "acme", RunID: run, Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
		_, err := one.Memory().Apply(ctx, "acme", memory.Mutation{At: now, Events: []events.Record{rec}})
		require.NoError(t, err)
	}
	take := func(db *DB, q memory.OutboxQuery) (ids []string) {
		recs, err := db.Memory().Undelivered(ctx, q)
		require.NoError(t, err)
		for _, r := range recs {
			ids = append(ids, r.ID)
		}
		return ids
	}
	queue("r1", "1")
	queue("r1", "2")
	require.Equal(t, []string{"1", "2"}, take(one, memory.OutboxQuery{}))
	queue("r2", "3")
	queue("r1", "4")
	require.Equal(t, []string{"3"}, take(other, memory.OutboxQuery{}))
	require.Empty(t, take(other, memory.OutboxQuery{Except: []memory.RunName{{Tenant: "acme", RunID: "r2"}}}))
	require.Equal(t, []string{"1", "2", "4"}, take(one, memory.OutboxQuery{Tenant: "acme"}))
	require.Equal(t, []string{"1", "2", "4"}, take(other, memory.OutboxQuery{Tenant: "acme", RunID: "r1"}))
	require.NoError(t, one.Close())
	require.Equal(t, []string{"1", "2", "3", "4"}, take(other, memory.OutboxQuery{}))
}

// Connections that the server has ended are replaced without a word, where that is
// safe.
func TestRetry_LostConnections(t *testing.T) {
	db := openDB(t, Options{})
	ctx := t.Context()
	admin := connect(t, db.pool.Config().ConnString())
	defer admin.Close()
	for i := range 5 {
		require.NoError(t, db.Memory().Put(ctx, home, entry(fmt.Sprint(i))))
		_, err := admin.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
		require.NoError(t, err)
		require.NoError(t, db.Memory().Put(ctx, home, entry(fmt.Sprint("again", i))))
	}
	require.Len(t, list(t, db.Memory(), home), 10)
}

// Names that differ in their last byte are different, at any length, and text that the
// tables cannot hold is refused.
func TestM1_LongNames(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	tenant, id := strings.Repeat("t", maxTenant), strings.Repeat("i", maxID)
	ref, label := strings.Repeat("r", maxRef-1), strings.Repeat("l", 1023)
	for _, last := range []string{"1", "2"} {
		s, e := memory.Scope{Tenant: tenant, Ref: ref + last}, entry(id)
		e.Subjects = []string{label + last}
		e.Content += last
		_, err := st.Apply(ctx, tenant, memory.Mutation{At: now, Put: []memory.Placed{{Scope: s, Entry: e}},
			Cells: []memory.CellSwap{{Scope: s, Name: label + last, New: []byte(last)}}})
		require.NoError(t, err)
	}
	for _, last := range []string{"1", "2"} {
		s := memory.Scope{Tenant: tenant, Ref: ref + last}
		e, err := st.Get(ctx, s, id, now)
		require.NoError(t, err)
		require.Equal(t, entry(id).Content+last, e.Content)
		value, err := st.Cell(ctx, s, label+last)
		require.NoError(t, err)
		require.Equal(t, last, string(value))
		n := 0
		for r, err := range st.History(ctx, tenant, memory.HistoryQuery{Subject: label + last}) {
			require.NoError(t, err)
			require.Equal(t, s, r.Scope)
			n++
		}
		require.Equal(t, 1, n)
	}
	for _, bad := range []memory.Entry{{ID: "x", Content: "a\x00b"}, {ID: "x", Content: "\xff"}, {ID: "x", Tags: []string{"\x00"}}, {ID: id + "i"}} {
		bad.CreatedAt = now
		require.ErrorIs(t, st.Put(ctx, home, bad), memory.ErrValidation)
	}
	require.ErrorIs(t, st.Put(ctx, memory.Scope{Tenant: tenant + "t", Ref: "r"}, entry("x")), memory.ErrValidation)
	_, err := st.List(ctx, home, memory.Query{At: now, Tag: "\x00"})
	require.NoError(t, err)
}

// Behind a proxy that pools transactions no prepared statement outlives its
// transaction.
func TestStore_WithoutPreparedStatements(t *testing.T) {
	safe := openDB(t, Options{})
	pool := connect(t, safe.pool.Config().ConnString(), func(cfg *pgxpool.Config) {
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	})
	defer pool.Close()
	db, err := Open(t.Context(), pool, Options{StatementTimeout: time.Minute})
	require.NoError(t, err)
	st, ctx := db.Memory(), t.Context()
	e := entry("a")
	e.Tags, e.Subjects = []string{"t"}, []string{"s"}
	require.NoError(t, st.Put(ctx, home, e))
	require.NoError(t, st.Put(ctx, home, e))
	v, err := st.Apply(ctx, home.Tenant, memory.Mutation{At: now, Put: []memory.Placed{{Scope: home, Entry: entry("b")}, {Scope: home, Entry: entry("c")}},
		Retire: []memory.Retirement{{Located: memory.Located{Scope: home, ID: "a"}, State: memory.Superseded, For: "b"}}})
	require.NoError(t, err)
	got, err := st.ListAt(ctx, home, v, memory.Query{At: now})
	require.NoError(t, err)
	require.Len(t, got, 2)
	r, err := st.Lookup(ctx, home, "a")
	require.NoError(t, err)
	require.Equal(t, e.Tags, r.Entry.Tags)
	mustWrite(t, db.Workspace(new(choosy)), file("acme", "f", "x", ""))
	var prepared int
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM pg_prepared_statements`).Scan(&prepared))
	require.Zero(t, prepared)
}
