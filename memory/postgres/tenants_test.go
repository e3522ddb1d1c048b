package postgres

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// bothWays runs a test on a database of its own without row security and on one with it.
func bothWays(t *testing.T, f func(t *testing.T, db *DB)) {
	t.Run("plain", func(t *testing.T) { f(t, openDB(t, Options{})) })
	t.Run("row security", func(t *testing.T) {
		secure := &lender{t: t, opts: Options{RowSecurity: true}, make: func() *pgxpool.Pool { return securePool(t) }}
		lent, err := secure.fresh(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { lent.Close(); lent.pool.Close() })
		f(t, lent.DB)
	})
}

func scopesOf(t *testing.T, st driver.Tenants, after driver.Scope) (all []driver.Scope) {
	for s, err := range st.Scopes(t.Context(), after) {
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

// dropAll drops a tenant and returns how many calls it took.
func dropAll(t *testing.T, st driver.Tenants, tenant string, limit int) (calls int) {
	for more := true; more; calls++ {
		var err error
		more, err = st.DropTenant(t.Context(), tenant, limit)
		require.NoError(t, err)
	}
	return calls
}

// The scopes are those of the in-memory store, from wherever the listing goes on, however long
// their names are.
func TestM1_ScopesAsInMemory(t *testing.T) {
	tenants := []string{"a", "A", "a%", "é", "e\u0301", "\U0010ffff", "\ufffd", strings.Repeat("n", 250)}
	head := strings.Repeat("r", 369)
	refs := []string{"a", "ab", "a_b", "日本", head[:368], head, head + "\x7f", head + strings.Repeat("x", 31), head + strings.Repeat("x", 32)}
	for _, last := range "abcdefgh" {
		refs = append(refs, head+strings.Repeat("長", 20)+string(last))
	}
	bothWays(t, func(t *testing.T, db *DB) {
		rng := rand.New(rand.NewPCG(1, 2))
		st, in := db.Memory(), inmem.New()
		one := func(names []string) string { return names[rng.IntN(len(names))] }
		for i := range 150 {
			s := driver.Scope{Tenant: one(tenants), Ref: one(refs)}
			e := entry(fmt.Sprint("e", rng.IntN(3)))
			var m driver.Mutation
			switch i % 5 {
			case 0, 1:
				m.Put = []driver.Placed{{Scope: s, Entry: e}}
			case 2:
				m.Erase = []driver.Located{{Scope: s, ID: e.ID}}
			case 3:
				m.Documents = []driver.DocumentSwap{{Document: driver.Document{Scope: s, Kind: "k", Key: fmt.Sprint(i)}}}
			case 4:
				s.Ref = ""
				m.Documents = []driver.DocumentSwap{{Document: driver.Document{Scope: s, Class: driver.HostText, Kind: "k", Key: fmt.Sprint(i)}}}
			}
			m.At = now
			_, err := st.Apply(t.Context(), s.Tenant, m)
			require.NoError(t, err)
			_, err = in.Apply(t.Context(), s.Tenant, m)
			require.NoError(t, err)
		}
		// Nothing but machinery that is never due, of a tenant without a counter.
		machine := driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: driver.Document{Scope: driver.Scope{Tenant: "m"}, Kind: "k", Key: "x"}}}}
		for _, a := range []driver.Transactor{st, in} {
			_, err := a.Apply(t.Context(), "m", machine)
			require.NoError(t, err)
		}
		all := scopesOf(t, in, driver.Scope{})
		require.Greater(t, len(all), 60)
		require.Equal(t, all, scopesOf(t, st, driver.Scope{}))
		for range 20 {
			after := driver.Scope{Tenant: one(tenants), Ref: one(refs)}
			require.Equal(t, scopesOf(t, in, after), scopesOf(t, st, after))
		}
		for _, gone := range []string{all[0].Tenant, "m"} {
			dropAll(t, st, gone, 3)
			dropAll(t, in, gone, 3)
			require.Equal(t, scopesOf(t, in, driver.Scope{}), scopesOf(t, st, driver.Scope{}))
		}
	})
}

// More refs and tenants than are read at a time are all listed.
func TestScopes_Pages(t *testing.T) {
	db := openDB(t, Options{})
	var want []driver.Scope
	var m driver.Mutation
	for i := range namesPage + 10 {
		s := driver.Scope{Tenant: "a", Ref: fmt.Sprintf("r%04d", i)}
		want = append(want, s)
		m.Put = append(m.Put, driver.Placed{Scope: s, Entry: entry("e")})
	}
	m.At = now
	_, err := db.Memory().Apply(t.Context(), "a", m)
	require.NoError(t, err)
	for i := range namesPage + 10 {
		s := driver.Scope{Tenant: fmt.Sprintf("t%04d", i)}
		want = append(want, s)
		_, err := db.Memory().Apply(t.Context(), s.Tenant, driver.Mutation{At: now,
			Documents: []driver.DocumentSwap{{Document: driver.Document{Scope: s, Kind: "k", Key: "x"}}}})
		require.NoError(t, err)
	}
	require.Equal(t, want, scopesOf(t, db.Memory(), driver.Scope{}))
}

