package commitment_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// storeCases are what every commitment store has to keep.
var storeCases = map[string]func(t *testing.T, s commitment.Store){
	"get/absent": func(t *testing.T, s commitment.Store) {
		_, err := s.Get(ctx, "acme", "cmt_1")
		require.ErrorIs(t, err, memory.ErrNotFound)
	},
	"get/whole": func(t *testing.T, s commitment.Store) {
		c := stored(t, s, whole("acme", "cmt_1"))
		got, err := s.Get(ctx, "acme", "cmt_1")
		require.NoError(t, err)
		require.Equal(t, c, got)
		got.Waiting[0] = 99
		again, err := s.Get(ctx, "acme", "cmt_1")
		require.NoError(t, err)
		require.Equal(t, c, again, "what is returned is the caller's own")
	},
	"get/tenants": func(t *testing.T, s commitment.Store) {
		stored(t, s, whole("acme", "cmt_1"))
		for _, other := range []string{"Acme", "acme ", "acm", "", "globex"} {
			_, err := s.Get(ctx, other, "cmt_1")
			require.ErrorIs(t, err, memory.ErrNotFound)
		}
	},
	"swap/revisions": func(t *testing.T, s commitment.Store) {
		c := whole("acme", "cmt_1")
		c.Rev = 1
		_, err := s.Swap(ctx, c)
		require.ErrorIs(t, err, memory.ErrConflict, "not there yet")
		c.Rev = 0
		first := stored(t, s, c)
		require.Positive(t, first.Rev)
		_, err = s.Swap(ctx, c)
		require.ErrorIs(t, err, memory.ErrConflict, "there already")
		second := stored(t, s, first)
		require.Greater(t, second.Rev, first.Rev)
		first.RunID = "late"
		_, err = s.Swap(ctx, first)
		require.ErrorIs(t, err, memory.ErrConflict, "too late")
		got, err := s.Get(ctx, "acme", "cmt_1")
		require.NoError(t, err)
		require.Equal(t, second, got)
	},
	"swap/race": func(t *testing.T, s commitment.Store) {
		c := stored(t, s, whole("acme", "cmt_1"))
		for range 50 {
			var wins sync.Map
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					mine := c
					mine.Fence = int64(i)
					if rev, err := s.Swap(ctx, mine); err == nil {
						mine.Rev = rev
						wins.Store(i, mine)
					}
				})
			}
			wg.Wait()
			n := 0
			wins.Range(func(_, v any) bool { n++; c = v.(commitment.Commitment); return true })
			require.Equal(t, 1, n, "one wins")
		}
	},
	"due/model": func(t *testing.T, s commitment.Store) {
		r := rand.New(rand.NewPCG(1, 1))
		model := map[string]commitment.Commitment{}
		for step := range 600 {
			id, tenant := fmt.Sprintf("cmt_%d", r.IntN(80)), fmt.Sprint("tenant-", r.IntN(3))
			c, known := model[tenant+id]
			if !known {
				c = whole(tenant, id)
			}
			if c.Due = epoch.Add(time.Duration(r.IntN(1000)) * time.Millisecond); r.IntN(4) == 0 {
				c.Due = time.Time{}
			}
			model[tenant+id] = stored(t, s, c)
			now, limit := epoch.Add(time.Duration(r.IntN(1200)-100)*time.Millisecond), 1+r.IntN(60)
			var want []time.Time
			for _, c := range model {
				if !c.Due.IsZero() && !c.Due.After(now) {
					want = append(want, c.Due)
				}
			}
			slices.SortFunc(want, time.Time.Compare)
			want = want[:min(limit, len(want))]
			due, err := s.Due(ctx, now, limit)
			require.NoError(t, err)
			var got []time.Time
			seen := map[string]bool{}
			for _, c := range due {
				got = append(got, c.Due)
				require.Equal(t, model[c.Tenant+c.ID], c)
				require.False(t, seen[c.Tenant+c.ID])
				seen[c.Tenant+c.ID] = true
			}
			require.Equal(t, want, got, "step %d", step)
		}
	},
	"tenant/list": func(t *testing.T, s commitment.Store) {
		for i := range 20 {
			c := whole("acme", fmt.Sprintf("cmt_%02d", 19-i))
			if c.Arm = (commitment.Arm{Predicate: []string{"a", "b"}[i%2]}); i >= 10 {
				c.State = []commitment.State{commitment.Acknowledged, commitment.Lapsed, commitment.Dead}[i%3]
			}
			stored(t, s, c)
		}
		stored(t, s, whole("globex", "cmt_05"))
		ids := func(tenant, predicate string) (out []string) {
			for c, err := range s.OfTenant(ctx, tenant, predicate) {
				require.NoError(t, err)
				_, err = s.Get(ctx, c.Tenant, c.ID) // the loop may call the store
				require.NoError(t, err)
				out = append(out, c.ID)
			}
			return out
		}
		require.Len(t, ids("acme", ""), 20)
		require.True(t, slices.IsSorted(ids("acme", "")))
		require.Equal(t, []string{"cmt_11", "cmt_13", "cmt_15", "cmt_17", "cmt_19"}, ids("acme", "a"))
		require.Empty(t, ids("acme", "A"))
		require.Empty(t, ids("globex", "a"))
		require.Empty(t, ids("nobody", ""))
		for range s.OfTenant(ctx, "acme", "") {
			break
		}
		c, err := s.Get(ctx, "acme", "cmt_11")
		require.NoError(t, err)
		c.State = commitment.Lapsed
		stored(t, s, c)
		require.Equal(t, []string{"cmt_13", "cmt_15", "cmt_17", "cmt_19"}, ids("acme", "a"))
	},
	"context": func(t *testing.T, s commitment.Store) {
		stored(t, s, whole("acme", "cmt_1"))
		done, cancel := context.WithCancel(ctx)
		cancel()
		_, err := s.Get(done, "acme", "cmt_1")
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Swap(done, whole("acme", "cmt_2"))
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Due(done, epoch, 1)
		require.ErrorIs(t, err, context.Canceled)
		for _, err := range s.OfTenant(done, "acme", "") {
			require.ErrorIs(t, err, context.Canceled)
		}
		_, err = s.Get(ctx, "acme", "cmt_2")
		require.ErrorIs(t, err, memory.ErrNotFound)
	},
}

