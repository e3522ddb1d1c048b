package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// What SQLite moved from page to page before it was erased is not on the pages that it
// left either.
func TestM10_ErasureReachesWhatMoved(t *testing.T) {
	for _, seed := range []int64{9, 18, 26} {
		rng := rand.New(rand.NewSource(seed))
		db, path := fresh(t)
		st := db.Memory()
		mark := func(i int) string { return fmt.Sprintf("MARK%05dKRAM", i) }
		id := func(i int) string { return fmt.Sprintf("id%05d", i) }
		purge := func() {
			v, err := st.Version(t.Context(), home.Tenant)
			require.NoError(t, err)
			_, err = st.Purge(t.Context(), home.Tenant, v, now)
			require.NoError(t, err)
		}
		const n = 200
		var m driver.Mutation
		for i := range n {
			text := bytes.Repeat([]byte(mark(i)), 1+rng.Intn([]int{20, 100, 300, 700, 1500, 3000, 6000}[rng.Intn(7)])/13)
			m.Put = append(m.Put, driver.Placed{Scope: home, Entry: entry(id(i), string(text))})
		}
		_, err := st.Apply(t.Context(), home.Tenant, m)
		require.NoError(t, err)
		order := rng.Perm(n)
		for _, i := range order[:n/2] {
			_, err := st.Delete(t.Context(), home, id(i), now)
			require.NoError(t, err)
			if rng.Intn(3) == 0 {
				purge()
			}
		}
		purge()
		for _, i := range order[n/2 : n*3/4] {
			_, err := st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: id(i)}}})
			require.NoError(t, err)
		}
		for _, i := range order[:n*3/4] {
			require.Zero(t, onDisk(t, path, mark(i)), "seed %d: %s", seed, id(i))
		}
		require.NoError(t, db.Close())
	}
}
