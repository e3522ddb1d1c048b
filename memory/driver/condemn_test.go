package driver

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A purge keeps what the definition keeps, on random forests of successors.
func TestCondemn(t *testing.T) {
	rand := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := 1 + rand.IntN(12)
		relics := make([]Relic, n)
		for i := range relics {
			relics[i] = Relic{ID: strconv.Itoa(i), Over: rand.IntN(3) > 0}
			if rand.IntN(3) > 0 { // only later ones, so that no chain is a ring
				relics[i].For = strconv.Itoa(i + 1 + rand.IntN(n+2-i))
			}
		}
		rand.Shuffle(n, func(i, j int) { relics[i], relics[j] = relics[j], relics[i] })

		byID := map[string]*Relic{}
		for i := range relics {
			byID[relics[i].ID] = &relics[i]
		}
		var overToTheEnd func(r *Relic) bool
		overToTheEnd = func(r *Relic) bool {
			if r.For == "" {
				return r.Over
			}
			next := byID[r.For]
			return next != nil && overToTheEnd(next)
		}
		stays := map[string]bool{}
		for _, r := range relics {
			if !r.Over || !overToTheEnd(&r) {
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
