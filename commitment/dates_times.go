package commitment

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// reading is what the times of a sentence say.
type reading struct {
	zone    *time.Location // in which the entry was written
	created time.Time
	derived bool
	toks    []token
	why     Why // the first reason not to arm it

	exact    time.Time // an instant
	day      time.Time // at midnight UTC, whatever the zone
	weekday  weekdaySaid
	relative bool // it counts from when the entry was written
	english  bool // it names a day in English
	clock    clock
	part     string         // of the day
	in       *time.Location // the time zone that is said, and the abbreviation of it
	shown    string
	days     string // the last three fields of a schedule
}

// weekdaySaid is a day of the week, and "this", "next" or "next week" beside it.
type weekdaySaid struct {
	set   bool
	day   time.Weekday
	which string
}

// clock is a time of day as it is written.
type clock struct {
	set          bool
	hour, minute int
	half         byte // 'a', 'p' or 0
	padded       bool // the hour has two digits and minutes: it is of 24
}

// parts are the parts of the day: the hours that belong to them, and the one that they stand for
// alone.
var parts = map[string]struct{ from, to, alone int }{
	"morning": {0, 12, 9}, "noon": {12, 13, 12}, "midday": {12, 13, 12}, "afternoon": {12, 18, 14},
	"evening": {17, 24, 18}, "night": {18, 24, 20}, "tonight": {18, 24, 20},
}

// fail keeps the first reason.
func (t *reading) fail(why Why) {
	if t.why == "" {
		t.why = why
	}
}

// say sets what a sentence says, which it says once or says again.
func say[T comparable](t *reading, at *T, is T) {
	var nothing T
	if *at != nothing && *at != is {
		t.fail(WhyAmbiguous)
	}
	*at = is
}

// word returns the word at i in lower case, or "" beyond the ends.
func (t *reading) word(i int) string { return t.tok(i).low }

func (t *reading) tok(i int) token {
	if i < 0 || i >= len(t.toks) {
		return token{}
	}
	return t.toks[i]
}

// phrase returns the number of words if they stand at i, and 0 otherwise.
func (t *reading) phrase(i int, words ...string) int {
	for k, w := range words {
		if t.word(i+k) != w {
			return 0
		}
	}
	return len(words)
}

// today is the day on which the entry was written.
func (t *reading) today() time.Time { return midnight(t.created.In(t.zone)) }

