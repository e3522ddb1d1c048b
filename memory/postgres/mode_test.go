package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// modes are those of pgx, by their names in a connection string.
var modes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// pooledModes are those that work behind a pooler.
var pooledModes = []string{"cache_describe", "exec", "simple_protocol"}

// Every statement works in every mode of pgx, and through a pooler in those that do not
// rest on prepared statements.
func TestStore_QueryModes(t *testing.T) {
	if pooled() {
		t.Skip("it connects in its own ways")
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			connection := emptyDatabase(t, t.Context())
			useEveryStatement(t, with(connection, "default_query_exec_mode", mode), connection, Options{})
		})
	}
	for _, mode := range pooledModes {
		t.Run("pooled/"+mode, func(t *testing.T) {
			connection := emptyDatabase(t, t.Context())
			useEveryStatement(t, behind(t, connection, mode), connection, Options{Pooler: true, StatementTimeout: time.Minute})
		})
	}
}

func useEveryStatement(t *testing.T, connection, direct string, opts Options) {
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, connection)
	require.NoError(t, err)
	defer pool.Close()
	db, err := Open(ctx, pool, opts)
	require.NoError(t, err, "%v", errors.Unwrap(err))
	fill := connect(t, with(direct, "default_query_exec_mode", "simple_protocol"))
	defer fill.Close()
	_, err = fill.Exec(ctx, fillBig, 100)
	require.NoError(t, err)
	st := db.Memory()
	for range 2 { // once more with what the first time has cached
		for _, c := range everyStatement(st, driver.Scope{Tenant: "acme", Ref: "support"}) {
			if err := c.do(); !errors.Is(err, driver.ErrConflict) && !errors.Is(err, driver.ErrNotFound) {
				require.NoError(t, err, "%s: %v", c.name, errors.Unwrap(err))
			}
		}
	}

	other := driver.Scope{Tenant: home.Tenant, Ref: "other"}
	e := entry("a")
	e.Tags, e.Subjects = []string{"t", `"\`}, []string{"s", "\x00\\"}
	require.NoError(t, st.Put(ctx, other, e))
	require.NoError(t, st.Put(ctx, other, e))
	done, err := st.Apply(ctx, other.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: other, Entry: entry("b")}, {Scope: other, Entry: entry("c")}},
		Retire:    []driver.Retirement{{Located: driver.Located{Scope: other, ID: "a"}, State: driver.Superseded, For: "b"}},
		Documents: []driver.DocumentSwap{lease("l", 0), {Document: driver.Document{Scope: other, Class: driver.Content, Kind: "k", Key: "d", Of: []string{"a"}}}}})
	require.NoError(t, err)
	require.Equal(t, []string{"c", "b"}, idsOf(must(st.List(ctx, other, driver.Query{Version: done.Version, At: now, Limit: 2}))))
	kept := must(st.Lookup(ctx, other, []string{"a"}))[0]
	require.Equal(t, driver.Record{Scope: other, State: driver.Superseded, For: "b", Entry: e}, kept)
	_, err = st.Apply(ctx, other.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{lease("l", done.Revs[0])}})
	require.NoError(t, err)
	require.Len(t, must(st.Due(ctx, "lease", now, 10)), 1)
}

// A pool that would not work behind a pooler is refused, with the reason.
func TestOpen_Pooler(t *testing.T) {
	if pooled() {
		t.Skip("it connects in its own ways")
	}
	ctx := t.Context()
	connection := emptyDatabase(t, ctx)
	for _, c := range []struct {
		mode string
		opts Options
		why  string
	}{
		{"exec", Options{}, "set Options.Pooler"},
		{"exec", Options{Pooler: true}, "StatementTimeout"},
		{"cache_statement", Options{Pooler: true, StatementTimeout: time.Minute}, "cache_describe"},
		{"describe_exec", Options{Pooler: true, StatementTimeout: time.Minute}, "cache_describe"},
		{"exec", Options{Pooler: true, StatementTimeout: time.Minute}, ""},
	} {
		pool, err := pgxpool.New(ctx, behind(t, connection, c.mode))
		require.NoError(t, err)
		_, err = Open(ctx, pool, c.opts)
		pool.Close()
		if c.why == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, driver.ErrValidation)
		require.ErrorContains(t, err, c.why)
	}
}

// Through a pooler no request to cancel is ever sent when contexts end, and calls end
// by the server's timeout.
func TestPooler_NoCancelRequests(t *testing.T) {
	if pooled() {
		t.Skip("it connects in its own ways")
	}
	connection := emptyDatabase(t, t.Context())
	front := connect(t, connection)
	defer front.Close()
	own, err := server.cluster.Pooler(t.Context(), nil)
	if err != nil {
		behind(t, connection, "exec") // skips, or fails
	}
	defer func() { require.NoError(t, own.Close()) }()
	through := with(with(own.DSN(), "dbname", front.Config().ConnConfig.Database), "default_query_exec_mode", "cache_describe")
	pool, err := pgxpool.New(t.Context(), through)
	require.NoError(t, err)
	defer pool.Close()
	db, err := Open(t.Context(), pool, Options{Pooler: true, StatementTimeout: 300 * time.Millisecond})
	require.NoError(t, err)
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("a")))

	// A change that waits for another ends by the timeout, after its context.
	lock, err := front.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), lockTenant, []byte(home.Tenant))
	require.NoError(t, err)
	brief, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	require.ErrorIs(t, st.Put(brief, home, entry("b")), context.DeadlineExceeded)
	require.NoError(t, lock.Rollback(t.Context()))
	require.Equal(t, []string{"a"}, list(t, st, home))

	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 40 {
				ctx, end := context.WithTimeout(t.Context(), time.Duration(random.IntN(3000))*time.Microsecond)
				switch random.IntN(4) {
				case 0:
					_ = st.Put(ctx, home, entry("a"))
				case 1:
					_, _ = st.List(ctx, home, driver.Query{At: now})
				case 2:
					_, _ = st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{lease("a", 0), lease("b", 0)}})
				case 3:
					_, _ = st.Purge(ctx, home.Tenant, "", now)
				}
				end()
			}
		})
	}
	group.Wait()
	require.True(t, own.Running())
	require.NotContains(t, own.Log(), "cancel")
	require.Equal(t, []string{"a"}, list(t, st, home))
}

// A change whose answer does not come in time behind a pooler either is unknown, and the
// store goes on.
func TestPooler_SilentServer(t *testing.T) {
	defer func(p time.Duration) { patience = p }(patience)
	patience = 50 * time.Millisecond
	own := ownCluster(t)
	admin := openAt(t, own.DSN())
	front, err := own.Pooler(t.Context(), nil)
	if err != nil {
		behind(t, own.DSN(), "exec") // skips, or fails
	}
	defer func() { require.NoError(t, front.Close()) }()
	pool, err := pgxpool.New(t.Context(), with(front.DSN(), "default_query_exec_mode", "exec"))
	require.NoError(t, err)
	db, err := Open(t.Context(), pool, Options{Pooler: true, StatementTimeout: 2 * time.Second})
	require.NoError(t, err)
	st := db.Memory()
	awaitNobody(t, admin)
	for i, change := range []func(ctx context.Context) error{
		func(ctx context.Context) error { return st.Put(ctx, home, entry("a")) },
		func(ctx context.Context) error {
			_, err := st.Apply(ctx, driver.Scope{Tenant: "globex"}.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{
				{Document: driver.Document{Scope: driver.Scope{Tenant: "globex"}, Kind: "k", Key: "1"}}, {Document: driver.Document{Scope: driver.Scope{Tenant: "globex"}, Kind: "k", Key: "2"}}}})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- change(ctx) }()
		until(t, admin, `SELECT count(*) = `+string(rune('1'+i))+` FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		cancel()
		err := <-result
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Empty(t, list(t, st, home), "nobody sees what waits")
	settings(t, admin, "synchronous_standby_names", "")
	until(t, admin, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`)
	require.Equal(t, []string{"a"}, list(t, st, home))
	require.NotContains(t, front.Log(), "cancel")
	pool.Close()
}

// All tests of the module through a pooler, in every mode that works there, and without one
// in every mode.
func TestModule_QueryModes(t *testing.T) {
	if os.Getenv("AGENTMEMORY_LONG") != "1" || pooled() {
		t.Skip("takes minutes: set AGENTMEMORY_LONG=1")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, mode := range pooledModes {
		t.Run(mode, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, "-test.count=1", "-test.timeout=30m")
			cmd.Env = append(os.Environ(), envPooled+"="+mode, "AGENTMEMORY_LONG=0")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", tailOf(string(out)))
			require.True(t, strings.HasSuffix(strings.TrimSpace(string(out)), "PASS"))
		})
	}
}

func tailOf(text string) string { return text[max(0, len(text)-8000):] }
