package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
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
		var m memory.Mutation
		for i := range n {
			text := bytes.Repeat([]byte(mark(i)), 1+rng.Intn([]int{20, 100, 300, 700, 1500, 3000, 6000}[rng.Intn(7)])/13)
			m.Put = append(m.Put, memory.Placed{Scope: home, Entry: entry(id(i), string(text))})
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
			_, err := st.Apply(t.Context(), home.Tenant, memory.Mutation{At: now, Erase: []memory.Located{{Scope: home, ID: id(i)}}})
			require.NoError(t, err)
		}
		for _, i := range order[:n*3/4] {
			require.Zero(t, onDisk(t, path, mark(i)), "seed %d: %s", seed, id(i))
		}
		require.NoError(t, db.Close())
	}
}

// So it is of archives that are dropped, whatever they are dropped for.
func TestM10_DropReachesWhatMoved(t *testing.T) {
	text := func(rng *rand.Rand, mark string) []byte {
		return bytes.Repeat([]byte(mark), 1+rng.Intn([]int{20, 100, 300, 700, 1500, 3000}[rng.Intn(6)])/len(mark))
	}
	mark := func(i int) string { return fmt.Sprintf("MARK%05dKRAM", i) }
	const n = 150
	rng := rand.New(rand.NewSource(2))
	path := filepath.Join(t.TempDir(), "memory.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	require.NoError(t, err)
	defer db.Close()
	a := db.Archives()
	var addresses [n]distill.Digest
	for i := range n {
		addresses[i], err = a.Keep(t.Context(), home, distill.Digest{byte(i)}, text(rng, mark(i)), now)
		require.NoError(t, err)
	}
	for _, i := range rng.Perm(n)[:n*3/4] {
		require.NoError(t, a.Drop(t.Context(), home, addresses[i], now.Add(time.Millisecond)))
		require.Zero(t, onDisk(t, path, mark(i)))
	}
}
