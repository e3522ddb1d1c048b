package commitment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory/inmem"
)

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

// The in-memory store keeps what every commitment store has to keep. Its data
// outlive nothing but are there for all who hold it.
func TestInMemory(t *testing.T) {
	adaptertest.RunCommitmentStore(t, adaptertest.CommitmentConfig{
		New: func(context.Context) (commitment.Store, error) { return commitment.NewInMemory(), nil },
		Reopen: func(_ context.Context, s commitment.Store) (commitment.Store, error) {
			return s, nil
		},
	})
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