// Names are found by steps into indexes, and not by reading what bears them.
func TestScopes_Plans(t *testing.T) {
	db := openDB(t, Options{})
	const fill = `
		INSERT INTO agentmemory.tenants (tenant) SELECT convert_to('t' || n, 'UTF8') FROM generate_series(1, 2000) n;
		INSERT INTO agentmemory.entries (tenant, ref, id, created_at, expires_at, born, run_id, content)
			SELECT convert_to('t' || n % 3, 'UTF8'), convert_to('r' || n % 20, 'UTF8'), convert_to(n::text, 'UTF8'), 0, 0, 1, '', '' FROM generate_series(1, 5000) n;
		INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, value)
			SELECT convert_to('t' || n % 3, 'UTF8'), convert_to('r' || n % 20, 'UTF8'), 'k', convert_to(n::text, 'UTF8'), 0, n, '' FROM generate_series(1, 5000) n;
		ANALYZE agentmemory.tenants; ANALYZE agentmemory.entries; ANALYZE agentmemory.documents`
	_, err := db.pool.Exec(t.Context(), fill)
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		args []any
	}{{nextScopes, []any{[]byte("t1"), []byte("r"), 256}}, {nextTenants, []any{[]byte("t1"), 256}}, {nextRefs, []any{[]byte("r"), 256, []byte("t1")}}} {
		rows, err := db.pool.Query(t.Context(), "EXPLAIN "+c.text, c.args...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan", plan)
		require.NotContains(t, plan, "Bitmap", plan)
	}
}

// fillTenant gives a tenant 20 entries, 60 documents of all classes and 20 events.
func fillTenant(t *testing.T, st *Store, tenant string) (versions []driver.Version) {
	for i := range 20 {
		s := driver.Scope{Tenant: tenant, Ref: fmt.Sprint(strings.Repeat("r", 300*(i%3)), i%3)}
		e := entry(fmt.Sprint("e", i))
		e.Subjects = []string{"customer:1"}
		done, err := st.Apply(t.Context(), tenant, driver.Mutation{At: now,
			Put: []driver.Placed{{Scope: s, Entry: e}},
			Documents: []driver.DocumentSwap{
				{Document: driver.Document{Scope: s, Kind: "k", Key: fmt.Sprint("m", i), Due: now}},
				{Document: driver.Document{Scope: s, Class: driver.Content, Kind: "k", Key: fmt.Sprint("c", i), Of: []string{e.ID}}},
				{Document: driver.Document{Scope: s, Class: driver.HostText, Kind: "k", Key: fmt.Sprint("h", i), Subjects: []string{"customer:1"}}},
			},
			Events: []events.Record{{ID: fmt.Sprint(i), Tenant: tenant, RunID: "r", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}},
		})
		require.NoError(t, err)
		versions = append(versions, done.Version)
		at := driver.Located{Scope: s, ID: e.ID}
		switch i % 10 {
		case 4: // in favour of one of the same ref
			_, err = st.Apply(t.Context(), tenant, driver.Mutation{At: now,
				Retire: []driver.Retirement{{Located: at, State: driver.Merged, For: fmt.Sprint("e", i-3)}}})
			require.NoError(t, err)
			_, err = st.Apply(t.Context(), tenant, driver.Mutation{At: now, Restore: []driver.Located{at}})
			require.NoError(t, err)
		case 2:
			_, err = st.Apply(t.Context(), tenant, driver.Mutation{At: now, Erase: []driver.Located{at}})
			require.NoError(t, err)
		}
	}
	keep(t, st, tenant)
	return versions
}

// Of a tenant that is dropped its row in tenants stays and the one of its new version, and
// of another tenant everything.
func TestM10_DroppedTenant(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			bothWays(t, func(t *testing.T, db *DB) {
				st := db.Memory()
				rows := func(tenant string) map[string]int {
					count := map[string]int{}
					for _, table := range securedTables {
						var n int
						require.NoError(t, db.query(t.Context(), tenantSetting(tenant), eachRow(func(row pgx.Row) error { return row.Scan(&n) }),
							"SELECT count(*) FROM agentmemory."+table+" WHERE tenant = $1", []byte(tenant)))
						count[table] = n
					}
					return count
				}
				old := fillTenant(t, st, "acme")
				kept := fillTenant(t, st, "acm")
				others := rows("acm")
				for table, n := range others {
					require.Positive(t, n, table)
				}
				require.Equal(t, others, rows("acme"))
				calls := dropAll(t, st, "acme", limit)
				require.LessOrEqual(t, calls, 100/limit+2)
				require.GreaterOrEqual(t, calls, 98/limit)
				for table, n := range rows("acme") {
					if table == "tenants" || table == "versions" {
						n--
					}
					require.Zero(t, n, table)
				}
				require.Equal(t, others, rows("acm"))
				unavailable := func() {
					for _, v := range append(old, driver.FirstMark(db.incarnation, "acme").Version(0)) {
						_, err := st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "r"}, v)
						require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
					}
				}
				unavailable()
				later := fillTenant(t, st, "acme")
				unavailable()
				for tenant, v := range map[string]driver.Version{"acme": later[0], "acm": kept[0]} {
					_, err := st.Intact(t.Context(), driver.Scope{Tenant: tenant, Ref: "r"}, v)
					require.NoError(t, err)
				}
				require.Equal(t, 1, dropAll(t, st, "nobody", limit))
			})
		})
	}
}
