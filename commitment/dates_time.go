package commitment

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock is a time of day.
type clock struct {
	hour, minute int
	utc          bool // said to be in UTC
}

// nine is the time of day of what names none.
var nine = clock{hour: 9}

var dayTimes = map[string]clock{
	"morning": nine, "noon": {hour: 12}, "midday": {hour: 12}, "afternoon": {hour: 14},
	"evening": {hour: 18}, "tonight": {hour: 20}, "midnight": {},
}

// timeOfDay finds the time of day that the text names; set reports whether it does,
// and why is WhyAmbiguous if it names several. A plain time such as 14:00 wins over
// the name of a part of the day.
func (t *reading) timeOfDay() (c clock, set bool, why Why) {
	var exact, vague []clock
	for i, w := range t.words {
		if slices.Contains(attributive, t.word(i-1)) {
			continue
		}
		if c, ok := dayTimes[w]; ok {
			vague = append(vague, c)
			continue
		}
		c, n, ok := t.clockAt(i)
		if !ok {
			continue
		}
		if z := t.word(i + n); z == "utc" || z == "gmt" || z == "z" {
			c.utc = true
		}
		if !slices.Contains(exact, c) {
			exact = append(exact, c)
		}
	}
	if len(exact) == 0 {
		exact = slices.Compact(vague)
	}
	switch len(exact) {
	case 0:
		return nine, false, ""
	case 1:
		return exact[0], true, ""
	}
	return nine, false, WhyAmbiguous
}

// clockAt reads a time of day that begins at a word, and says how many words it has:
// "14:00", "9 am", "9am", and after "at" also "9".
func (t *reading) clockAt(i int) (c clock, n int, ok bool) {
	w := t.words[i]
	half := ""
	for _, suffix := range []string{"am", "pm", "a.m", "p.m"} {
		if rest, cut := strings.CutSuffix(w, suffix); cut {
			w, half = rest, suffix
		}
	}
	n = 1
	if next := t.word(i + 1); half == "" && slices.Contains([]string{"am", "pm", "a.m", "p.m"}, next) {
		half, n = next, 2
	}
	hour, minute, colon := strings.Cut(w, ":")
	if half == "" && !colon && t.word(i-1) != "at" {
		return c, 0, false
	}
	h, ok := small(hour, 23)
	if !ok {
		return c, 0, false
	}
	m := 0
	if colon {
		if m, ok = small(minute, 59); !ok || len(minute) != 2 {
			return c, 0, false
		}
	}
	if half != "" {
		if h < 1 || h > 12 {
			return c, 0, false
		}
		if h %= 12; half[0] == 'p' {
			h += 12
		}
	}
	if t.word(i+n) == "o'clock" {
		n++
	}
	return clock{hour: h, minute: m}, n, true
}

// small reads a number of one or two digits.
func small(s string, most int) (int, bool) {
	if len(s) > 2 {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil && int(n) <= most
}

// on returns the instant at which it is c on a day.
func (t *reading) on(day time.Time, c clock) time.Time {
	in := t.zone
	if c.utc {
		in = time.UTC
	}
	return wall(day.Year(), day.Month(), day.Day(), c.hour, c.minute, in).UTC()
}

// iso reads a date or an instant in ISO 8601, in lower case. What names no offset is
// in the entry's time zone, and what names no time of day is at c.
func (t *reading) iso(w string, c clock) (time.Time, bool) {
	w = strings.ToUpper(w)
	if day, err := time.Parse(time.DateOnly, w); err == nil {
		return t.on(day, c), true
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700"} {
		if at, err := time.Parse(layout, w); err == nil {
			return at.UTC().Truncate(time.Millisecond), true
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.Parse(layout, w); err == nil {
			return wall(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), t.zone).
				Add(time.Duration(at.Second()) * time.Second).UTC(), true
		}
	}
	return time.Time{}, false
}
