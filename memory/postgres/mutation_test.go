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
