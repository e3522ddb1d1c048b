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

// An index is a map, in parts that are neither empty nor too large, in whatever order ids
// come and go.
func TestIndex(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		var x index
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
			if step == 5_999 && seed%2 == 0 {
				require.LessOrEqual(t, len(x.parts), len(want)/partSize+1, "no part was split before it was full")
			}
			if step%100 == 0 {
				for _, p := range x.parts {
					require.NotEmpty(t, p.recs)
					require.LessOrEqual(t, len(p.recs), partSize)
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
		require.Empty(t, x.parts)
	}
}
