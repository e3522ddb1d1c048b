package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

var (
	now  = time.UnixMilli(1_760_000_000_000).UTC()
	home = driver.Scope{Tenant: "acme", Ref: "support"}
)

func entry(id string) driver.Entry {
	return driver.Entry{ID: id, Content: "content of " + id, CreatedAt: now, RunID: "run-1"}
}

// lease is a piece of machinery that is due.
func lease(key string, rev int64) driver.DocumentSwap {
	return driver.DocumentSwap{Document: driver.Document{
		Scope: driver.Scope{Tenant: home.Tenant}, Kind: "lease", Key: key, Value: []byte("x"), Due: now, Rev: rev}}
}

func list(t *testing.T, st *Store, s driver.Scope) (ids []string) {
	entries, err := st.List(t.Context(), s, driver.Query{At: now})
	require.NoError(t, err)
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// An entry that is asked for by its id is judged by the rest of the query too.
func TestM5_OneIDIsFilteredAsAList(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	e := entry("a")
	e.Tags, e.Subjects, e.ExpiresAt = []string{"red"}, []string{"lena"}, now.Add(time.Hour)
	require.NoError(t, st.Put(ctx, home, e))
	for _, ids := range [][]string{{"a"}, {"a", "a"}, {"b"}, {"b", "a"}} {
		for _, q := range []driver.Query{
			{}, {At: e.ExpiresAt}, {Tags: []string{"red"}}, {Tags: []string{"red", "blue"}}, {Subject: "lena"}, {Subject: "len"},
			{Since: now}, {Since: now.Add(time.Millisecond)}, {Until: now}, {Until: now.Add(time.Millisecond)},
			{After: driver.Cursor{CreatedAt: now, ID: "a"}}, {After: driver.Cursor{CreatedAt: now, ID: "b"}}, {Limit: 1},
		} {
			q.IDs = ids
			found, err := st.List(ctx, home, q)
			require.NoError(t, err)
			want := 0
			if q.Matches(&e) {
				want = 1
			}
			require.Len(t, found, want, "%+v", q)
		}
	}
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
		got, err := st.List(ctx, home, driver.Query{Version: v, At: now})
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, "b", got[0].ID)
	}

	// A mutation that has written everything and has not committed.
	conn, err := db.pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	w := &writes{db: db, Call: sqlstore.Call{Tenant: home.Tenant, Mark: driver.Mark{1}, M: &driver.Mutation{}, Plan: driver.Plan{
		Insert: []driver.Placed{{Scope: home, Entry: entry("c")}},
		Retire: []driver.Retirement{{Located: driver.Located{Scope: home, ID: "b"}, State: driver.Superseded, For: "c"}},
	}}}
	b := new(pgx.Batch)
	b.Queue("BEGIN")
	b.Queue(takeTenant, []byte(home.Tenant))
	w.queueAll(b)
	require.NoError(t, conn.SendBatch(ctx, b).Close())
	see()
	same, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	require.Equal(t, v, same)

	// Another tenant does not wait for it; a writer of the same one does, and its wait
	// ends with its context, without a trace.
	require.NoError(t, st.Put(ctx, driver.Scope{Tenant: "globex", Ref: "support"}, entry("x")))
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

