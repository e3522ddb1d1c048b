package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// hostRole is neither a superuser nor, but for the tables it makes, anybody special.
const hostRole = "agentmemory_test_host"

// secureDatabase makes an empty database in which hostRole may make the tables.
func secureDatabase(t *testing.T) (connection string) {
	return secured(t, emptyDatabase(t, t.Context()))
}

// secured has an empty database that hostRole may make the tables in.
func secured(t *testing.T, connection string) string {
	admin := connect(t, connection)
	defer admin.Close()
	_, err := admin.Exec(t.Context(), `
		DO $$ BEGIN CREATE ROLE `+hostRole+` NOSUPERUSER LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$;
		CREATE SCHEMA agentmemory AUTHORIZATION `+hostRole+`;
		DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO `+hostRole+`', current_database()); END $$`)
	require.NoError(t, err)
	return connection
}

// securePool connects to such a database as that role.
func securePool(t *testing.T) *pgxpool.Pool {
	return connect(t, secureDatabase(t), func(cfg *pgxpool.Config) { as(cfg, hostRole) })
}

// sendBy sends statements under a setting over a pool.
func sendBy(ctx context.Context, db *DB, pool *pgxpool.Pool, setting string, build func(*pgx.Batch)) error {
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return db.send(ctx, conn.Conn(), setting, build) })
}

// The second wall holds when the first is gone: statements without a tenant find
// nothing of another, not even for the owner of the tables.
func TestCTI1_RowSecurity(t *testing.T) {
	pool := securePool(t)
	defer pool.Close()
	holdsApart(t, pool)
}

// holdsApart expects policies to keep tenants apart in an empty database.
func holdsApart(t *testing.T, pool *pgxpool.Pool) {
	ctx := t.Context()
	db, err := opened(ctx, pool, Options{RowSecurity: true})
	require.NoError(t, err, "%v", errors.Unwrap(err))
	for _, tenant := range []string{"acme", "globex"} {
		s := driver.Scope{Tenant: tenant, Ref: "support"}
		e := entry("of " + tenant)
		e.Subjects = []string{"customer:1"}
		_, err := db.Memory().Apply(ctx, tenant, driver.Mutation{
			At: now, Put: []driver.Placed{{Scope: s, Entry: e}},
			Documents: []driver.DocumentSwap{
				{Document: driver.Document{Scope: s, Class: driver.Content, Kind: "k", Key: "content", Of: []string{e.ID}}},
				{Document: driver.Document{Scope: s, Class: driver.HostText, Kind: "k", Key: "text", Subjects: []string{"customer:1"}}},
				{Document: driver.Document{Scope: s, Kind: "k", Key: "machinery"}},
				{Document: driver.Document{Scope: s, Kind: "k", Key: "due", Due: now}},
			},
			Events: []events.Record{{ID: "e", Tenant: tenant, RunID: "r", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}},
		})
		require.NoError(t, err)
	}
	for _, tenant := range []string{"acme", "globex"} {
		keep(t, db.Memory(), tenant)
		page, err := db.Memory().Read(ctx, tenant, "r", 0, 0)
		require.NoError(t, err)
		require.Len(t, page, 1)
		require.Equal(t, tenant, page[0].ID)
	}
	count := func(setting, table string) (n int) {
		err := sendBy(ctx, db, pool, setting, func(b *pgx.Batch) {
			b.Queue("SELECT count(*) FROM agentmemory." + table).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		})
		require.NoError(t, err)
		return n
	}
	for _, table := range securedTables {
		own, all := 1, 0
		switch table {
		case "documents":
			own, all = 4, 4 // the machinery
		case "events":
			own, all = 2, 4
		case "tenants":
			all = 2
		case "former", "erased_spans":
			own = 0
		}
		require.Equal(t, own, count(tenantSetting("acme"), table), table)
		require.Zero(t, count(tenantSetting("initech"), table), table)
		require.Equal(t, all, count(everyTenant, table), table)
	}

	// A scheduler sees the machinery that is due, and changes nothing.
	due, err := db.Memory().Due(ctx, "k", now, 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	require.Equal(t, []string{"due", "due"}, []string{due[0].Key, due[1].Key})
	err = sendBy(ctx, db, pool, everyTenant, func(b *pgx.Batch) {
		b.Queue(`DELETE FROM agentmemory.documents`).Exec(func(tag pgconn.CommandTag) error {
			require.Zero(t, tag.RowsAffected())
			return nil
		})
		b.Queue(`UPDATE agentmemory.documents SET value = 'x'`).Exec(func(tag pgconn.CommandTag) error {
			require.Zero(t, tag.RowsAffected())
			return nil
		})
	})
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `UPDATE agentmemory.entries SET content = 'overwritten'`)
	if err == nil { // a session that has had the setting sees an empty one
		require.Equal(t, "content of of acme", mustGet(t, db, "acme").Content)
	}
	require.Equal(t, "content of of globex", mustGet(t, db, "globex").Content)

	// A role that may read the tables and owns none of them sees no more, and puts
	// nothing with another tenant.
	guest := guestPool(t, pool)
	defer guest.Close()
	for _, table := range []string{"entries", "subjects", "document_of", "tenants"} {
		tag, err := guest.Exec(ctx, "SELECT * FROM agentmemory."+table) // no tenant is named
		require.True(t, err != nil || tag.RowsAffected() == 0, table)
		var n int
		err = sendBy(ctx, db, guest, tenantSetting("acme"), func(b *pgx.Batch) {
			b.Queue("SELECT count(*) FROM agentmemory." + table).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		})
		require.NoError(t, err)
		require.Equal(t, 1, n, table)
	}
	err = sendBy(ctx, db, guest, tenantSetting("acme"), func(b *pgx.Batch) {
		b.Queue("INSERT INTO agentmemory.tenants (tenant) VALUES ('initech')")
	})
	require.Equal(t, "42501", codeOf(err))

	// A process that does not ask for it gets it.
	again, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	require.Equal(t, "content of of acme", mustGet(t, again, "acme").Content)
}

// keep keeps an event of a run of a tenant.
func keep(t *testing.T, st *Store, tenant string) {
	e := events.Record{ID: tenant, Tenant: tenant, RunID: "r", Time: now, Payload: events.HostPayload{Type: "run.started", JSON: []byte("{}")}}
	_, err := st.Apply(t.Context(), tenant, driver.Mutation{Events: []events.Record{e}, Keep: true})
	require.NoError(t, err)
}

// guestRole owns no table and may use all.
const guestRole = "agentmemory_test_guest"

// guestPool connects as that role.
func guestPool(t *testing.T, owner *pgxpool.Pool) *pgxpool.Pool {
	admin := connect(t, owner.Config().ConnString())
	defer admin.Close()
	_, err := admin.Exec(t.Context(), `
		DO $$ BEGIN CREATE ROLE `+guestRole+` NOSUPERUSER LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$;
		GRANT USAGE ON SCHEMA agentmemory TO `+guestRole+`;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA agentmemory TO `+guestRole)
	require.NoError(t, err)
	return connect(t, owner.Config().ConnString(), func(cfg *pgxpool.Config) {
		as(cfg, guestRole)
	})
}

func mustGet(t *testing.T, db *DB, tenant string) driver.Entry {
	e, err := db.Memory().Get(t.Context(), driver.Scope{Tenant: tenant, Ref: "support"}, "of "+tenant, now)
	require.NoError(t, err)
	return e
}
