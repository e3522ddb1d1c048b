package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// rowsRead is how many rows of tables and of what it makes for itself the server has read.
func rowsRead(t *testing.T, pool *sql.DB) (sum int) {
	rows, err := pool.QueryContext(t.Context(), `SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_last',
		'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int
		require.NoError(t, rows.Scan(&name, &n))
		sum += n
	}
	require.NoError(t, rows.Err())
	return sum
}

// fill makes a large scope of n entries and documents, of which a few have ended, and small tenants.
func fill(t *testing.T, st *Store, n int) {
	var m driver.Mutation
	commit := func(tenant string) {
		m.At = now
		_, err := st.Apply(t.Context(), tenant, m)
		require.NoError(t, err)
		m = driver.Mutation{}
	}
	for i := range n {
		m.Events = append(m.Events, eventOf(fmt.Sprint("kept-", i/10), fmt.Sprint("evt-", i)))
	}
	m.Keep = true
	commit(home.Tenant)
	for i := range n {
		e := entry(fmt.Sprintf("%06d", i))
		e.CreatedAt = now.Add(-time.Duration(i) * time.Second)
		if i%100 == 0 {
			e.Subjects = []string{"a subject"}
		}
		m.Put = append(m.Put, driver.Placed{Scope: home, Entry: e})
		d := driver.Document{Scope: home, Class: driver.Content, Kind: "vector", Key: e.ID, Of: []string{e.ID}, Value: []byte("v")}
		lease := driver.Document{Scope: driver.Scope{Tenant: home.Tenant}, Kind: "lease", Key: e.ID, Due: e.CreatedAt, Group: "of " + e.ID}
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: d}, driver.DocumentSwap{Document: lease})
		m.Events = append(m.Events, eventOf(fmt.Sprint("run-", i/10), fmt.Sprint("evt-", i)))
	}
	commit(home.Tenant)
	for i := range 20 {
		m.Retire = append(m.Retire, driver.Retirement{Located: driver.Located{Scope: home, ID: entry(fmt.Sprintf("%06d", n-1-i)).ID}, State: driver.Deleted})
	}
	commit(home.Tenant)
	for i := range n / 20 {
		s := driver.Scope{Tenant: fmt.Sprintf("small-%04d", i), Ref: "r"}
		m.Put = []driver.Placed{{Scope: s, Entry: entry("1")}, {Scope: s, Entry: entry("2")}}
		commit(s.Tenant)
	}
}

// Each call reads what it is about, and no more for all that the scope, the tenant and the others hold.
func TestM5_PlansReadWhatTheyName(t *testing.T) {
	s := ownServer(t)
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE plans"))
	st := opened(t, s.in("plans")).Memory()
	pool, err := sql.Open("mysql", s.in("plans"))
	require.NoError(t, err)
	defer pool.Close()
	const large = 2000
	fill(t, st, large)
	ctx := t.Context()
	first, err := st.Version(ctx, "small-0001")
	require.NoError(t, err)
	before, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	id := func(i int) string { return entry(fmt.Sprintf("%06d", i)).ID }
	at := func(i int) driver.Located { return driver.Located{Scope: home, ID: id(i)} }
	listed := func(q driver.Query) func() error {
		return func() error { q.At = now.Add(-time.Hour); _, err := st.List(ctx, home, q); return err }
	}
	some := func(n int, each func(yield func(error) bool)) func() error {
		return func() (failed error) {
			for err := range each {
				if n--; err != nil || n == 0 {
					return err
				}
			}
			return nil
		}
	}
	documents := func(q driver.DocumentQuery) func() error {
		q.Tenant = home.Tenant
		return some(10, func(yield func(error) bool) {
			st.Documents(ctx, q)(func(_ driver.Document, err error) bool { return yield(err) })
		})
	}
	history := func(q driver.HistoryQuery) func() error {
		return some(10, func(yield func(error) bool) {
			st.History(ctx, home.Tenant, q)(func(_ driver.Record, err error) bool { return yield(err) })
		})
	}
	mutated := func(m driver.Mutation) func() error {
		m.At = now
		return func() error { _, err := st.Apply(ctx, home.Tenant, m); return err }
	}
	n := 0
	const page = 3 * 256
	valued, intact := 13*256, 20 // a page with values is put in order, and its bytes are summed up
	if os.Getenv(envServer) != "" {
		valued, intact = 18*256, 30 // MySQL writes one more table for itself
	}
	looked := rowsRead(t, pool)
	looked = rowsRead(t, pool) - looked // the rows of the status itself
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			for _, table := range tables {
				run(t, s.in("plans"), "ANALYZE TABLE "+table)
			}
		}
		for _, x := range []struct {
			name string
			rows int
			call func() error
		}{
			{"get", 2, func() error { _, err := st.Get(ctx, home, id(7), now.Add(-time.Hour)); return err }},
			{"list", 12, listed(driver.Query{Limit: 10})},
			{"list behind", 13, listed(driver.Query{Limit: 10, After: driver.Cursor{CreatedAt: now.Add(-1000 * time.Second), ID: id(1000)}})},
			{"list of ids", 30, listed(driver.Query{IDs: []string{id(1), id(2), id(3)}})},
			{"list at a version", 150, listed(driver.Query{Limit: 10, Version: before})},
			{"list of ids at a version", 40, listed(driver.Query{IDs: []string{id(1), id(2), id(3)}, Version: before})},
			{"lookup", 30, func() error { _, err := st.Lookup(ctx, home, []string{id(1), id(2), "none"}); return err }},
			{"history", page, history(driver.HistoryQuery{})},
			{"history of a ref", page, history(driver.HistoryQuery{Ref: home.Ref})},
			{"history of a subject", 100, history(driver.HistoryQuery{Subject: "a subject"})},
			{"history of successors", 20, history(driver.HistoryQuery{Ref: home.Ref, For: []string{id(1), id(2)}})},
			{"documents of a ref", valued, documents(driver.DocumentQuery{Ref: home.Ref})},
			{"documents of a kind", valued, documents(driver.DocumentQuery{EveryRef: true, Kind: "vector"})},
			{"documents behind one", valued, documents(driver.DocumentQuery{EveryRef: true, Kind: "vector", After: &driver.Document{Scope: home, Kind: "vector", Key: id(1500)}})},
			{"documents, bare", page, documents(driver.DocumentQuery{Ref: home.Ref, Bare: true})},
			{"a document", 2, documents(driver.DocumentQuery{Ref: home.Ref, Kind: "vector", Key: id(5)})},
			{"documents of a group", 30, documents(driver.DocumentQuery{EveryRef: true, Group: "of " + id(5), Kind: "lease"})},
			{"due", 20, func() error { _, err := st.Due(ctx, "lease", now, 10); return err }},
			{"version", 2, func() error { _, err := st.Version(ctx, home.Tenant); return err }},
			{"intact", intact, func() error { _, err := st.Intact(ctx, home, before); return err }},
			{"changes", 8, func() error { _, err := st.Changes(ctx, home, before, before); return err }},
			{"waiting", 30, func() error { _, err := st.Waiting(ctx, home.Tenant, 10); return err }},
			{"waiting of all", 30, func() error { _, err := st.Waiting(ctx, "", 10); return err }},
			{"undelivered of a run", 30, func() error {
				for _, err := range st.Undelivered(ctx, home.Tenant, "run-50") {
					if err != nil {
						return err
					}
				}
				return nil
			}},
			{"undelivered", page, some(10, func(yield func(error) bool) {
				st.Undelivered(ctx, "", "")(func(_ events.Record, err error) bool { return yield(err) })
			})},
			{"a page of kept events", 20, func() error { _, err := st.Read(ctx, home.Tenant, "kept-50", 0, 10); return err }},
			{"a scope", 20, some(1, func(yield func(error) bool) {
				st.Scopes(ctx, driver.Scope{})(func(_ driver.Scope, err error) bool { return yield(err) })
			})},
			{"a put", 40, func() error {
				n++
				return mutated(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: entry(fmt.Sprint("new ", n))}}})()
			}},
			{"a claim", 20, func() error {
				n++
				return mutated(driver.Mutation{Documents: swapOf(fmt.Sprint("claim ", n), 0, driver.Set).Documents})()
			}},
			{"an erasure", 80, func() error { n++; return mutated(driver.Mutation{Erase: []driver.Located{at(100 + n)}})() }},
			{"a merge", 80, func() error {
				n += 2
				return mutated(driver.Mutation{MergedInto: map[driver.Located][]string{at(100 + n): nil},
					Retire: []driver.Retirement{{Located: at(99 + n), State: driver.Merged, For: id(100 + n)}}})()
			}},
			{"delivered", 20, func() error {
				n++
				return st.Delivered(ctx, []events.Record{eventOf(fmt.Sprint("run-", n/10), fmt.Sprint("evt-", n))})
			}},
			{"a purge of a small tenant", 60, func() error { _, err := st.Purge(ctx, "small-0001", first, now); return err }},
			{"a drop of a small tenant", 80, func() error {
				n++
				_, err := st.DropTenant(context.Background(), fmt.Sprintf("small-%04d", n), 100)
				return err
			}},
		} {
			was := rowsRead(t, pool)
			require.NoError(t, x.call(), x.name)
			rows := rowsRead(t, pool) - was - looked
			t.Logf("%-28s %d rows", x.name, rows)
			if rows > x.rows {
				t.Errorf("%s read %d rows, at most %d were to be read (analyzed: %v)", x.name, rows, x.rows, analyzed)
			}
		}
	}
}
