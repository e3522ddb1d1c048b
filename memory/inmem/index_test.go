package inmem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// The index is a map, for ids that ascend, ids that do not, and any mixture.
func TestIndex(t *testing.T) {
	for seed, ascending := range []int{100, 98, 50, 0} {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		var x index
		want, known := map[string]*record{}, []string{"none"}
		for i := range 30_000 {
			id := known[r.IntN(len(known))]
			fresh := r.IntN(100) < 60
			if fresh {
				n := i
				if r.IntN(100) >= ascending {
					n = r.IntN(30_000)
				}
				id = fmt.Sprintf("%08d.%d", n, i%3)
			}
			rec := &record{entry: memory.Entry{ID: id}}
			require.True(t, want[id] == x.find(id))
			switch held := want[id] != nil; {
			case !held && fresh:
				x.add(rec)
				want[id] = rec
				known = append(known, id)
			case held && r.IntN(3) == 0:
				x.remove(id)
				delete(want, id)
			case held:
				x.replace(rec)
				want[id] = rec
			}
			require.Equal(t, len(want), x.size())
		}
		for _, id := range known {
			require.True(t, want[id] == x.find(id))
		}
		all := x.all()
		require.Len(t, all, len(want))
		for _, rec := range all {
			require.True(t, want[rec.entry.ID] == rec)
		}
	}
}

// A log is a sorted slice, wherever records are inserted and removed.
func TestLog(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var l log
	var want []*record
	for i := range 12_000 {
		require.LessOrEqual(t, len(l.chunks), 2+8*len(want)/chunkSize)
		if len(want) > 0 && (i/3000%2 == 1 || r.IntN(4) == 0) {
			k := r.IntN(len(want))
			l.remove(want[k])
			want = slices.Delete(want, k, k+1)
			continue
		}
		rec := &record{created: int64(r.IntN(500)), entry: memory.Entry{ID: fmt.Sprint(i)}, born: 1, expires: never}
		k, _ := slices.BinarySearchFunc(want, rec, func(a, b *record) int {
			if a.before(b.created, b.entry.ID) {
				return -1
			}
			return 1
		})
		want = slices.Insert(want, k, rec)
		l.insert(rec)
	}
	var got []*record
	for _, c := range l.chunks {
		require.NotEmpty(t, c.recs)
		require.LessOrEqual(t, len(c.recs), chunkSize)
		got = append(got, c.recs...)
	}
	require.True(t, slices.Equal(want, got))
	require.Equal(t, len(want), l.size)
}
