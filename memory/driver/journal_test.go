package driver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What journals say of a ref is what the plans did there, and nothing of what they did elsewhere.
func TestM7_JournalsSayWhatPlansDid(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 38))
		refs := []string{"", "a", "ab", "b"}
		want := map[string]map[byte]map[string]bool{}
		place := func(what byte) Located {
			l := Located{Scope{"acme", refs[rng.IntN(len(refs))]}, fmt.Sprint("entry-", rng.IntN(200))}
			if want[l.Ref] == nil {
				want[l.Ref] = map[byte]map[string]bool{}
			}
			if want[l.Ref][what] == nil {
				want[l.Ref][what] = map[string]bool{}
			}
			want[l.Ref][what][l.ID] = true
			return l
		}
		var journals [][]byte
		for range rng.IntN(5) {
			var p Plan
			for range rng.IntN(4) {
				l := place(wasPut)
				p.Insert = append(p.Insert, Placed{l.Scope, Entry{ID: l.ID}})
			}
			for range rng.IntN(4) {
				p.Retire = append(p.Retire, Retirement{Located: place(wasRetired)})
			}
			for range rng.IntN(4) {
				p.Restore = append(p.Restore, place(wasRestored))
			}
			for range rng.IntN(4) {
				p.Erase = append(p.Erase, place(wasErased))
			}
			journals = append(journals, p.Journal())
			require.Equal(t, p.Empty(), len(p.Journal()) == 0)
		}
		for _, ref := range append(refs, "never") {
			var got ChangeSet
			require.NoError(t, got.Read(journals, ref))
			for what, ids := range map[byte][]string{wasPut: got.Put, wasRetired: got.Retired, wasRestored: got.Restored, wasErased: got.Erased} {
				require.True(t, slices.IsSorted(ids))
				require.Len(t, ids, len(want[ref][what]))
				for _, id := range ids {
					require.True(t, want[ref][what][id], "seed %d", seed)
				}
			}
		}
	}
}

// A journal that ends within a name, or says what none says, is damaged.
func TestADamagedJournalIsAnError(t *testing.T) {
	p := Plan{Erase: []Located{{Scope{"acme", "support"}, "entry"}}}
	whole := p.Journal()
	for n := range len(whole) {
		err := new(ChangeSet).Read([][]byte{whole[:n]}, "support")
		if n == 0 || n == 1+1+len("support") {
			require.NoError(t, err, "it ends behind a name")
		} else {
			require.ErrorIs(t, err, ErrInternal, "%d bytes", n)
		}
	}
	require.ErrorIs(t, new(ChangeSet).Read([][]byte{{wasErased + 1, 1, 'x'}}, "support"), ErrInternal)
	require.ErrorIs(t, new(ChangeSet).Read([][]byte{{wasPut, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}}, "support"), ErrInternal)
}
