package postgres

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// A put that says the same again makes no version.
func TestM8_PutAgain(t *testing.T) {
	st, ctx := openDB(t, Options{}).Memory(), t.Context()
	s := driver.Scope{Tenant: "acme", Ref: "support"}
	e := entry("1")
	require.NoError(t, st.Put(ctx, s, e))
	before, err := st.Version(ctx, "acme")
	require.NoError(t, err)
	require.NoError(t, st.Put(ctx, s, e))
	after, err := st.Version(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// Two mutations that each rest on the absence of what the other makes do not both succeed,
// and what one mutation moves is found by another in one of its two places.
func TestK2_AbsentMachinery(t *testing.T) {
	st, ctx := openDB(t, Options{}).Memory(), t.Context()
	swap := func(key string, i int, rev int64, act driver.Act) driver.DocumentSwap {
		return driver.DocumentSwap{Act: act, Document: driver.Document{Scope: driver.Scope{Tenant: "acme"}, Kind: "k", Key: fmt.Sprint(key, i), Rev: rev}}
	}
	race := func(a, b []driver.DocumentSwap) (errs [2]error) {
		var both sync.WaitGroup
		for i, swaps := range [][]driver.DocumentSwap{a, b} {
			both.Go(func() { _, errs[i] = st.Apply(ctx, "acme", driver.Mutation{Documents: swaps}) })
		}
		both.Wait()
		return errs
	}
	for i := range 100 {
		errs := race([]driver.DocumentSwap{swap("a", i, 0, driver.Check), swap("b", i, 0, driver.Set)},
			[]driver.DocumentSwap{swap("b", i, 0, driver.Check), swap("a", i, 0, driver.Set)})
		require.ElementsMatch(t, []error{nil, driver.ErrConflict}, errs[:])

		made, err := st.Apply(ctx, "acme", driver.Mutation{Documents: []driver.DocumentSwap{swap("old", i, 0, driver.Set)}})
		require.NoError(t, err)
		errs = race([]driver.DocumentSwap{swap("old", i, made.Revs[0], driver.Remove), swap("new", i, 0, driver.Set)},
			[]driver.DocumentSwap{swap("old", i, 0, driver.Check), swap("new", i, 0, driver.Remove)})
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], driver.ErrConflict)
	}
}

// What finds the documents of a subject, or of entries, reads none of the tenant's others,
// though the plan was made for any tenant.
func TestPlans_DocumentsAreLookedUp(t *testing.T) {
	db, ctx := openDB(t, Options{}), t.Context()
	const fill = `
		INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, made_of, subjects, value)
		SELECT 'big', 'r', 'k', convert_to(i::text, 'UTF8'), 1 + i % 2, i, NULL, NULL, '' FROM generate_series(1, 5000) i;
		INSERT INTO agentmemory.document_of SELECT tenant, ref, kind, key, key FROM agentmemory.documents WHERE class = 1;
		INSERT INTO agentmemory.document_subjects SELECT tenant, ref, kind, key, key FROM agentmemory.documents WHERE class = 2;
		ANALYZE agentmemory.documents, agentmemory.document_of, agentmemory.document_subjects`
	conn, err := db.pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(ctx, fill)
	require.NoError(t, err)
	bySubject, _ := documentsSQL(&driver.DocumentQuery{Tenant: "big", EveryRef: true, Subject: "1"})
	for i, sql := range []string{
		`(bytea, bytea, bytea, bytea, bytea, bytea) AS ` + bySubject,
		`(bytea, bytea[], bytea[]) AS ` + removeDocumentsOf,
	} {
		_, err = conn.Exec(ctx, fmt.Sprint(`SET plan_cache_mode = force_generic_plan; PREPARE looked`, i, sql))
		require.NoError(t, err)
		var plan string
		args := []string{`('big', '', '', '', '1', '1')`, `('big', '{r}', '{2}')`}[i]
		require.NoError(t, conn.QueryRow(ctx, fmt.Sprint(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE looked`, i, args)).Scan(&plan))
		require.NotRegexp(t, `"Actual Rows": \d{3}|Rows Removed by (Filter|Join Filter)": \d{3}`, plan)
	}
	_, err = conn.Exec(ctx, `RESET plan_cache_mode; DEALLOCATE looked0; DEALLOCATE looked1`)
	require.NoError(t, err)
}
