package dates

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/openwop/agentmemory/commitment"
)

var errCron = errors.New("dates: the schedule is no cron expression of five fields, or never comes")

// fields reads five fields, and neither seconds nor aliases such as @daily.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Cron reads a schedule in the five fields of cron, such as "0 9 * * 1-5", for
// [commitment.Config.Schedule]. It is in UTC, or in the zone that stands before the fields:
// "CRON_TZ=Europe/Berlin 0 9 * * 1-5". A time of day that the clocks skip does not fire on that
// day. Cron refuses a schedule that never comes, such as one of 31 February.
func Cron(spec string) (commitment.Schedule, error) {
	zone, found := strings.CutPrefix(spec, "CRON_TZ=")
	// The parser panics for a zone without fields.
	if name, rest, ok := strings.Cut(zone, " "); found && (!ok || name == "" || name == "Local" || strings.TrimSpace(rest) == "") || strings.HasPrefix(spec, "TZ=") {
		return nil, errCron
	}
	s, err := fields.Parse(spec)
	if err != nil || s.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errCron
	}
	return s, nil
}
