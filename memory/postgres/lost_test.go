package postgres

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// cutter loses the answer to a message: the server has worked it off, and the client does not hear.
type cutter struct {
	in   atomic.Int64
	hang atomic.Int64 // the message that the server never gets
	hung atomic.Pointer[cutConn]
}

// cutConn is a connection under a cutter.
type cutConn struct {
	net.Conn
	cut  *cutter
	lose atomic.Bool
	mute atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.cut.in.Add(-1) == 0 {
		c.lose.Store(true)
	}
	if c.cut.hang.Add(-1) == 0 {
		c.mute.Store(true)
		c.cut.hung.Store(c)
	}
	if c.mute.Load() {
		return len(b), nil // the server never gets it
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.Load() && n > 0 {
		c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// openCut opens a fresh database through one connection, which cut ends, in a mode of pgx.
func openCut(t *testing.T, mode string) (*DB, *cutter) {
	cut := new(cutter)
	safe := openDB(t, Options{})
	connection := safe.pool.Config().ConnString()
	if !pooled() {
		connection = with(connection, "default_query_exec_mode", mode)
	}
	pool := connect(t, connection, func(cfg *pgxpool.Config) {
		cfg.MaxConns = 1
		cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &cutConn{Conn: conn, cut: cut}, err
		}
	})
	t.Cleanup(pool.Close)
	db, err := opened(t.Context(), pool, Options{})
	require.NoError(t, err)
	return db, cut
}

// A change whose answer is lost was made or not: the store says that it does not know,
// or does it once more where that is the same as once.
func TestErrOutcomeUnknown_LostAnswers(t *testing.T) {
	in := modes
	if pooled() {
		in = []string{os.Getenv(envPooled)}
	}
	for _, mode := range in {
		t.Run(mode, func(t *testing.T) { loseAnswers(t, mode) })
	}
}

func loseAnswers(t *testing.T, mode string) {
	db, cut := openCut(t, mode)
	messages := int64(1) // for a round trip
	if mode == "describe_exec" {
		messages = 2 // it prepares each time
	}
	st, ctx := db.Memory(), t.Context()
	apply := func(m driver.Mutation) error {
		m.At = now
		_, err := st.Apply(ctx, home.Tenant, m)
		return err
	}
	put := func(id string) []driver.Placed { return []driver.Placed{{Scope: home, Entry: entry(id)}} }
	located := func(id string) driver.Located { return driver.Located{Scope: home, ID: id} }
	swap := func(key string) error { return apply(driver.Mutation{Documents: []driver.DocumentSwap{lease(key, 0)}}) }
	held := func(key string) (value string) {
		for d := range st.Documents(ctx, driver.DocumentQuery{Tenant: home.Tenant, Kind: "lease", Key: key}) {
			value = string(d.Value)
		}
		return value
	}
	queued := func(id string) events.Record {
		return events.Record{ID: id, Tenant: "acme", RunID: "r", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
	}
	require.NoError(t, apply(driver.Mutation{Put: []driver.Placed{
		{Scope: home, Entry: entry("old1")}, {Scope: home, Entry: entry("old2")}, {Scope: home, Entry: entry("e1")}, {Scope: home, Entry: entry("e2")}},
		Events: []events.Record{queued("q1"), queued("q2")}}))

	for _, c := range []struct {
		name    string
		writes  int64                  // the message whose answer is lost
		do      func(n string) error   // once in peace, so that its statements are prepared
		made    func(n string) (r any) // what is there then
		want    any
		unknown bool
	}{
		{"Apply that adds", 1, func(n string) error { return apply(driver.Mutation{Put: put("a" + n)}) },
			func(n string) any { e, _ := st.Get(ctx, home, "a"+n, now); return e.ID }, "a2", true},
		{"Apply with a condition", 2,
			func(n string) error {
				return apply(driver.Mutation{Live: []driver.Located{located("old1")}, Put: put("b" + n)})
			},
			func(n string) any { e, _ := st.Get(ctx, home, "b"+n, now); return e.ID }, "b2", true},
		{"Delete", 2, func(n string) error { _, err := st.Delete(ctx, home, "old"+n, now); return err },
			func(n string) any { _, err := st.Get(ctx, home, "old"+n, now); return err }, driver.ErrNotFound, true},
		{"Swap of machinery", 1, swap, func(n string) any { return held(n) }, "x", true},
		{"Swap of two", 2, func(n string) error {
			return apply(driver.Mutation{Documents: []driver.DocumentSwap{lease("a"+n, 0), lease("b"+n, 0)}})
		}, func(n string) any { return held("a"+n) + held("b"+n) }, "xx", true},
		{"Put", 1, func(n string) error { return st.Put(ctx, home, entry("p"+n)) },
			func(n string) any { e, _ := st.Get(ctx, home, "p"+n, now); return e.ID }, "p2", false},
		{"Delivered", 1, func(n string) error { return st.Delivered(ctx, []events.Record{queued("q" + n)}) },
			func(string) any { return len(take(t, db)) }, 0, false},
		{"Get", 1, func(n string) error { _, err := st.Get(ctx, home, "e"+n, now); return err },
			func(string) any { return nil }, nil, false},
	} {
		require.NoError(t, c.do("1"), c.name)
		cut.in.Store(c.writes * messages)
		err := c.do("2")
		require.LessOrEqual(t, cut.in.Load(), int64(0), "%s: nothing was cut", c.name)
		if c.unknown {
			require.ErrorIs(t, err, ErrOutcomeUnknown, c.name)
			require.NotErrorIs(t, err, driver.ErrConflict, c.name)
		} else {
			require.NoError(t, err, c.name)
		}
		require.Equal(t, c.want, c.made("2"), c.name)
	}
}

// The administrator ends a connection while it commits.
func TestErrOutcomeUnknown_TerminatedBackend(t *testing.T) {
	pool := connect(t, emptyDatabase(t, t.Context()))
	defer pool.Close()
	db, err := opened(t.Context(), pool, Options{})
	require.NoError(t, err)
	st, ctx := db.Memory(), t.Context()
	_, err = pool.Exec(ctx, `
		CREATE SEQUENCE turns;
		CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF nextval('turns') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON agentmemory.versions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()`)
	require.NoError(t, err)
	again := func() {
		_, err := pool.Exec(ctx, `SELECT setval('turns', 1, false)`)
		require.NoError(t, err)
	}
	for _, m := range []driver.Mutation{
		{Put: []driver.Placed{{Scope: home, Entry: entry("a")}}},
		{Put: []driver.Placed{{Scope: home, Entry: entry("a")}}, Documents: []driver.DocumentSwap{lease("c", 0)}},
	} {
		again()
		m.At = now
		_, err := st.Apply(ctx, home.Tenant, m)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.EqualError(t, err, ErrOutcomeUnknown.Error())
		require.Empty(t, list(t, st, home))
	}
	again()
	require.NoError(t, st.Put(ctx, home, entry("b")))
	require.Equal(t, []string{"b"}, list(t, st, home))
}

// What the server undoes because of others is done again, a few times.
func TestRetry_SerialisationFailures(t *testing.T) {
	pool := connect(t, emptyDatabase(t, t.Context()))
	defer pool.Close()
	db, err := opened(t.Context(), pool, Options{})
	require.NoError(t, err)
	st, ctx := db.Memory(), t.Context()
	_, err = pool.Exec(ctx, `
		CREATE SEQUENCE turns;
		CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF nextval('turns') < 3 THEN RAISE EXCEPTION 'not now' USING ERRCODE = TG_ARGV[0]; END IF; RETURN NEW; END $$;
		CREATE TRIGGER fail BEFORE UPDATE ON agentmemory.tenants FOR EACH ROW EXECUTE FUNCTION fail('40001');
		CREATE TRIGGER fail BEFORE INSERT ON agentmemory.versions FOR EACH ROW EXECUTE FUNCTION fail('40001');
		CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON agentmemory.documents FOR EACH ROW EXECUTE FUNCTION fail('40P01')`)
	require.NoError(t, err)
	again := func() {
		_, err := pool.Exec(ctx, `SELECT setval('turns', 1, false)`)
		require.NoError(t, err)
	}
	require.NoError(t, st.Put(ctx, home, entry("a")))
	again()
	_, err = st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Live: []driver.Located{{Scope: home, ID: "a"}}})
	require.NoError(t, err)
	again()
	deleted, err := st.Delete(ctx, home, "a", now)
	require.NoError(t, err)
	require.True(t, deleted)
	again()
	v, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	removed, err := st.Purge(ctx, home.Tenant, v, now)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	again()
	_, err = st.Apply(ctx, home.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{lease("l", 0)}})
	require.NoError(t, err)
}