func midnight(at time.Time) time.Time {
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// times reads all times of the sentence and marks their words.
func (t *reading) times() {
	for i := 0; i < len(t.toks); {
		n, from := 0, i
		switch t.word(i) {
		case "on", "by", "at":
			from++
		case "in":
			from, n = i+1, t.ahead(i+1)
		case "every", "each":
			from, n = i+1, t.recurring(i+1)
		}
		for _, read := range []func(int) int{t.iso, t.named, t.calendar, t.onWeekday, t.timeOfDay, t.partOf} {
			if n == 0 && t.word(i) != "every" && t.word(i) != "each" {
				n = read(from)
			}
		}
		if n == 0 {
			i++
			continue
		}
		for end := from + n; i < end; i++ {
			t.toks[i].used = true
		}
	}
}

// iso reads 2026-05-12 and 2026-05-12T14:30, with an offset or without one.
func (t *reading) iso(i int) int {
	raw := strings.ToUpper(t.tok(i).raw)
	if len(raw) < len(time.DateOnly) || raw[4] != '-' {
		return 0
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700"} {
		if at, err := time.Parse(layout, raw); err == nil {
			say(t, &t.exact, millisUp(at))
			return 1
		}
	}
	date, shown, timed := strings.Cut(raw, "T")
	day, err := time.Parse(time.DateOnly, date)
	c, ok := parseClock(shown)
	if err != nil || timed && !ok {
		return 0
	}
	say(t, &t.day, day)
	if timed {
		say(t, &t.clock, c)
		return 1 + t.zoneAt(i+1)
	}
	return 1
}

// named reads "today", "tomorrow" and "the day after tomorrow", and "3 days from now".
func (t *reading) named(i int) int {
	n, ahead := 1, 0
	switch {
	case t.word(i) == "today":
	case t.word(i) == "tonight":
		say(t, &t.part, "tonight")
	case t.word(i) == "tomorrow":
		ahead = 1
	case t.phrase(i, "the", "day", "after", "tomorrow") > 0:
		n, ahead = 4, 2
	case t.phrase(i+2, "from", "now")+t.phrase(i+2, "from", "today") > 0:
		return 2 * t.ahead(i)
	default:
		return 0
	}
	return t.onDay(t.today().AddDate(0, 0, ahead), true, n)
}

// onDay sets the day, which n words have named in English.
func (t *reading) onDay(day time.Time, relative bool, n int) int {
	say(t, &t.day, day)
	t.relative, t.english = t.relative || relative, true
	return n
}

// ahead reads "3 days" and "an hour", counted from when the entry was written.
func (t *reading) ahead(i int) int {
	count, ok := number(t.word(i))
	step, days, months := unit(t.word(i + 1))
	switch {
	case !ok || step == 0 && days == 0 && months == 0:
		return 0
	case step > 0:
		say(t, &t.exact, t.created.UTC().Add(time.Duration(count)*step))
		t.relative = true
		return 2
	}
	// A month that is too short ends on its last day.
	day := t.today()
	last := time.Date(day.Year(), day.Month()+time.Month(count*months)+1, 0, 0, 0, 0, 0, time.UTC)
	day = last.AddDate(0, 0, min(day.Day(), last.Day())-last.Day()+count*days)
	return t.onDay(day, true, 2)
}

// calendar reads "12 May 2026", "the 12th of May", "May 12, 2026", and "the 12th" as the first
// such day that is not over.
func (t *reading) calendar(i int) int {
	n := i + t.phrase(i, "the")
	the := n > i
	today := t.today()
	year, m := today.Year(), today.Month()
	d, isDay := ordinal(t.word(n), true)
	first, isMonth := months[t.tok(n).raw]
	second, hasMonth := months[t.tok(n+1+t.phrase(n+1, "of")).raw]
	switch {
	case isDay && hasMonth:
		m, n = second, n+2+t.phrase(n+1, "of")
	case isMonth:
		if d, isDay = ordinal(t.word(n+1), true); !isDay || t.word(n+2) == "am" || t.word(n+2) == "pm" {
			return 0
		}
		m, n = first, n+2
	default:
		_, after := weekday(t.tok(i - 1).raw)
		if _, isDay = ordinal(t.word(n), false); !isDay || !the && !after {
			return 0
		}
		if d < today.Day() {
			m++
		}
		return t.date(year, m, d, true, n+1-i)
	}
	if said, ok := digits(t.word(n), 4); ok && said >= 1900 {
		return t.date(said, m, d, false, n+1-i)
	}
	if time.Date(year, m, d, 0, 0, 0, 0, time.UTC).Before(today) {
		year++
	}
	return t.date(year, m, d, true, n-i)
}

// date sets a day, if the calendar has it.
func (t *reading) date(year int, m time.Month, d int, relative bool, n int) int {
	day := time.Date(year, m, d, 0, 0, 0, 0, time.UTC)
	if day.Day() != d {
		t.fail(WhyImpossible)
	}
	return t.onDay(day, relative, n)
}

// onWeekday reads "Monday", "next Monday", "this Monday", "Monday next week" and "next week on
// Monday".
func (t *reading) onWeekday(i int) int {
	n, which := 0, ""
	switch {
	case t.phrase(i, "next", "week") > 0:
		n, which = 2+t.phrase(i+2, "on"), "next week"
	case t.word(i) == "this", t.word(i) == "next":
		n, which = 1, t.word(i)
	}
	d, ok := weekday(t.tok(i + n).raw)
	if !ok {
		return 0
	}
	n++
	if which == "" && t.phrase(i+n, "next", "week") > 0 {
		n, which = n+2, "next week"
	}
	say(t, &t.weekday, weekdaySaid{true, d, which})
	t.english = true
	return n
}

// timeOfDay reads "9:30", "5 pm", "half past five", "5 o'clock", "1730 hrs", "noon", and after
// "at" also 9.
func (t *reading) timeOfDay(i int) int {
	if w := t.word(i); w == "noon" || w == "midday" {
		say(t, &t.part, w)
		return 1 + t.zoneAt(i+1)
	}
	n, shift := 0, 0
	switch {
	case t.phrase(i, "half", "past") > 0:
		n, shift = 2, 30
	case t.phrase(i, "quarter", "past") > 0:
		n, shift = 2, 15
	case t.phrase(i, "quarter", "to") > 0:
		n, shift = 2, -15
	}
	w := t.word(i + n)
	c, ok := parseClock(w)
	if hour, named := numbers[w]; named {
		c, ok = clock{set: true, hour: hour}, len(w) > 2
	}
	marked := n > 0 || c.half != 0 || strings.Contains(w, ":") || t.word(i-1) == "at"
	n++
	if four, all := digits(w, 4); all && len(w) == 4 && (t.word(i+n) == "hrs" || t.word(i+n) == "hours") {
		c, ok, marked = clock{set: true, hour: four / 100, minute: four % 100, padded: true}, true, true
		n++
	}
	if w := t.word(i + n); w == "o'clock" {
		marked, n = true, n+1
	}
	if w := t.word(i + n); c.half == 0 && (w == "am" || w == "pm") {
		c.half, marked, n = w[0], true, n+1
	}
	if !ok || !marked || strings.Contains(w, ".") && c.half == 0 {
		return 0
	}
	if c.hour > 23 || c.minute > 59 || c.half != 0 && (c.hour > 12 || c.hour == 0) {
		t.fail(WhyImpossible)
	}
	c.hour, c.minute = (c.hour*60+c.minute+shift)/60, (c.minute+shift+60)%60
	say(t, &t.clock, c)
	return n + t.zoneAt(i+n)
}

// parseClock reads 9, 9:30, 09:30, 9am and 9.30pm.
func parseClock(w string) (c clock, ok bool) {
	c.set = true
	for _, half := range []string{"am", "pm"} {
		if rest, cut := strings.CutSuffix(w, half); cut {
			w, c.half = rest, half[0]
		}
	}
	hour, minute, exact := strings.Cut(strings.Replace(w, ".", ":", 1), ":")
	if exact {
		minute = strings.TrimSuffix(minute, ":00")
		if c.minute, ok = digits(minute, 2); !ok || len(minute) != 2 {
			return c, false
		}
	}
	c.hour, ok = digits(hour, 2)
	c.padded = exact && len(hour) == 2
	return c, ok
}

// partOf reads "in the afternoon", "this morning", "at night", and "morning" after a day or a time.
func (t *reading) partOf(i int) int {
	n, before := 0, t.word(i-1)
	if w := t.word(i); w == "this" || w == "the" && before == "in" {
		n = 1
	}
	part := t.word(i + n)
	if _, ok := parts[part]; !ok || n == 0 && before != "at" && !t.tok(i-1).used {
		return 0
	}
	say(t, &t.part, part)
	if t.word(i) == "this" {
		return t.onDay(t.today(), true, 2)
	}
	return n + 1
}

// zoneAt reads a time zone after a time of day: "EST", "UTC", "Europe/Berlin".
func (t *reading) zoneAt(i int) int {
	raw := t.tok(i).raw
	place, known := zones[raw]
	if !known {
		place = raw
	}
	if !known && !strings.Contains(raw, "/") || t.why != "" {
		return 0
	}
	in, err := loadZone(place)
	if err != nil {
		t.fail(WhyZone)
		return 0
	}
	if known && place != "UTC" {
		say(t, &t.shown, raw)
	}
	if t.in != nil && t.in.String() != in.String() {
		t.fail(WhyAmbiguous)
	}
	t.in = in
	return 1
}

// recurring reads what stands after "every": "day", "weekday", "morning", "Monday and Thursday".
func (t *reading) recurring(i int) int {
	days, n := "*", 1
	switch part := t.word(i); {
	case part == "day":
	case part == "weekday", part == "workday":
		days = "1-5"
	case parts[part].to > 0:
		say(t, &t.part, part)
	default:
		var list []string
		n = 0
		for d, ok := weekday(t.tok(i).raw); ok; d, ok = weekday(t.tok(i + n).raw) {
			list = append(list, strconv.Itoa(int(d)))
			n += 1 + t.phrase(i+n+1, "and")
		}
		if len(list) == 0 {
			return 0
		}
		n -= t.phrase(i+n-1, "and")
		slices.Sort(list)
		days = strings.Join(slices.Compact(list), ",")
	}
	say(t, &t.days, "* * "+days)
	t.english = true
	return n
}
