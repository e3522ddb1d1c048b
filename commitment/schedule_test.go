package commitment_test

import (
	"errors"
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

// wallClock is a schedule by what the clocks of a place show.
type wallClock struct {
	zone  string
	match func(wall time.Time) bool
}

// wallClocks are the schedules of the tests, by their specifications.
var wallClocks = map[string]wallClock{
	"02:30 in Berlin":               {"Europe/Berlin", func(w time.Time) bool { return w.Hour() == 2 && w.Minute() == 30 }},
	"09:00 on weekdays in New York": {"America/New_York", func(w time.Time) bool { return w.Hour() == 9 && w.Minute() == 0 && w.Weekday()%6 != 0 }},
	"01:45 on Lord Howe":            {"Australia/Lord_Howe", func(w time.Time) bool { return w.Hour() == 1 && w.Minute() == 45 }},
	"midnight of the 5th and 20th":  {"UTC", func(w time.Time) bool { return w.Hour() == 0 && w.Minute() == 0 && (w.Day() == 5 || w.Day() == 20) }},
	"10:00":                         {"UTC", func(w time.Time) bool { return w.Hour() == 10 && w.Minute() == 0 }},
	"noon":                          {"UTC", func(w time.Time) bool { return w.Hour() == 12 && w.Minute() == 0 }},
	"new year":                      {"UTC", func(w time.Time) bool { return w.YearDay() == 1 && w.Hour() == 0 && w.Minute() == 0 }},
	"midnight of the 1st of April":  {"UTC", func(w time.Time) bool { return w.Month() == 4 && w.Day() == 1 && w.Hour() == 0 && w.Minute() == 0 }},
}

// readSchedule is a Config.Schedule.
func readSchedule(spec string) (commitment.Schedule, error) {
	w, ok := wallClocks[spec]
	if !ok {
		return nil, errors.New("no such schedule")
	}
	in, err := time.LoadLocation(w.zone)
	return scheduleFunc(func(t time.Time) time.Time {
		// From some hours before, so that what the clocks have shown by t is known.
		for from := t.Add(-4 * time.Hour).Truncate(time.Minute); from.Before(t.Add(366 * day)); from = from.Add(day) {
			for _, at := range oracle(from.Add(-4*time.Hour), from.Add(day), in, w.match) {
				if at.After(t) {
					return at
				}
			}
		}
		return time.Time{}
	}), err
}

// scheduleFunc is a host's schedule.
type scheduleFunc func(time.Time) time.Time

func (f scheduleFunc) Next(t time.Time) time.Time { return f(t) }

func withSchedule(next func(time.Time) time.Time) option {
	return func(c *commitment.Config) {
		c.Schedule = func(string) (commitment.Schedule, error) { return scheduleFunc(next), nil }
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
		c.Schedule = func(string) (commitment.Schedule, error) { return nil, nil }
	})
	_, err := h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "s"})
	require.ErrorIs(t, err, memory.ErrValidation)
}

// Only the host reads schedules: in UTC, with any zone that the specification names.
func TestSchedulesAreTheHosts(t *testing.T) {
	var asked time.Time
	h := newHost(t, func(c *commitment.Config) {
		c.Schedule = func(spec string) (commitment.Schedule, error) {
			require.Equal(t, "hourly in Tokyo", spec)
			return scheduleFunc(func(t time.Time) time.Time { asked = t; return t.Add(time.Hour) }), nil
		}
	})
	h.arm(h.note("x"), commitment.Arm{Spec: "hourly in Tokyo"})
	require.Equal(t, epoch, asked)
	h.restart(func(c *commitment.Config) { c.Schedule = nil })
	_, err := h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "hourly"})
	require.ErrorIs(t, err, memory.ErrValidation)
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

	_, err = h.Arm(ctx, h.job("acme"), h.note("x"), commitment.Arm{Spec: "new year"})
	require.ErrorAs(t, err, &horizon)

	// A schedule that leaves it later.
	c := h.arm(h.note("x"), commitment.Arm{Spec: "midnight of the 1st of April"})
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
		"two kinds":          {At: epoch.Add(time.Hour), Spec: "10:00"},
		"two others":         {Every: time.Hour, Predicate: "p"},
		"short interval":     {Every: time.Second - time.Millisecond},
		"negative interval":  {Every: -time.Hour},
		"fine interval":      {Every: time.Second + 1},
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
