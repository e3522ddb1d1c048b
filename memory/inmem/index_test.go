package inmem

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// An index is a map in whatever order ids come and go, and in full parts as long as they
// ascend.
func TestIndex(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		x := newIndex()
		want := map[string]*record{}
		for step := range 12_000 {
			id := fmt.Sprintf("%05d", r.IntN(20_000))
			if seed%2 == 0 && step < 6_000 {
				id = fmt.Sprintf("%05d", step*3) // as a bank issues them
			}
			require.Same(t, want[id], x.find(id))
			if want[id] == nil {
				want[id] = &record{entry: &driver.Entry{ID: id}}
				x.add(id, want[id])
			} else if step > 6_000 {
				x.remove(id)
				delete(want, id)
			}
			if step%100 == 0 {
				require.Equal(t, len(want), x.size)
				for n, p := range x.parts {
					require.True(t, n == 0 || len(p.recs) > 0)
				}
				if seed%2 == 0 && step < 6_000 {
					require.Len(t, x.parts, max(1, (len(want)+partSize-1)/partSize), "a part was begun before the last one was full")
				}
			}
		}
		all := slices.Collect(x.all())
		require.Len(t, all, len(want))
		for _, r := range all {
			require.Same(t, want[r.entry.ID], r)
		}
		for id := range maps.Clone(want) {
			x.remove(id)
			delete(want, id)
			require.Nil(t, x.find(id))
		}
		require.Len(t, x.parts, 1)
		require.Zero(t, x.size)
	}
}
