package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/groupcommit"
)

// onPool is a DB of the same database over another pool.
func onPool(db *DB, pool *pgxpool.Pool) *DB {
	other := *db
	other.pool = pool
	other.dialect = dialectOf(&other)
	other.counters = &groupcommit.Queue[string, *writes]{Commit: other.commitGroup, Unknown: ErrOutcomeUnknown}
	return &other
}

// A process of an older release that is open while a newer one migrates writes nothing
// from then on.
func TestErrNewerSchema_OpenProcess(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	require.NoError(t, st.Put(ctx, home, entry("a")))
	queue(t, st, "r", "e")
	v, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	_, err = db.pool.Exec(ctx, `UPDATE agentmemory.meta SET schema = schema + 1`)
	require.NoError(t, err)
	defer func() {
		_, err := db.pool.Exec(ctx, `UPDATE agentmemory.meta SET schema = $1`, len(migrations))
		require.NoError(t, err)
	}()
	apply := func(m driver.Mutation) error {
		m.At = now
		_, err := st.Apply(ctx, home.Tenant, m)
		return err
	}
	for name, err := range map[string]error{
		"Put":                    st.Put(ctx, home, entry("b")),
		"Put again":              st.Put(ctx, home, entry("a")),
		"Apply that adds":        apply(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: entry("c")}}}),
		"Apply with a condition": apply(driver.Mutation{Live: []driver.Located{{Scope: home, ID: "a"}}}),
		"Apply of machinery":     apply(driver.Mutation{Documents: []driver.DocumentSwap{lease("l", 0)}}),
		"Apply of two":           apply(driver.Mutation{Documents: []driver.DocumentSwap{lease("l", 0), lease("m", 0)}}),
		"Delete":                 second(st.Delete(ctx, home, "a", now)),
		"Delivered":              st.Delivered(ctx, []events.Record{{ID: "e", Tenant: home.Tenant, RunID: "r"}}),
		"Purge":                  second(st.Purge(ctx, home.Tenant, v, now)),
		"DropTenant":             second(st.DropTenant(ctx, home.Tenant, 10)),
	} {
		require.ErrorIs(t, err, ErrNewerSchema, name)
	}
	for _, err := range st.Undelivered(ctx, "", "") {
		require.ErrorIs(t, err, ErrNewerSchema)
	}
	same, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	require.Equal(t, v, same)
	require.Equal(t, []string{"a"}, list(t, st, home))
}

func second[T any](_ T, err error) error { return err }

// A migration waits for those who are writing, and who begins meanwhile waits for it and is
// refused.
func TestErrNewerSchema_DuringTheMigration(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	writer, err := db.pool.Begin(ctx)
	require.NoError(t, err)
	defer writer.Rollback(ctx)
	b := new(pgx.Batch)
	db.checkSchema(b)
	require.NoError(t, writer.SendBatch(ctx, b).Close())
	blocked := func(n string) {
		until(t, db, `SELECT count(*) = `+n+` FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
	}
	migrated := make(chan error, 1)
	go func() {
		migrated <- pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
			if _, err := migrate(ctx, tx, false); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `UPDATE agentmemory.meta SET schema = schema + 1`)
			return err
		})
	}()
	blocked("1")
	late := make(chan error, 1)
	go func() { late <- st.Put(ctx, home, entry("late")) }()
	blocked("2")
	require.NoError(t, writer.Commit(ctx))
	require.NoError(t, <-migrated)
	require.ErrorIs(t, <-late, ErrNewerSchema)
	require.Empty(t, list(t, st, home))
	_, err = db.pool.Exec(ctx, `UPDATE agentmemory.meta SET schema = $1`, len(migrations))
	require.NoError(t, err)
}

// A server that has too many clients is asked again, since nothing has begun.
func TestRetry_TooManyClients(t *testing.T) {
	if pooled() {
		t.Skip("a pooler has them wait")
	}
	safe := openDB(t, Options{})
	ctx := t.Context()
	const role = "agentmemory_test_narrow"
	_, err := safe.pool.Exec(ctx, `
		DO $$ BEGIN CREATE ROLE `+role+` LOGIN CONNECTION LIMIT 1; EXCEPTION WHEN duplicate_object THEN END $$;
		GRANT ALL ON SCHEMA agentmemory TO `+role+`; GRANT ALL ON ALL TABLES IN SCHEMA agentmemory TO `+role+`;
		GRANT ALL ON ALL SEQUENCES IN SCHEMA agentmemory TO `+role)
	require.NoError(t, err)
	defer func() {
		_, err := safe.pool.Exec(ctx, `DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(t, err)
	}()
	narrow := func(change func(*pgxpool.Config)) *pgxpool.Pool {
		return connect(t, with(safe.pool.Config().ConnString(), "user", role), func(cfg *pgxpool.Config) {
			cfg.ConnConfig.User = role
			cfg.MaxConns = 1
			change(cfg)
		})
	}
	var tries atomic.Int64
	var first *pgx.Conn
	pool := narrow(func(cfg *pgxpool.Config) {
		cfg.BeforeConnect = func(ctx context.Context, _ *pgx.ConnConfig) error {
			if tries.Add(1) == 3 { // the first two are refused
				require.NoError(t, first.Close(ctx))
				until(t, safe, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename = '`+role+`')`)
			}
			return nil
		}
	})
	defer pool.Close()
	db := onPool(safe, pool)
	take := func() {
		pool.Reset()
		until(t, safe, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename = '`+role+`')`)
		cfg := pool.Config().ConnConfig
		first, err = pgx.ConnectConfig(ctx, cfg)
		require.NoError(t, err)
		tries.Store(0)
	}
	for name, do := range map[string]func() error{
		"Get": func() error { _, err := db.Memory().List(ctx, home, driver.Query{At: now}); return err },
		"Apply": func() error {
			_, err := db.Memory().Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry("a")}}})
			return err
		},
		"Apply with a condition": func() error {
			_, err := db.Memory().Apply(ctx, home.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{lease("a", 0), lease("b", 0)}})
			return err
		},
		"Delete": func() error { _, err := db.Memory().Delete(ctx, home, "none", now); return err },
	} {
		take()
		require.NoError(t, do(), name)
		require.GreaterOrEqual(t, tries.Load(), int64(3), name)
	}
}

