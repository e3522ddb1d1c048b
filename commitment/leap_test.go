package commitment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
)

// A commitment that fired while the clock showed 2099 waits for its next instant after that, since
// its mark moves forward only. Another arm takes its place.
func TestK2_AClockThatLeapsLeavesRepeatedCommitmentsThere(t *testing.T) {
	h := newHost(t)
	right := h.clock.Now()
	hourly := h.arm(commitment.Source{Ref: "ref"}, commitment.Arm{Every: time.Hour})
	h.clock.ms.Store(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	require.Equal(t, 1, h.tick().Fired)

	h.clock.ms.Store(right.UnixMilli())
	h.restart()
	require.Equal(t, 2099, h.get(hourly).Due.Year())
	_, err := h.Cancel(ctx, "acme", hourly.ID)
	require.NoError(t, err)
	again := h.arm(commitment.Source{Ref: "ref"}, commitment.Arm{At: right, Every: time.Hour})
	require.NotEqual(t, hourly.ID, again.ID)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
}
