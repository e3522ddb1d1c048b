package commitment_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

// oracle walks the minutes from one instant to another, looks at the clock on the
// wall, and lists the instants at which it shows, or has jumped over, a minute that
// matches and that it has not shown before.
func oracle(from, to time.Time, in *time.Location, match func(wall time.Time) bool) []time.Time {
	shown := func(t time.Time) time.Time {
		_, offset := t.In(in).Zone()
		return t.Add(time.Duration(offset) * time.Second)
	}
	var out []time.Time
	latest := shown(from)
	for t := from.Add(time.Minute); !t.After(to); t = t.Add(time.Minute) {
		w := shown(t)
		hit := false
		for ; latest.Before(w); latest = latest.Add(time.Minute) {
			hit = hit || match(latest.Add(time.Minute))
		}
		if hit {
			out = append(out, t.UTC())
		}
	}
	return out
}

func TestCronAgainstTheClockOnTheWall(t *testing.T) {
	schedules := 10
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		schedules = 250
	}
	r := rand.New(rand.NewPCG(3, 3))
	number := func(low, high int) (string, func(int) bool) {
		switch r.IntN(5) {
		case 0:
			return "*", func(int) bool { return true }
		case 1:
			step := 2 + r.IntN(9)
			return fmt.Sprintf("*/%d", step), func(n int) bool { return (n-low)%step == 0 }
		case 2:
			a := low + r.IntN(high-low+1)
			b := a + r.IntN(high-a+1)
			return fmt.Sprintf("%d-%d", a, b), func(n int) bool { return n >= a && n <= b }
		}
		a, b := low+r.IntN(high-low+1), low+r.IntN(high-low+1)
		return fmt.Sprintf("%d,%d", a, b), func(n int) bool { return n == a || n == b }
	}
	for _, place := range []struct {
		zone string
		from time.Time // some days before the clocks change
	}{
		{"Europe/Berlin", time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC)},
		{"Europe/Berlin", time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC)},
		{"America/New_York", time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)},
		{"America/New_York", time.Date(2026, 10, 30, 0, 0, 0, 0, time.UTC)},
		{"Australia/Lord_Howe", time.Date(2026, 4, 3, 0, 0, 0, 0, time.UTC)}, // half an hour
		{"Australia/Lord_Howe", time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC)},
		{"America/Sao_Paulo", time.Date(2018, 11, 2, 0, 0, 0, 0, time.UTC)}, // at midnight
		{"Pacific/Apia", time.Date(2011, 12, 28, 0, 0, 0, 0, time.UTC)},     // a day is missing
		{"Antarctica/Troll", time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC)},  // two hours
		{"UTC", time.Date(2026, 2, 26, 0, 0, 0, 0, time.UTC)},
	} {
		in := zone(t, place.zone)
		to := place.from.Add(5 * day)
		for range schedules {
			minute, onMinute := number(0, 59)
			hour, onHour := number(0, 23)
			weekday, onWeekday := number(0, 6)
			spec := minute + " " + hour + " * * " + weekday
			s, err := commitment.ParseCron(spec, in)
			require.NoError(t, err, spec)
			want := oracle(place.from, to, in, func(w time.Time) bool {
				return onMinute(w.Minute()) && onHour(w.Hour()) && onWeekday(int(w.Weekday()))
			})
			var got []time.Time
			for at := s.Next(place.from); !at.IsZero() && !at.After(to); at = s.Next(at) {
				got = append(got, at.UTC())
			}
			require.Equal(t, want, got, "%s in %s from %s", spec, place.zone, place.from)
			// From any instant, not only from one of its own.
			for range 5 {
				from := place.from.Add(time.Duration(r.Int64N(int64(4 * day))))
				var next time.Time
				for _, w := range want {
					if w.After(from) {
						next = w
						break
					}
				}
				if got := s.Next(from); !next.IsZero() {
					require.True(t, next.Equal(got), "%s in %s after %s: %s, want %s", spec, place.zone, from, got, next)
				}
			}
		}
	}
}

