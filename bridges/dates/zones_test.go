package dates_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/dates"
)

// zones have clocks that change at night, at midnight, by half an hour, by two hours, and back for Ramadan.
var zones = []string{
	"Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo",
	"Atlantic/Azores", "Africa/Casablanca", "Antarctica/Troll", "America/Havana",
}

// spec is a schedule, and what of it a clock on the wall shows, written without any reader of schedules.
type spec struct {
	fields   string
	interval bool
	matches  func(wall time.Time) bool
}

// walk is the second implementation: it looks at the clock each minute. A time of day comes when the clock shows it
// for the first time or has jumped over it, and an interval whenever the clock shows it.
func walk(from, to time.Time, in *time.Location, s spec) (at []string) {
	latest := shown(from.Add(-48*time.Hour), in)
	for t := from.Add(-48 * time.Hour); t.Before(to); t = t.Add(time.Minute) {
		now := shown(t, in)
		hit := s.interval && s.matches(now)
		for ; latest.Before(now); latest = latest.Add(time.Minute) {
			hit = hit || !s.interval && s.matches(latest.Add(time.Minute))
		}
		if hit && t.After(from) {
			at = append(at, t.In(in).Format(time.RFC3339))
		}
	}
	return at
}

// shown is what the clocks of a zone show, as an instant of UTC.
func shown(t time.Time, in *time.Location) time.Time {
	l := t.In(in)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
}

// ask is what dates.Cron says.
func ask(t *testing.T, from, to time.Time, in *time.Location, s spec) (at []string) {
	read, err := dates.Cron("CRON_TZ=" + in.String() + " " + s.fields)
	require.NoError(t, err, s.fields)
	for next := read.Next(from); next.Before(to) && !next.IsZero(); next = read.Next(next) {
		at = append(at, next.In(in).Format(time.RFC3339))
	}
	return at
}

// changes are the instants from 2026 to 2028 at which the clocks of a zone change.
func changes(in *time.Location) (all []time.Time) {
	t := time.Date(2026, 1, 1, 0, 0, 0, 0, in)
	for {
		if _, t = t.ZoneBounds(); t.IsZero() || t.Year() > 2028 {
			return all
		}
		all = append(all, t)
	}
}

// around are schedules whose times lie around a change of the clocks: in what they skip or show twice, at its edges,
// and by dates, days of the week, lists and intervals.
func around(change time.Time, in *time.Location) (all []spec) {
	before, behind := shown(change.Add(-time.Minute), in).Add(time.Minute), shown(change, in)
	first, last := before, behind
	if last.Before(first) {
		first, last = last, first
	}
	for wall := first.Add(-30 * time.Minute); !wall.After(last.Add(30 * time.Minute)); wall = wall.Add(15 * time.Minute) {
		all = append(all,
			spec{fmt.Sprintf("%d %d * * *", wall.Minute(), wall.Hour()), false, func(w time.Time) bool {
				return w.Hour() == wall.Hour() && w.Minute() == wall.Minute()
			}},
			spec{wall.Format("4 15 2 1 *"), false, func(w time.Time) bool {
				return w.Format("15:04 on 2 January") == wall.Format("15:04 on 2 January")
			}})
	}
	day := first.Weekday()
	return append(all,
		spec{fmt.Sprintf("*/15 %d * * %d", first.Hour(), day), false, func(w time.Time) bool {
			return w.Hour() == first.Hour() && w.Minute()%15 == 0 && w.Weekday() == day
		}},
		spec{"10,40 0-4,23 * * *", false, func(w time.Time) bool {
			return (w.Hour() <= 4 || w.Hour() == 23) && (w.Minute() == 10 || w.Minute() == 40)
		}},
		spec{"*/30 * * * *", true, func(w time.Time) bool { return w.Minute()%30 == 0 }},
		spec{"5 0-23 * * *", true, func(w time.Time) bool { return w.Minute() == 5 }},
		spec{"0 */2 * * *", false, func(w time.Time) bool { return w.Minute() == 0 && w.Hour()%2 == 0 }},
		spec{fmt.Sprintf("7 * %d %d *", first.Day(), first.Month()), true, func(w time.Time) bool {
			return w.Minute() == 7 && w.Day() == first.Day() && w.Month() == first.Month()
		}})
}

// A time of day comes once for each date, in a gap of the clocks at the first instant behind it; an interval keeps
// counting. Every change of three years in eight zones, against an implementation that looks at the clock each minute.
func TestK4_TimesOfDayComeOnceForEachDate(t *testing.T) {
	for _, name := range zones {
		t.Run(name, func(t *testing.T) {
			in, err := time.LoadLocation(name)
			require.NoError(t, err)
			all := changes(in)
			require.GreaterOrEqual(t, len(all), 6)
			for _, change := range all {
				from, to := change.Add(-30*time.Hour), change.Add(30*time.Hour)
				for _, s := range around(change, in) {
					want := walk(from, to, in, s)
					require.Equal(t, want, ask(t, from, to, in, s), "%q around %s", s.fields, change)
					if got := strings.Fields(s.fields); got[2] != "*" && !s.interval {
						require.Len(t, want, 1, "the date is named once: %q around %s", s.fields, change)
					}
				}
			}
		})
	}
}

// Three whole years of a time of day that every change skips or shows twice: one instant for each date.
func TestK4_ATimeOfDayIsOnceADayForYears(t *testing.T) {
	for _, name := range zones {
		in, err := time.LoadLocation(name)
		require.NoError(t, err)
		change := changes(in)[0]
		wall := shown(change.Add(-time.Minute), in)
		from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, in), time.Date(2029, 1, 1, 0, 0, 0, 0, in)
		got := ask(t, from, to, in, spec{fields: fmt.Sprintf("%d %d * * *", wall.Minute(), wall.Hour())})
		require.Len(t, got, 365+365+366, name)
		require.True(t, slices.IsSortedFunc(got, func(a, b string) int {
			x, _ := time.Parse(time.RFC3339, a)
			y, _ := time.Parse(time.RFC3339, b)
			return x.Compare(y)
		}))
	}
}

// The cases that were lost, by hand.
func TestK4_TimesThatTheClocksSkipOrShowTwice(t *testing.T) {
	for _, c := range []struct{ spec, from, want string }{
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z"},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z 2026-03-30T00:30:00Z"},
		{"CRON_TZ=America/Santiago 30 0 6 9 *", "2026-01-01T00:00:00Z", "2026-09-06T04:00:00Z 2027-09-06T03:30:00Z"},
		{"CRON_TZ=Europe/Berlin */30 * * * *", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z 2026-10-25T01:00:00Z"},
	} {
		s, err := dates.Cron(c.spec)
		require.NoError(t, err)
		from, err := time.Parse(time.RFC3339, c.from)
		require.NoError(t, err)
		first := s.Next(from)
		got := first.UTC().Format(time.RFC3339) + " " + s.Next(first).UTC().Format(time.RFC3339)
		require.Equal(t, c.want, got, c.spec)
	}
}