// A relay that died before the server's clock was put back hides its runs no longer than
// any other.
func TestE3_ClockPutBack(t *testing.T) { endOldClaims(t, openDB(t, Options{})) }

func endOldClaims(t *testing.T, one *DB) {
	st, ctx := one.Memory(), t.Context()
	other, err := opened(ctx, one.pool, Options{})
	require.NoError(t, err)
	queue(t, st, "r", "e")
	require.Equal(t, []string{"e"}, take(t, one))
	require.Empty(t, take(t, other))
	_, err = one.pool.Exec(ctx, `UPDATE agentmemory.events SET until = until + 3600000`) // as if the clock had been put back by an hour
	require.NoError(t, err)
	require.Equal(t, []string{"e"}, take(t, other))
	require.Empty(t, take(t, one), "it is the other's now")
}

// While another session holds a snapshot, as a dump does, the thousandth put of a tenant reads no
// more than the first: nothing is written anew that all of them would have to pass.
func TestPut_UnderASnapshot(t *testing.T) {
	connection, ctx := emptyDatabase(t, t.Context()), t.Context()
	pool, seen := explained(t, connection, "auto", "NONE")
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	require.NoError(t, db.Memory().Put(ctx, home, entry("first")))
	snapshot, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer snapshot.Rollback(ctx)
	_, err = snapshot.Exec(ctx, `SELECT FROM agentmemory.tenants`)
	require.NoError(t, err)
	quiet := connect(t, connection)
	defer quiet.Close()
	fast := onPool(db, quiet)
	for i := range 2000 {
		require.NoError(t, fast.Memory().Put(ctx, home, entry(string(rune('a'+i%26))+time.Duration(i).String())))
	}
	seen.take()
	require.NoError(t, db.Memory().Put(ctx, home, entry("last")))
	plans := seen.take()
	require.NotEmpty(t, plans)
	for _, text := range plans {
		x := readPlan(t, text)
		require.LessOrEqual(t, x.blocks(), 200, text)
	}
}

// slowConn stops in the middle of a large message.
type slowConn struct {
	net.Conn
	stop *slow
}

type slow struct {
	armed            atomic.Bool
	once             sync.Once
	halted, released chan struct{}
}

func (c *slowConn) Write(b []byte) (int, error) {
	if c.stop.armed.Load() && len(b) > stagedBytes {
		n, err := c.Conn.Write(b[:len(b)/2])
		if err != nil {
			return n, err
		}
		c.stop.once.Do(func() { close(c.stop.halted) })
		<-c.stop.released
		rest, err := c.Conn.Write(b[len(b)/2:])
		return n + rest, err
	}
	return c.Conn.Write(b)
}

// While a large value is on its way, its tenant is free for others.
func TestApply_LargeValueBeforeTheTenant(t *testing.T) {
	safe := openDB(t, Options{})
	ctx := t.Context()
	st := safe.Memory()
	stop := &slow{halted: make(chan struct{}), released: make(chan struct{})}
	pool := connect(t, safe.pool.Config().ConnString(), func(cfg *pgxpool.Config) {
		cfg.MaxConns = 1
		cfg.ConnConfig.RuntimeParams = safe.pool.Config().ConnConfig.RuntimeParams
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &slowConn{conn, stop}, err
		}
	})
	defer pool.Close()
	db := onPool(safe, pool)
	require.NoError(t, st.Put(ctx, home, entry("of")))
	large := make([]byte, 8<<20)
	copy(large, noise(1<<20))
	archive := func(rev int64, act driver.Act) driver.DocumentSwap {
		d := driver.Document{Scope: home, Class: driver.Content, Kind: "archive", Key: "a", Group: "g", Of: []string{"of"}, Value: large, Rev: rev}
		return driver.DocumentSwap{Document: d, Act: act}
	}
	set := func(swap driver.DocumentSwap) (driver.Applied, error) {
		return db.Memory().Apply(ctx, home.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{swap}})
	}
	stop.armed.Store(true)
	type result struct {
		done driver.Applied
		err  error
	}
	results := make(chan result)
	go func() { done, err := set(archive(0, driver.Set)); results <- result{done, err} }()
	<-stop.halted
	require.NoError(t, st.Put(ctx, home, entry("meanwhile")))
	stop.armed.Store(false)
	close(stop.released)
	r := <-results
	require.NoError(t, r.err)

	stored := func() (found []driver.Document) {
		for d, err := range st.Documents(ctx, driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}) {
			require.NoError(t, err)
			found = append(found, d)
		}
		return found
	}
	want := archive(r.done.Revs[0], driver.Set).Document
	require.Equal(t, []driver.Document{want}, stored())
	_, err := set(archive(0, driver.Set)) // it is there
	require.ErrorIs(t, err, driver.ErrConflict)
	large[0]++
	done, err := set(archive(want.Rev, driver.Set))
	require.NoError(t, err)
	want.Rev = done.Revs[0]
	require.Equal(t, []driver.Document{want}, stored())
	_, err = st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "of"}}})
	require.NoError(t, err)
	require.Empty(t, stored())
}
