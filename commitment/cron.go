package commitment

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseCron reads a schedule in the five fields of cron: minute, hour, day of month,
// month and day of week, with lists, ranges and steps ("0 9 * * 1-5", "*/15 8-18 * *
// *", "0 9 5,20 * *"). Days of the week are 0 to 7, both ends Sunday, or mon to sun;
// months are 1 to 12 or jan to dec. If both day fields are restricted, either may
// match, as in cron.
//
// A field names what the clocks show in the time zone in. A time of day that they
// skip fires at the change; one that they show twice fires the first time only. So a
// daily schedule fires once on every day. It does not make "every hour" of elapsed
// time: that is what [Arm.Every] is for.
//
// It is what an engine reads Arm.Spec with, unless [Config.Schedule] says otherwise.
func ParseCron(spec string, in *time.Location) (Schedule, error) {
	if in == nil {
		in = time.UTC
	}
	fields := strings.Fields(spec)
	if len(spec) > maxSpecBytes || len(fields) != 5 {
		return nil, invalid("the schedule has not five fields: minute, hour, day of month, month, day of week")
	}
	c := cron{in: in, anyDay: fields[2][0] == '*' || fields[4][0] == '*'}
	for i, f := range []struct {
		name      string
		set       *uint64
		low, high int
		names     string
	}{
		{"minute", &c.minutes, 0, 59, ""},
		{"hour", &c.hours, 0, 23, ""},
		{"day of month", &c.days, 1, 31, ""},
		{"month", &c.months, 1, 12, "... jan feb mar apr may jun jul aug sep oct nov dec"},
		{"day of week", &c.weekdays, 0, 7, "sun mon tue wed thu fri sat"},
	} {
		set, ok := cronField(strings.ToLower(fields[i]), f.low, f.high, f.names)
		if !ok {
			return nil, invalid("the " + f.name + " of the schedule cannot be read")
		}
		*f.set = set
	}
	c.weekdays |= c.weekdays >> 7 // 7 is Sunday too
	return c, nil
}

// cronField reads one field into a set of numbers.
func cronField(field string, low, high int, names string) (set uint64, ok bool) {
	number := func(s string) (int, bool) {
		if i := slices.Index(strings.Fields(names), s); i >= low && s != "..." {
			return i, true
		}
		n, err := strconv.ParseUint(s, 10, 8)
		return int(n), err == nil && int(n) >= low && int(n) <= high
	}
	for _, part := range strings.Split(field, ",") {
		rest, every, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.ParseUint(every, 10, 8)
			if err != nil || n < 1 {
				return 0, false
			}
			step = int(n)
		}
		from, to := low, high
		if rest != "*" {
			first, last, ranged := strings.Cut(rest, "-")
			if from, ok = number(first); !ok {
				return 0, false
			}
			if to = from; ranged {
				if to, ok = number(last); !ok || to < from {
					return 0, false
				}
			} else if stepped {
				to = high
			}
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, true
}

// cron is a schedule by what the clocks of a place show. Each field is a set of
// numbers, one bit each.
type cron struct {
	minutes, hours, days, months, weekdays uint64
	anyDay                                 bool // one of the day fields is not restricted
	in                                     *time.Location
}

// searchDays is how far Next looks: the 29th of February may be eight years off.
const searchDays = 8*366 + 1

// Next implements [Schedule].
func (c cron) Next(t time.Time) time.Time {
	y, m, d := t.In(c.in).Date()
	// A day that is skipped as a whole happens at its end, so yesterday counts too.
	for n := -1; n < searchDays; n++ {
		day := time.Date(y, m, d+n, 12, 0, 0, 0, time.UTC)
		if !c.on(day) {
			continue
		}
		if at, ok := c.within(day, t); ok {
			return at
		}
	}
	return time.Time{}
}

// on reports whether the schedule has instants on a day.
func (c cron) on(day time.Time) bool {
	if c.months&(1<<day.Month()) == 0 {
		return false
	}
	byDate, byWeekday := c.days&(1<<day.Day()) != 0, c.weekdays&(1<<day.Weekday()) != 0
	if c.anyDay {
		return byDate && byWeekday
	}
	return byDate || byWeekday
}

// within returns the first instant of a day after t.
func (c cron) within(day, t time.Time) (time.Time, bool) {
	at := func(hour, minute int) time.Time {
		return localInstant(day.Year(), day.Month(), day.Day(), hour, minute, c.in)
	}
	last := bits.Len64(c.minutes) - 1
	for hours := c.hours; hours != 0; hours &= hours - 1 {
		hour := bits.TrailingZeros64(hours)
		if !at(hour, last).After(t) {
			continue
		}
		for minutes := c.minutes; minutes != 0; minutes &= minutes - 1 {
			if i := at(hour, bits.TrailingZeros64(minutes)); i.After(t) {
				return i, true
			}
		}
	}
	return time.Time{}, false
}
