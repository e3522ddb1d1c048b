package distill

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// retention is an ISO 8601 duration, such as P90D, P1Y6M or PT36H: how long an
// archive is kept. Years, months and days are the calendar's, in UTC. The zero
// value keeps for ever.
type retention struct {
	text                string
	years, months, days int
	clock               time.Duration
}

var iso = regexp.MustCompile(`^P(?:(\d{1,4})W|(?:(\d{1,4})Y)?(?:(\d{1,5})M)?(?:(\d{1,6})D)?(?:T((?:\d{1,6}H)?(?:\d{1,6}M)?(?:\d{1,6}(?:[.,]\d{1,3})?S)?))?)$`)

// parseRetention reads an ISO 8601 duration that is longer than nothing; the empty
// text keeps for ever. A fraction is allowed for seconds only.
func parseRetention(s string) (retention, error) {
	if s == "" {
		return retention{}, nil
	}
	m := iso.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "T") {
		return retention{}, invalid("the retention is no ISO 8601 duration, such as P90D or PT12H: see Config.ArchiveRetention")
	}
	n := func(i int) int {
		v, _ := strconv.Atoi(m[i]) // digits by the pattern, or nothing
		return v
	}
	r := retention{text: s, years: n(2), months: n(3), days: 7*n(1) + n(4)}
	r.clock, _ = time.ParseDuration(strings.ToLower(strings.Replace(m[5], ",", ".", 1))) // or nothing
	if r.years+r.months+r.days == 0 && r.clock == 0 {
		return retention{}, invalid("the retention is nothing: leave Config.ArchiveRetention empty to keep archives for ever")
	}
	return r, nil
}

// String is the duration as it was given.
func (r retention) String() string { return r.text }

// From is the instant at which what was made at t ends, by the calendar in UTC; zero if
// it never does, or not before the year 10000. A day that the last month does not have
// runs over into the next, so that no month is cut short: P1M from the 31st of January
// is the 3rd of March, and the 2nd in a leap year.
func (r retention) From(t time.Time) time.Time {
	if r.text == "" {
		return time.Time{}
	}
	end := t.UTC().AddDate(r.years, r.months, r.days).Add(r.clock)
	if end.Year() > 9999 {
		return time.Time{}
	}
	return end
}
