package commitment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
)

// An instant between milliseconds is rounded up, so that nothing fires before it, and the
// commitment is that of the whole millisecond.
func TestInstantsOfArmsAreRoundedUp(t *testing.T) {
	for _, finer := range []time.Duration{time.Nanosecond, 500 * time.Microsecond, time.Millisecond - 1, time.Millisecond} {
		h := newHost(t)
		e := h.note("x")
		c := h.arm(e, commitment.Arm{At: epoch.Add(time.Hour + finer)})
		require.Equal(t, epoch.Add(time.Hour+time.Millisecond), c.Arm.At)
		require.Equal(t, c.ID, h.arm(e, commitment.Arm{At: epoch.Add(time.Hour + time.Millisecond)}).ID)
		h.clock.Advance(time.Hour)
		require.Zero(t, h.tick().Fired)
		h.clock.Advance(time.Millisecond)
		require.Equal(t, 1, h.tick().Fired)

		h = newHost(t, withSchedule(func(t time.Time) time.Time { return t.Add(time.Hour + finer) }))
		require.Equal(t, epoch.Add(time.Hour+time.Millisecond), h.arm(h.note("x"), commitment.Arm{Spec: "s"}).Due)
	}
}