// whole is a commitment with something in every field.
func whole(tenant, id string) commitment.Commitment {
	return commitment.Commitment{
		Tenant: tenant, ID: id, Ref: "réf", MemoryID: "mem_1",
		Arm:     commitment.Arm{At: epoch, Every: time.Hour, Zone: "", Once: true},
		ArmedAt: epoch, State: commitment.Claimed, Reason: commitment.ReasonMissed, Heir: "cmt_h", Canceled: true, Complete: true,
		Due: epoch.Add(time.Millisecond), Mark: epoch, Position: -7, Digest: strings.Repeat("d", 32),
		Claim: commitment.Claim{Instant: epoch, Position: 3, Tries: 2}, Waiting: []int64{4, 5}, Fence: 6, Lease: epoch,
		Fired: 8, RunID: "run-1",
	}
}

// stored swaps c in, which has to succeed.
func stored(t *testing.T, s commitment.Store, c commitment.Commitment) commitment.Commitment {
	t.Helper()
	rev, err := s.Swap(ctx, c)
	require.NoError(t, err)
	c.Rev = rev
	return c
}

func TestInMemory(t *testing.T) {
	for name, run := range storeCases {
		t.Run(name, func(t *testing.T) { run(t, commitment.NewInMemory()) })
	}
}

// BenchmarkIdleTick looks at a million armed commitments of which none is due.
func BenchmarkIdleTick(b *testing.B) {
	h := newHostOn(b, inmem.New(), commitment.NewInMemory())
	for i := range 1_000_000 {
		c := whole("acme", fmt.Sprint(i))
		c.State, c.Due = commitment.Armed, epoch.Add(time.Hour+time.Duration(i)*time.Second)
		_, err := h.store.Swap(ctx, c)
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if done, err := h.Tick(ctx); err != nil || done.Fired > 0 {
			b.Fatal(done, err)
		}
	}
}
