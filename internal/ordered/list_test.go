package ordered

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A list is a sorted slice after any insertions and removals.
func TestList(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		list := List[int]{Compare: cmp.Compare[int]}
		var want []int
		same := func() {
			require.Equal(t, want, slices.AppendSeq([]int(nil), list.From(-1)))
			for _, ch := range list.chunks {
				require.True(t, 0 < len(ch) && len(ch) <= most)
			}
		}
		for step := range 12_000 {
			n := r.IntN(20_000)
			if seed%2 == 0 && step < 6_000 {
				n = step * 3 // as ids of a bank come
			}
			i, held := slices.BinarySearch(want, n)
			if !held {
				list.Insert(n)
				want = slices.Insert(want, i, n)
			}
			if step > 6_000 && r.IntN(100) < 90 && len(want) > 0 {
				i := r.IntN(len(want))
				if seed%3 == 0 {
					i = 0 // as the earliest of what is due goes
				}
				list.Remove(want[i])
				want = slices.Delete(want, i, i+1)
			}
			if step%1500 == 0 {
				same()
				x := r.IntN(20_000)
				i, _ := slices.BinarySearch(want, x)
				require.Equal(t, append([]int(nil), want[i:]...), slices.AppendSeq([]int(nil), list.From(x)))
				before := slices.AppendSeq([]int(nil), list.Before(x))
				slices.Reverse(before)
				require.Equal(t, append([]int(nil), want[:i]...), before)
			}
		}
		for len(want) > 0 {
			i := r.IntN(len(want))
			list.Remove(want[i])
			want = slices.Delete(want, i, i+1)
			if len(want)%1000 == 1 {
				same()
			}
		}
		require.Empty(t, list.chunks)
	}
}

// Equal items are counted.
func TestListHoldsAnItemSeveralTimes(t *testing.T) {
	list := List[int]{Compare: cmp.Compare[int]}
	for n := range 3 * most {
		list.Insert(n % 3)
	}
	for range most {
		list.Remove(1)
	}
	require.Equal(t, append(slices.Repeat([]int{0}, most), slices.Repeat([]int{2}, most)...), slices.Collect(list.From(0)))
}
