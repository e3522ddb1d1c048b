package dates_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/dates"
)

func TestCron(t *testing.T) {
	for spec, want := range map[string]string{ // after Sunday, 1 March 2026, 09:00 UTC
		"0 9 * * 1-5":                          "2026-03-02T09:00:00Z",
		"0 9 * * MON-FRI":                      "2026-03-02T09:00:00Z",
		"0 9 5,20 * *":                         "2026-03-05T09:00:00Z",
		"0 0 29 2 *":                           "2028-02-29T00:00:00Z",
		"CRON_TZ=Europe/Berlin 0 9 * * *":      "2026-03-02T08:00:00Z",
		"CRON_TZ=America/New_York 30 17 * * 1": "2026-03-02T22:30:00Z",
		"CRON_TZ=UTC */15 * * * *":             "2026-03-01T09:15:00Z",
	} {
		s, err := dates.Cron(spec)
		require.NoError(t, err, spec)
		next := s.Next(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
		require.Equal(t, want, next.UTC().Format(time.RFC3339), spec)
	}
	for _, spec := range []string{
		"", "TZ=", "CRON_TZ=", "CRON_TZ= ", "CRON_TZ=UTC", "CRON_TZ=UTC ", "TZ=UTC 0 9 * * *", "CRON_TZ=Nowhere 0 9 * * *", "CRON_TZ=Local 0 9 * * *",
		"CRON_TZ=  0 9 * * *", "0 0 31 2 *", "0 0 30 feb *", "* * 31 2 *", "CRON_TZ=Europe/Berlin */5 * 30 2 *", "* * * *", "0 0 9 * * *", "60 * * * *", "* 24 * * *", "*/0 * * * *", "5-1 * * * *", "@daily", "@every 1s", "daily", "\xff",
	} {
		require.NotPanics(t, func() {
			_, err := dates.Cron(spec)
			require.Error(t, err, spec)
		}, spec)
	}
}
