package dates

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/internal/wallclock"
)

var errCron = errors.New("dates: the schedule is no cron expression of five fields, or never comes")

// fields reads five fields, and neither seconds nor aliases such as @daily.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Cron reads a schedule in the five fields of cron, such as "0 9 * * 1-5", for
// [commitment.Config.Schedule]. It is in UTC, or in the zone that stands before the fields:
// "CRON_TZ=Europe/Berlin 0 9 * * 1-5". Cron refuses a schedule that never comes, such as one of
// 31 February.
//
// A schedule of some hours, such as "30 2 * * *", "*/15 2 * * *" and "0 */2 * * *", comes once for each
// date and time that it names: if the clocks show the time twice, at the first, and if they skip it, at the
// first instant behind the gap (K4). One of every hour, such as "*/30 * * * *", is an interval and counts
// the time that passes: it comes whenever the clocks show a minute of it, twice in an hour that is shown twice.
func Cron(spec string) (commitment.Schedule, error) {
	named, found := strings.CutPrefix(spec, "CRON_TZ=")
	zone, rest, _ := strings.Cut(named, " ")
	// The parser panics for a zone without fields.
	if found && (zone == "" || zone == "Local" || strings.TrimSpace(rest) == "") || strings.HasPrefix(spec, "TZ=") {
		return nil, errCron
	}
	read, err := fields.Parse(spec)
	if err != nil {
		return nil, errCron
	}
	s := schedule{wall: *read.(*cron.SpecSchedule), zone: time.UTC}
	if found {
		s.zone = s.wall.Location
	}
	s.wall.Location = time.UTC
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, errCron
	}
	return s, nil
}

// schedule is a schedule of what the clocks of a zone show. The library reads it as if they never changed: its own
// arithmetic across changes fires twice or not at all.
type schedule struct {
	wall cron.SpecSchedule
	zone *time.Location
}

const everyHour = 1<<24 - 1

// Next implements [commitment.Schedule].
func (s schedule) Next(t time.Time) time.Time {
	if s.wall.Hour&everyHour == everyHour {
		return s.nextShown(t)
	}
	for wall := wallclock.At(t, s.zone); ; {
		if wall = s.wall.Next(wall); wall.IsZero() {
			return wall
		}
		if at := wallclock.First(wall, s.zone); at.After(t) {
			return at
		}
	}
}

// nextShown returns the first instant after t at which the clocks show a time of the schedule.
func (s schedule) nextShown(t time.Time) time.Time {
	t = t.In(s.zone)
	for after := wallclock.At(t, s.zone); ; after = wallclock.At(t, s.zone).Add(-time.Second) {
		wall := s.wall.Next(after)
		if wall.IsZero() {
			return wall
		}
		_, offset := t.Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, end := t.ZoneBounds(); !end.IsZero() && !at.Before(end) {
			t = end
			continue
		}
		return at
	}
}