// A statement that takes too long ends, and it is known that nothing happened.
func TestOptions_StatementTimeout(t *testing.T) {
	db := openDB(t, Options{StatementTimeout: 50 * time.Millisecond})
	st, ctx := db.Memory(), t.Context()
	require.NoError(t, st.Put(ctx, home, entry("a")))
	tx, err := db.pool.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM agentmemory.tenants FOR UPDATE`)
	require.NoError(t, err)
	_, err = st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry("b")}}})
	require.Equal(t, queryCanceled, codeOf(err))
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	_, err = st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Live: []driver.Located{{Scope: home, ID: "a"}}})
	require.Equal(t, queryCanceled, codeOf(err))
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, st.Put(ctx, home, entry("c")))
	require.Equal(t, []string{"c", "a"}, list(t, st, home))

	// The pool's connections are as they were.
	var timeout string
	require.NoError(t, db.pool.QueryRow(ctx, `SHOW statement_timeout`).Scan(&timeout))
	require.Equal(t, "0", timeout)
}

// What the server says about a commit, and whether that tells what became of it.
func TestErrOutcomeUnknown_Codes(t *testing.T) {
	for _, c := range []struct {
		severity, code      string
		open, again, aborts bool
	}{
		{"ERROR", "23505", false, false, false},
		{"ERROR", queryCanceled, false, false, false},
		{"ERROR", "40001", false, true, true},
		{"ERROR", "40P01", false, true, true},
		{"ERROR", "40003", true, true, false},
		{"ERROR", "08006", true, true, false},
		{"FATAL", "57P01", true, true, false},
		{"FATAL", "57P04", true, false, false},
		{"PANIC", "53100", true, false, false},
		{"FATAL", idleInTransaction, false, false, false},
	} {
		err := fmt.Errorf("wrapped: %w", &pgconn.PgError{SeverityUnlocalized: c.severity, Code: c.code})
		require.Equal(t, c.open, new(DB).outcomeUnknown(err), c.code)
		require.Equal(t, c.again, idempotent(err), c.code)
		require.Equal(t, c.aborts, unsent(err), c.code)
	}
	require.False(t, new(DB).outcomeUnknown(nil))
	require.True(t, new(DB).outcomeUnknown(io.ErrUnexpectedEOF))
	noCommit := &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: internalError}
	require.False(t, new(DB).outcomeUnknown(noCommit))
	require.True(t, (&DB{distributed: true}).outcomeUnknown(noCommit), "a node may have committed and not said so")
}

// A rollback that the server does not answer is given up in time, with its connection,
// however the call's own context ends.
func TestUndo_SilentServer(t *testing.T) {
	defer func(p time.Duration) { patience = p }(patience)
	patience = 50 * time.Millisecond
	db, cut := openCut(t, "cache_statement")
	st, ctx := db.Memory(), t.Context()
	for _, message := range []int64{0, 2} { // once in peace, so that the statements are prepared; then the rollback
		cut.hang.Store(message)
		_, err := st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Live: []driver.Located{{Scope: home, ID: "none"}}})
		require.ErrorIs(t, err, driver.ErrConflict)
	}
	require.NoError(t, cut.hung.Load().Close()) // as the system does after some minutes
	require.NoError(t, st.Put(ctx, home, entry("a")))
	require.Equal(t, []string{"a"}, list(t, st, home))
}
