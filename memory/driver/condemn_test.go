package driver

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A purge keeps what the definition keeps, on random forests of successors: also what an
// erasure of an end that is gone restores (M10).
func TestCondemn(t *testing.T) {
	rand := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := 1 + rand.IntN(12)
		relics := make([]Relic, n)
		for i := range relics {
			relics[i] = Relic{ID: strconv.Itoa(i), State: []State{Live, Deleted}[rand.IntN(2)], Ended: rand.IntN(2) > 0}
			if rand.IntN(3) > 0 { // only later ones, so that no chain is a ring
				relics[i].For = strconv.Itoa(i + 1 + rand.IntN(n+2-i))
				relics[i].State = []State{Merged, Merged, Superseded}[rand.IntN(3)]
			}
			relics[i].Retired = relics[i].State != Live && rand.IntN(3) > 0
		}
		rand.Shuffle(n, func(i, j int) { relics[i], relics[j] = relics[j], relics[i] })

		byID := map[string]*Relic{}
		for i := range relics {
			byID[relics[i].ID] = &relics[i]
		}
		endOf := func(r *Relic) *Relic {
			for r != nil && r.For != "" {
				r = byID[r.For]
			}
			return r
		}
		over := func(r *Relic) bool { return r != nil && (r.Ended || r.Retired) }
		mayReturn := func(r *Relic) bool {
			ended := r.Ended
			for r.State == Merged {
				r = byID[r.For]
			}
			return !ended && r.State == Live
		}
		stays := map[string]bool{}
		for _, r := range relics {
			if !over(&r) || !over(endOf(&r)) || mayReturn(&r) {
				for next := &r; next != nil; next = byID[next.For] {
					stays[next.ID] = true
				}
			}
		}
		var want []string
		for _, r := range relics {
			if !stays[r.ID] {
				want = append(want, r.ID)
			}
		}
		got := Condemn(relics)
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, want, got, "%+v", relics)
	}
}
