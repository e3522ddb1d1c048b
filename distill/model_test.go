package distill_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// After passes, deletions, forgetting, expiry and purging in any order: the
// index is what the live entries say that name an archive, each of them opens, no archive
// is without its entry, and the head has moved once for each event.
func TestD3_D5_AnyHistoryAgreesWithItsEntries(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 8
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 1500
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 14))
		h := newHost(t)
		r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P2D" })
		refs := []string{ref, "mem://acme/sales"}
		var steps []string
		for range 40 {
			to := refs[rng.IntN(2)]
			entries := list(h, to)
			step := ""
			switch n := rng.IntN(12); {
			case n < 3:
				d := memory.Draft{Content: fmt.Sprintf("Note %d of the day.", rng.IntN(6))}
				if rng.IntN(2) == 0 {
					d.Subjects = []string{fmt.Sprint("s", rng.IntN(3))}
				}
				_, err := h.job().Put(ctx, to, d)
				require.NoError(t, err)
				step = "put"
			case n < 8:
				o := distill.Options{TokenBudget: 400 + 100*rng.IntN(2), Sources: distill.Policy(rng.IntN(3)), Recursive: rng.IntN(3) == 0}
				j := h.job()
				_, err := r.Distill(ctx, j, to, o)
				require.NoError(t, err)
				require.NoError(t, j.End(ctx))
				step = fmt.Sprintf("distill %+v", o)
			case n == 8 && len(entries) > 0:
				_, err := h.job().Delete(ctx, to, entries[rng.IntN(len(entries))].ID)
				require.NoError(t, err)
				step = "delete"
			case n == 9:
				_, err := h.bank.Forget(ctx, tenant, fmt.Sprint("s", rng.IntN(3)))
				require.NoError(t, err)
				step = "forget"
			case n == 10:
				h.advance(time.Duration(rng.IntN(3*24)) * time.Hour)
				_, err := h.bank.Purge(ctx, tenant)
				require.NoError(t, err)
				step = "wait and purge"
			default:
				h.index()
				step = "index"
			}
			steps = append(steps, step+" "+to)
			agree(t, h, refs, rng.IntN(3) == 0, fmt.Sprintf("seed %d: %s", seed, strings.Join(steps, "; ")))
			h.advance(time.Millisecond)
		}
	}
}

func list(h *host, to string) []memory.Entry {
	entries, err := h.bank.Reader(tenant).List(ctx, to, memory.ListOptions{Limit: memory.MaxListLimit})
	require.NoError(h.t, err)
	return entries
}

func agree(t *testing.T, h *host, refs []string, look bool, at string) {
	t.Helper()
	want := map[string][]distill.IndexLine{}
	for _, to := range refs {
		for _, e := range list(h, to) {
			k := slices.IndexFunc(e.Tags, func(tag string) bool { return strings.HasPrefix(tag, "archive:") })
			if k < 0 {
				continue
			}
			address := strings.TrimPrefix(e.Tags[k], "archive:")
			want[to] = append(want[to], distill.IndexLine{
				ArchiveChecksum: address, MemoryID: e.ID, EntryCount: len(e.Sources), ByteSize: len(e.Content), CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt,
			})
			a, err := h.runner().Open(ctx, h.job(), to, e.ID)
			require.NoError(t, err, at)
			require.Equal(t, e.Content, a.Text(), at)
			require.Equal(t, address, distill.DigestOf(a.Encode()), at)
		}
	}
	if look {
		require.Equal(t, want, h.index().Refs, at)
	}
	for _, d := range h.documents("distill/archive") {
		recs, err := h.raw.Lookup(ctx, d.Scope, d.Of)
		require.NoError(t, err)
		require.Len(t, recs, 1, at)
		require.False(t, recs[0].Erased, at)
	}
	updates := h.updates()
	require.Len(t, updates, int(h.version()), at)
	for i, v := range updates {
		require.EqualValues(t, i+1, v, at)
	}
}