// Versions of a history that was lost are refused, also by a process that was running and
// was told nothing. What the backup had is still what it was.
func TestM7_RestoredBackup(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	require.NoError(t, st.Put(ctx, home, entry("a")))
	kept, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	_, err = db.pool.Exec(ctx, `
		CREATE TABLE kept_tenants AS TABLE agentmemory.tenants;
		CREATE TABLE kept_versions AS TABLE agentmemory.versions;
		CREATE TABLE kept_entries AS TABLE agentmemory.entries`)
	require.NoError(t, err)
	require.NoError(t, st.Put(ctx, home, entry("b")))
	lost, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	_, err = db.pool.Exec(ctx, `
		TRUNCATE agentmemory.tenants, agentmemory.versions, agentmemory.entries;
		INSERT INTO agentmemory.tenants TABLE kept_tenants;
		INSERT INTO agentmemory.versions TABLE kept_versions;
		INSERT INTO agentmemory.entries TABLE kept_entries;
		DROP TABLE kept_tenants, kept_versions, kept_entries`)
	require.NoError(t, err)
	_, err = st.List(ctx, home, driver.Query{Version: lost, At: now})
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	require.NoError(t, st.Put(ctx, home, entry("c"))) // takes the same number
	_, err = st.List(ctx, home, driver.Query{Version: lost, At: now})
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	_, err = st.Purge(ctx, home.Tenant, lost, now)
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	seen, err := st.List(ctx, home, driver.Query{Version: kept, At: now})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, idsOf(seen))
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
				_, errs[i] = opened(ctx, pool, Options{})
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
	_, err = opened(ctx, pool, Options{})
	require.ErrorIs(t, err, ErrNewerSchema)
	_, err = opened(ctx, pool, Options{RowSecurity: true})
	require.ErrorIs(t, err, ErrNewerSchema)
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
	tenant, id := noise(driver.MaxTenantBytes), noise(driver.MaxIDBytes)
	ref, label := noise(driver.MaxRefBytes-1), noise(driver.MaxLabelBytes-1)
	key, run := noise(driver.MaxKeyBytes-1), noise(driver.MaxRunBytes)
	for _, last := range []string{"1", "2"} {
		s, e := driver.Scope{Tenant: tenant, Ref: ref + last}, entry(id)
		e.Subjects = []string{label + last}
		e.Content += last
		d := driver.Document{Scope: s, Class: driver.Content, Kind: strings.Repeat("k", driver.MaxKindBytes), Of: []string{id},
			Key: key + last, Group: key + last, Value: []byte(last)}
		text := driver.Document{Scope: s, Class: driver.HostText, Kind: "text", Key: key + last, Subjects: []string{label + last}}
		_, err := st.Apply(ctx, tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: s, Entry: e}},
			Documents: []driver.DocumentSwap{{Document: d}, {Document: text}},
			Events:    []events.Record{{ID: run, Tenant: tenant, RunID: run, Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}}})
		require.NoError(t, err)
	}
	for _, last := range []string{"1", "2"} {
		s := driver.Scope{Tenant: tenant, Ref: ref + last}
		e, err := st.Get(ctx, s, id, now)
		require.NoError(t, err)
		require.Equal(t, entry(id).Content+last, e.Content)
		n := 0
		for d, err := range st.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Group: key + last}) {
			require.NoError(t, err)
			require.Equal(t, []any{s, last}, []any{d.Scope, string(d.Value)})
			n++
		}
		for d, err := range st.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Subject: label + last}) {
			require.NoError(t, err)
			require.Equal(t, s, d.Scope)
			n++
		}
		require.Equal(t, 2, n)
		n = 0
		for r, err := range st.History(ctx, tenant, driver.HistoryQuery{Subject: label + last}) {
			require.NoError(t, err)
			require.Equal(t, s, r.Scope)
			n++
		}
		require.Equal(t, 1, n)
	}
	for _, bad := range []driver.Entry{{ID: "x", Content: "a\x00b"}, {ID: "x", Content: "\xff"}, {ID: "x", Tags: []string{"\x00"}}, {ID: noise(driver.MaxIDBytes + 1)}} {
		bad.CreatedAt = now
		require.ErrorIs(t, st.Put(ctx, home, bad), driver.ErrValidation)
	}
	far := events.Record{ID: "e", Tenant: tenant, RunID: run + "r", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
	_, err := st.Apply(ctx, tenant, driver.Mutation{At: now, Events: []events.Record{far}})
	require.ErrorIs(t, err, driver.ErrValidation)
	require.ErrorIs(t, st.Put(ctx, driver.Scope{Tenant: tenant + "t", Ref: "r"}, entry("x")), driver.ErrValidation)
	_, err = st.List(ctx, home, driver.Query{At: now, Tags: []string{"\x00"}})
	require.NoError(t, err)
	v, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	_, err = st.List(ctx, home, driver.Query{Version: v, At: now, Tags: []string{"\x00"}})
	require.NoError(t, err)
}

// noise are so many bytes that do not get shorter when they are compressed, as a row of an
// index is.
func noise(n int) string {
	b := make([]byte, n)
	for r := rand.New(rand.NewPCG(1, uint64(n))); n > 0; n-- {
		b[n-1] = '!' + byte(r.IntN(90))
	}
	return string(b)
}
