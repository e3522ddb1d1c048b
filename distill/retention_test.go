package distill_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// What a pass makes ends by the calendar, counted from the instant of the pass: a month
// is as long as the one it falls into, and a day of the retention is gone at its end.
func TestD5_RetentionFollowsTheCalendar(t *testing.T) {
	for _, c := range []struct{ made, retention, ends string }{
		{"2026-02-01T10:30:00.25Z", "P1M", "2026-03-01T10:30:00.25Z"}, // 28 days
		{"2028-02-01T00:00:00Z", "P1M", "2028-03-01T00:00:00Z"},       // 29
		{"2026-04-15T23:59:59.999Z", "P1M", "2026-05-15T23:59:59.999Z"},
		{"2026-12-31T10:00:00Z", "P1M", "2027-01-31T10:00:00Z"}, // 31
		{"2026-01-31T10:00:00Z", "P1M", "2026-03-03T10:00:00Z"}, // February runs over
		{"2028-01-31T10:00:00Z", "P1M", "2028-03-02T10:00:00Z"},
		{"2027-06-01T00:00:00Z", "P1Y", "2028-06-01T00:00:00Z"}, // 366
		{"2028-02-29T00:00:00Z", "P1Y", "2029-03-01T00:00:00Z"},
		{"2026-01-31T10:00:00Z", "P1Y2M3DT4H", "2027-04-03T14:00:00Z"},
		{"2026-01-31T10:00:00Z", "P2W", "2026-02-14T10:00:00Z"},
	} {
		made, err := time.Parse(time.RFC3339Nano, c.made)
		require.NoError(t, err)
		ends, err := time.Parse(time.RFC3339Nano, c.ends)
		require.NoError(t, err)
		h := newHost(t)
		h.ms.Store(made.Add(-time.Hour).UnixMilli())
		h.put(notes(3)...)
		h.ms.Store(made.UnixMilli())
		r := h.runner(func(cfg *distill.Config) { cfg.ArchiveRetention = c.retention })
		require.Equal(t, c.retention, r.Retention())
		res := h.distill(r, distill.Options{})
		require.Equal(t, ends, res.Output.ExpiresAt, "%s from %s", c.retention, c.made)
		h.ms.Store(ends.UnixMilli() - 1)
		_, err = r.Open(ctx, h.job(), ref, res.Output.ID)
		require.NoError(t, err)
		h.ms.Store(ends.UnixMilli())
		_, err = r.Open(ctx, h.job(), ref, res.Output.ID)
		require.ErrorIs(t, err, memory.ErrNotFound)
	}
}
