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
func TestPurgeable(t *testing.T) {
	rand := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := 1 + rand.IntN(12)
		recs := make([]Record, n)
		retired := map[string]bool{}
		for i := range recs {
			recs[i] = Record{Entry: Entry{ID: strconv.Itoa(i)}, State: []State{Live, Deleted}[rand.IntN(2)]}
			switch rand.IntN(4) {
			case 0:
				recs[i].Erased = true
			case 1:
				recs[i].Entry.ExpiresAt = noon
			}
			if rand.IntN(3) > 0 { // only later ones, so that no chain is a ring
				recs[i].For = strconv.Itoa(i + 1 + rand.IntN(n+2-i))
				recs[i].State = []State{Merged, Merged, Superseded}[rand.IntN(3)]
			}
			retired[recs[i].Entry.ID] = recs[i].State != Live && rand.IntN(3) > 0
		}
		rand.Shuffle(n, func(i, j int) { recs[i], recs[j] = recs[j], recs[i] })

		byID := map[string]*Record{}
		for i := range recs {
			byID[recs[i].Entry.ID] = &recs[i]
		}
		endOf := func(r *Record) *Record {
			for r != nil && r.For != "" {
				r = byID[r.For]
			}
			return r
		}
		ended := func(r *Record) bool { return r.Erased || !r.Entry.ExpiresAt.IsZero() }
		over := func(r *Record) bool { return r != nil && (ended(r) || retired[r.Entry.ID]) }
		mayReturn := func(r *Record) bool {
			gone := ended(r)
			for r.State == Merged {
				r = byID[r.For]
			}
			return !gone && r.State == Live
		}
		stays := map[string]bool{}
		for _, r := range recs {
			if !over(&r) || !over(endOf(&r)) || mayReturn(&r) {
				for next := &r; next != nil; next = byID[next.For] {
					stays[next.Entry.ID] = true
				}
			}
		}
		var want []string
		for _, r := range recs {
			if !stays[r.Entry.ID] {
				want = append(want, r.Entry.ID)
			}
		}
		stored := Stored{Entries: map[Located]Record{}}
		for _, r := range recs {
			stored.Entries[Located{ID: r.Entry.ID}] = r
		}
		var got []string
		for _, l := range stored.Purgeable(func(r *Record) bool { return retired[r.Entry.ID] }, noon) {
			got = append(got, l.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, want, got, "%+v", recs)
	}
}