func TestCronGapsAndOverlaps(t *testing.T) {
	in := zone(t, "Europe/Berlin")
	s, err := commitment.ParseCron("30 2 * * *", in)
	require.NoError(t, err)
	// 29 March 2026: the clocks go from 2:00 to 3:00. 25 October: from 3:00 to 2:00.
	for _, c := range []struct{ after, want string }{
		{"2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"}, // at the change
		{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"}, // the first 2:30
		{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}, // not the second
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Next(after).UTC().Format(time.RFC3339))
	}
}

func TestCronFields(t *testing.T) {
	next := func(spec string) string {
		s, err := commitment.ParseCron(spec, nil)
		require.NoError(t, err, spec)
		at := s.Next(epoch)
		if at.IsZero() {
			return "never"
		}
		return at.Format("2006-01-02T15:04")
	}
	for spec, want := range map[string]string{
		"0 9 * * 1-5":      "2026-03-02T09:00",
		"0 9 * * MON-FRI":  "2026-03-02T09:00",
		"0 9 5,20 * *":     "2026-03-05T09:00",
		"0 0 29 2 *":       "2028-02-29T00:00",
		"0 0 30 feb *":     "never",
		"5/20 10 * * *":    "2026-03-01T10:05",
		"0 9 * * 7":        "2026-03-08T09:00",
		"0 0 13 * fri":     "2026-03-06T00:00", // either day
		"0 0 */2 * 1":      "2026-03-09T00:00", // both: one day field begins with a star
		"59 23 31 dec sun": "2026-12-06T23:59",
	} {
		require.Equal(t, want, next(spec), spec)
	}
	for _, bad := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "-1 * * * *", "+1 * * * *",
		"*/0 * * * *", "*/x * * * *", "5-1 * * * *", "a * * * *", "1- * * * *", ", * * * *", "1,,2 * * * *", "TZ=UTC * * * * *", "@daily", "... * * * *", "* * * ... *",
		strings.Repeat("1,", 200) + "1 * * * *",
	} {
		_, err := commitment.ParseCron(bad, nil)
		require.ErrorIs(t, err, memory.ErrValidation, bad)
	}
}

// scheduleFunc is a host's schedule.
type scheduleFunc func(time.Time) time.Time

func (f scheduleFunc) Next(t time.Time) time.Time { return f(t) }

func withSchedule(next func(time.Time) time.Time) option {
	return func(c *commitment.Config) {
		c.Schedule = func(string, *time.Location) (commitment.Schedule, error) { return scheduleFunc(next), nil }
	}
}

func TestSchedulesThatDoNotMoveOn(t *testing.T) {
	broken := map[string]func(time.Time) time.Time{
		"zero":    func(time.Time) time.Time { return time.Time{} },
		"past":    func(t time.Time) time.Time { return t.Add(-time.Hour) },
		"same":    func(t time.Time) time.Time { return t },
		"too far": func(t time.Time) time.Time { return t.AddDate(9000, 0, 0) },
	}
	for name, next := range broken {
		h := newHost(t, withSchedule(next))
		_, err := h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "s"})
		require.ErrorIs(t, err, memory.ErrValidation, name)

		// One that breaks later ends the commitment after what it had.
		calls := 0
		h = newHost(t, withSchedule(func(t time.Time) time.Time {
			if calls++; calls == 1 {
				return t.Add(time.Hour)
			}
			return next(t)
		}))
		c := h.arm(h.note("x"), commitment.Arm{Spec: "s"})
		h.clock.Advance(time.Hour)
		require.Equal(t, 1, h.tick().Fired, name)
		require.Equal(t, 2, calls, name)
		got := h.get(c)
		require.Equal(t, commitment.Lapsed, got.State, name)
		require.Equal(t, commitment.ReasonSchedule, got.Reason, name)
		require.Zero(t, h.tick(), name)
	}
	h := newHost(t, func(c *commitment.Config) {
		c.Schedule = func(string, *time.Location) (commitment.Schedule, error) { return nil, nil }
	})
	_, err := h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "s"})
	require.ErrorIs(t, err, memory.ErrValidation)
}

