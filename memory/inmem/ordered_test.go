package inmem

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// An ordered list is a sorted slice, in few chunks, whatever comes and goes.
func TestOrdered(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		list := ordered[int]{compare: cmp.Compare[int]}
		var want []int
		same := func() {
			require.Equal(t, want, slices.AppendSeq([]int(nil), list.from(-1)))
			for c, ch := range list.chunks {
				require.True(t, 0 < len(ch) && len(ch) <= chunkSize)
				if c > 0 {
					require.Greater(t, len(list.chunks[c-1])+len(ch), chunkSize/4)
				}
			}
		}
		for step := range 12_000 {
			n := r.IntN(20_000)
			if seed%2 == 0 && step < 6_000 {
				n = step * 3 // as ids of a bank come
			}
			i, held := slices.BinarySearch(want, n)
			if !held {
				list.insert(n)
				want = slices.Insert(want, i, n)
			}
			if step > 6_000 && r.IntN(100) < 90 && len(want) > 0 {
				i := r.IntN(len(want))
				if seed%3 == 0 {
					i = 0 // as the earliest of what is due goes
				}
				list.remove(want[i])
				want = slices.Delete(want, i, i+1)
			}
			if step%1500 == 0 {
				same()
				x := r.IntN(20_000)
				i, _ := slices.BinarySearch(want, x)
				require.Equal(t, append([]int(nil), want[i:]...), slices.AppendSeq([]int(nil), list.from(x)))
			}
		}
		for len(want) > 0 {
			i := r.IntN(len(want))
			list.remove(want[i])
			want = slices.Delete(want, i, i+1)
			if len(want)%1000 == 1 {
				same()
			}
		}
		require.Empty(t, list.chunks)
	}
}