func TestSchedulesAreReadInTheirZone(t *testing.T) {
	var asked time.Time
	h := newHost(t, func(c *commitment.Config) {
		c.Schedule = func(spec string, in *time.Location) (commitment.Schedule, error) {
			return scheduleFunc(func(t time.Time) time.Time { asked = t; return t.Add(time.Hour) }), nil
		}
	})
	h.arm(h.note("x"), commitment.Arm{Spec: "s", Zone: "Asia/Tokyo"})
	require.Equal(t, "Asia/Tokyo", asked.Location().String())
	for _, name := range []string{"Local", "Nowhere/Land", strings.Repeat("x", 200), "../etc/passwd"} {
		_, err := h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "s", Zone: name})
		require.ErrorIs(t, err, memory.ErrValidation, name)
	}
}

func TestHorizon(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) { c.Horizon = 90 * day })
	h.arm(h.note("x"), in(90*day))
	_, err := h.Arm(ctx, h.job("acme"), h.note("x"), in(90*day+time.Millisecond))
	var horizon *commitment.HorizonError
	require.ErrorAs(t, err, &horizon)
	require.Equal(t, "P90D", horizon.MaxFutureHorizon())
	require.Equal(t, memory.Code("schedule_horizon_exceeded"), memory.CodeOf(err))
	require.ErrorIs(t, err, memory.ErrValidation)
	require.Equal(t, "PT90S", (&commitment.HorizonError{Max: 90 * time.Second}).MaxFutureHorizon())
	require.Contains(t, err.Error(), "P90D")
	require.Equal(t, 90*day, h.Horizon())
	_, err = h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "0 0 1 1 *"})
	require.ErrorAs(t, err, &horizon)

	// A schedule that leaves it later.
	c := h.arm(h.note("x"), commitment.Arm{Spec: "0 0 1 4 *"})
	h.clock.Advance(31 * day)
	h.tick()
	require.Equal(t, commitment.ReasonHorizon, h.get(c).Reason)
}

func TestArmsThatAreRefused(t *testing.T) {
	h := newHost(t)
	j, s := h.job("acme"), h.note("x")
	for name, a := range map[string]commitment.Arm{
		"nothing":            {},
		"only once":          {Once: true},
		"the past":           in(-time.Hour),
		"now":                in(0),
		"two kinds":          {At: epoch.Add(time.Hour), Spec: "0 9 * * *"},
		"two others":         {Every: time.Hour, Predicate: "p"},
		"short interval":     {Every: time.Second - time.Millisecond},
		"negative interval":  {Every: -time.Hour},
		"fine interval":      {Every: time.Second + 1},
		"zone alone":         {At: epoch.Add(time.Hour), Zone: "Europe/Berlin"},
		"long spec":          {Spec: strings.Repeat("x", 257)},
		"bad spec":           {Spec: "\xff"},
		"unreadable spec":    {Spec: "tomorrow"},
		"bad name":           {Predicate: "a b"},
		"long name":          {Predicate: strings.Repeat("x", 129)},
		"unregistered":       {Predicate: "unregistered"},
		"beyond year 9999":   {At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"interval off world": {Every: time.Hour, At: time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC).Add(30 * time.Minute)},
	} {
		_, err := h.Arm(ctx, j, s, a)
		require.ErrorIs(t, err, memory.ErrValidation, name)
	}
	_, err := h.Arm(ctx, j, s, commitment.Arm{Predicate: "hunter2-hunter2"})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	for c := range h.Commitments(ctx, "acme") {
		t.Errorf("%v was armed", c.Arm)
	}
	require.NoError(t, j.End(ctx))
	_, err = h.Arm(ctx, j, s, in(time.Hour))
	require.ErrorIs(t, err, memory.ErrEnded)
}

func TestIntervalsKeepTheirPhase(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), commitment.Arm{Every: 7 * time.Minute, At: epoch.Add(-100 * 365 * day)})
	at := h.get(c).Due
	for range 50 {
		h.clock.ms.Store(at.Add(90 * time.Second).UnixMilli())
		require.Equal(t, 1, h.tick().Fired)
		next := h.get(c).Due
		require.Equal(t, 7*time.Minute, next.Sub(at))
		at = next
	}
	future := h.arm(h.note("x"), commitment.Arm{Every: time.Hour, At: epoch.Add(30 * day)})
	require.Equal(t, epoch.Add(30*day), future.Due)
}
