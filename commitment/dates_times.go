package commitment

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// reading is what the times of a sentence say.
type reading struct {
	zone    *time.Location
	name    string
	created time.Time
	derived bool
	toks    []token
	why     Why // the first reason not to arm it

	exact    time.Time     // an instant
	day      time.Time     // at midnight UTC, whatever the zone
	weekday  *time.Weekday // as said
	which    string        // "this" or "next" before the weekday, or "next week"
	relative bool          // it counts from when the entry was written
	english  bool          // it names a day in English
	clock    *clock
	part     string // of the day
	at       string // the abbreviation or the offset of a time zone, or its IANA name
	days     string // the last three fields of a schedule
	every    time.Duration
}

// clock is a time of day as it is written.
type clock struct {
	hour, minute int
	half         byte // 'a', 'p' or 0
	padded       bool // written with two digits for the hour and two for the minute
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

// word returns the word at i in lower case, or "" beyond the ends.
func (t *reading) word(i int) string { return t.tok(i).low }

func (t *reading) tok(i int) token {
	if i < 0 || i >= len(t.toks) {
		return token{}
	}
	return t.toks[i]
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
		n := t.span(i)
		for k := range n {
			t.toks[i+k].used = true
		}
		i += max(n, 1)
	}
}

// span reads a time that begins at i, with the preposition before it, and returns how many words
// it has.
func (t *reading) span(i int) int {
	switch t.word(i) {
	case "on", "by", "at":
		return t.plus(1, t.either(i+1))
	case "in":
		return max(t.plus(1, t.ahead(i+1)), t.plus(1, t.partOf(i+1)))
	case "every", "each":
		return t.plus(1, t.recurring(i+1))
	}
	return t.either(i)
}

// plus counts n words more, if there are any.
func (t *reading) plus(n, rest int) int {
	if rest > 0 {
		return n + rest
	}
	return 0
}

// either reads a day or a time of day.
func (t *reading) either(i int) int {
	for _, read := range []func(int) int{t.iso, t.named, t.monthDays, t.calendar, t.onWeekday, t.timeOfDay, t.partOf} {
		if n := read(i); n > 0 {
			return n
		}
	}
	return 0
}

func (t *reading) setDay(day time.Time, relative bool) {
	if !t.day.IsZero() && !t.day.Equal(day) {
		t.fail(WhyAmbiguous)
	}
	t.day, t.relative, t.english = day, t.relative || relative, t.english || relative
}

func (t *reading) setExact(at time.Time, relative bool) {
	if !t.exact.IsZero() && !t.exact.Equal(at) {
		t.fail(WhyAmbiguous)
	}
	t.exact, t.relative = at, t.relative || relative
}

func (t *reading) setDays(days string) {
	if t.days != "" && t.days != days {
		t.fail(WhyAmbiguous)
	}
	t.days = days
}

// iso reads 2026-05-12 and 2026-05-12T14:30, with an offset or without one.
func (t *reading) iso(i int) int {
	raw := strings.ToUpper(t.tok(i).raw)
	if len(raw) < len(time.DateOnly) || raw[4] != '-' {
		return 0
	}
	if at, ok := instant(raw); ok {
		t.setExact(at, false)
		return 1
	}
	date, clocks, timed := strings.Cut(raw, "T")
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0
	}
	if timed && !t.setClock(clocks) {
		return 0
	}
	t.setDay(day, false)
	if timed {
		return 1 + t.zoneAt(i+1)
	}
	return 1
}

// instant reads a date and a time with an offset in ISO 8601.
func instant(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}

// named reads "today", "tomorrow" and "the day after tomorrow".
func (t *reading) named(i int) int {
	today := t.today()
	switch {
	case t.word(i) == "today":
		t.setDay(today, true)
	case t.word(i) == "tonight":
		t.setDay(today, true)
		t.setPart("tonight")
	case t.word(i) == "tomorrow":
		t.setDay(today.AddDate(0, 0, 1), true)
	case t.phrase(i, "the day after tomorrow") > 0:
		t.setDay(today.AddDate(0, 0, 2), true)
		return 4
	default:
		return t.fromNow(i)
	}
	return 1
}

// phrase returns the number of words if they stand at i, and 0 otherwise.
func (t *reading) phrase(i int, words string) int {
	n := 0
	for w := range strings.FieldsSeq(words) {
		if t.word(i+n) != w {
			return 0
		}
		n++
	}
	return n
}

// fromNow reads "3 days from now".
func (t *reading) fromNow(i int) int {
	if tail := t.phrase(i+2, "from now") + t.phrase(i+2, "from today"); tail > 0 {
		return t.plus(tail, t.ahead(i))
	}
	return 0
}

// ahead reads "3 days", "half an hour", "an hour and a half" and "1 hour 30 minutes" counted
// from when the entry was written.
func (t *reading) ahead(i int) int {
	if n := t.phrase(i, "half an hour"); n > 0 {
		t.setExact(t.created.UTC().Add(30*time.Minute), true)
		return n
	}
	count, ok := number(t.word(i))
	step, days, months := unit(t.word(i + 1))
	if !ok || step+time.Duration(days+months) == 0 {
		return 0
	}
	if step == 0 {
		t.setDay(addMonths(t.today(), months*count).AddDate(0, 0, days*count), true)
		return 2
	}
	d, n := time.Duration(count)*step, 2
	next := i + n
	if t.word(next) == "and" {
		next++
	}
	if half := t.phrase(next, "a half"); half > 0 && step == time.Hour && next > i+n {
		return t.elapsed(d+30*time.Minute, next+half-i)
	}
	if more, ok := number(t.word(next)); ok && step == time.Hour {
		if step, _, _ := unit(t.word(next + 1)); step == time.Minute {
			return t.elapsed(d+time.Duration(more)*time.Minute, next+2-i)
		}
	}
	return t.elapsed(d, n)
}

func (t *reading) elapsed(d time.Duration, n int) int {
	t.setExact(t.created.UTC().Add(d), true)
	return n
}

// addMonths goes n months ahead, to the last day where the month is too short.
func addMonths(day time.Time, n int) time.Time {
	last := time.Date(day.Year(), day.Month()+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, min(day.Day(), last.Day())-last.Day())
}

// calendar reads "12 May 2026", "the 12th of May", "May 12, 2026", and "the 12th".
func (t *reading) calendar(i int) int {
	the := t.phrase(i, "the")
	at := i + the
	d, isDay := ordinal(t.word(at), true)
	m, isMonth := month(t.tok(at).raw)
	n := 2
	switch {
	case isDay && t.word(at+1) == "of":
		m, isMonth = month(t.tok(at + 2).raw)
		n = 3
	case isDay:
		m, isMonth = month(t.tok(at + 1).raw)
	case isMonth:
		d, isDay = ordinal(t.word(at+1), true)
	}
	if !isDay || !isMonth {
		return t.plus(the, t.dayOfMonth(at, the > 0))
	}
	if _, isClock := parseClock(t.word(at + n - 1)); isClock && (t.word(at+n) == "am" || t.word(at+n) == "pm") {
		return 0 // "May 5 pm"
	}
	if year, ok := digits(t.word(at+n), 4); ok && year >= 1900 && !strings.Contains(t.word(at+n), ":") {
		t.date(year, m, d)
		t.english = true
		return the + n + 1
	}
	// Without a year it is the first such day that is not over.
	today := t.today()
	year := today.Year()
	if time.Date(year, m, d, 0, 0, 0, 0, time.UTC).Before(today) {
		year++
	}
	t.date(year, m, d)
	t.relative, t.english = true, true
	return the + n
}

// date sets a day, if the calendar has it.
func (t *reading) date(year int, m time.Month, d int) {
	day := time.Date(year, m, d, 0, 0, 0, 0, time.UTC)
	if day.Day() != d {
		t.fail(WhyImpossible)
	}
	t.setDay(day, false)
}

// dayOfMonth reads "the 12th", or "12th" after a day of the week, of this month or the next.
func (t *reading) dayOfMonth(i int, the bool) int {
	d, ok := ordinal(t.word(i), false)
	_, after := weekday(t.tok(i - 1).raw)
	if !ok || !the && !after {
		return 0
	}
	today := t.today()
	m := today.Month()
	if d < today.Day() {
		m++
	}
	day := time.Date(today.Year(), m, d, 0, 0, 0, 0, time.UTC)
	if day.Day() != d {
		t.fail(WhyImpossible)
	}
	t.setDay(day, true)
	return 1
}

// onWeekday reads "Monday", "next Monday", "this Monday", "Monday next week" and "next week on
// Monday".
func (t *reading) onWeekday(i int) int {
	n, which := 0, ""
	switch w := t.word(i); w {
	case "this", "next", "coming":
		n, which = 1, w
		if t.word(i+1) == "week" {
			n, which = 2, w+" week"
			if t.word(i+2) == "on" {
				n++
			}
		}
	case "the":
		n = t.phrase(i, "the coming")
	}
	d, ok := weekday(t.tok(i + n).raw)
	if !ok {
		return 0
	}
	n++
	for _, week := range []string{"next week", "this week"} {
		if tail := t.phrase(i+n, week); tail > 0 && which == "" {
			n, which = n+tail, week
		}
	}
	if t.weekday != nil && (*t.weekday != d || t.which != which) {
		t.fail(WhyAmbiguous)
	}
	t.weekday, t.which, t.english = &d, which, true
	return n
}

// timeOfDay reads "9:30", "5 pm", "half past five", "5 o'clock", "noon", and after "at" also 9.
func (t *reading) timeOfDay(i int) int {
	if w := t.word(i); w == "noon" || w == "midday" {
		t.setPart(w)
		return 1 + t.zoneAt(i+1)
	}
	shift, n := 0, 0
	for _, past := range []struct {
		words string
		by    int
	}{{"half past", 30}, {"quarter past", 15}, {"a quarter past", 15}, {"quarter to", -15}, {"a quarter to", -15}} {
		if k := t.phrase(i, past.words); k > 0 {
			n, shift = k, past.by
		}
	}
	w := t.word(i + n)
	c, ok := parseClock(w)
	if h, isWord := numbers[w]; isWord && len(w) > 2 {
		c, ok = clock{hour: h}, true
	}
	if !ok {
		return 0
	}
	marked := n > 0 || c.half != 0 || strings.Contains(w, ":") || t.word(i-1) == "at"
	n++
	if next := t.word(i + n); c.half == 0 && (next == "am" || next == "pm") {
		c.half = next[0]
		marked, n = true, n+1
	}
	if next := t.word(i + n); next == "o'clock" || next == "oclock" {
		marked, n = true, n+1
		if next := t.word(i + n); c.half == 0 && (next == "am" || next == "pm") {
			c.half, n = next[0], n+1
		}
	}
	if strings.Contains(w, ".") && c.half == 0 || !marked {
		return 0
	}
	c.hour, c.minute = (c.hour*60+c.minute+shift)/60, (c.minute+shift+60)%60
	t.addClock(c)
	return n + t.zoneAt(i+n)
}

// parseClock reads 9, 9:30, 09:30, 9am and 9.30pm.
func parseClock(w string) (c clock, ok bool) {
	if rest, cut := strings.CutSuffix(w, "m"); cut && len(rest) > 1 {
		half := rest[len(rest)-1]
		if half != 'a' && half != 'p' {
			return c, false
		}
		c.half, w = half, rest[:len(rest)-1]
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

func (t *reading) setClock(w string) bool {
	c, ok := parseClock(w)
	if ok {
		t.addClock(c)
	}
	return ok
}

func (t *reading) addClock(c clock) {
	switch {
	case t.clock != nil && *t.clock != c:
		t.fail(WhyAmbiguous)
	case c.hour > 23, c.minute > 59, c.half != 0 && (c.hour > 12 || c.hour == 0):
		t.fail(WhyImpossible)
	}
	t.clock = &c
}

// partOf reads "in the afternoon", "this morning", "at night".
func (t *reading) partOf(i int) int {
	n := 0
	if w := t.word(i); w == "this" || w == "the" && t.word(i-1) == "in" {
		n = 1
	}
	part := t.word(i + n)
	if _, ok := parts[part]; !ok || n == 0 && t.word(i-1) != "at" && !t.tok(i-1).used {
		return 0
	}
	if t.word(i) == "this" {
		t.setDay(t.today(), true)
	}
	t.setPart(part)
	return n + 1
}

func (t *reading) setPart(part string) {
	if t.part != "" && parts[t.part] != parts[part] {
		t.fail(WhyAmbiguous)
	}
	t.part = part
}

// zoneAt reads a time zone after a time of day: "EST", "UTC+2", "+0200", "Europe/Berlin".
func (t *reading) zoneAt(i int) int {
	raw := t.tok(i).raw
	_, known := zones[raw]
	iana := false
	if !known && strings.Contains(raw, "/") {
		_, err := loadZone(raw)
		iana = err == nil
	}
	if strings.HasPrefix(t.tok(i).before, "+") || strings.HasPrefix(t.tok(i).before, "-") {
		raw = t.tok(i).before[:1] + raw
	}
	if _, offset := offsetOf(raw); !known && !iana && !offset {
		return 0
	}
	if t.at != "" && t.at != raw {
		t.fail(WhyAmbiguous)
	}
	t.at = raw
	return 1
}

// offsetOf reads "+02:00", "-0500", "UTC+2" and "GMT-5" in seconds.
func offsetOf(raw string) (int, bool) {
	bare := strings.TrimPrefix(strings.TrimPrefix(raw, "UTC"), "GMT")
	if len(bare) < 2 || bare[0] != '+' && bare[0] != '-' {
		return 0, false
	}
	named := bare != raw
	h := strings.ReplaceAll(bare[1:], ":", "")
	n, ok := digits(h, 4)
	if !ok || len(h) < 4 && (!named || len(h) > 2) {
		return 0, false
	}
	if len(h) <= 2 {
		n *= 100
	}
	seconds := (n/100*60 + n%100) * 60
	if bare[0] == '-' {
		seconds = -seconds
	}
	return seconds, n <= 1400 && n%100 < 60
}

// recurring reads what stands after "every": an interval, or days.
func (t *reading) recurring(i int) int {
	count, n := 1, 0
	if c, ok := digits(t.word(i), 4); ok || numbers[t.word(i)] > 1 {
		count, n = max(c, numbers[t.word(i)]), 1
	}
	step, days, _ := unit(t.word(i + n))
	switch {
	case step > 0 || days > 0 && n > 0:
		t.every = time.Duration(count) * (step + time.Duration(days)*24*time.Hour)
		t.relative = true
		if count == 0 {
			t.fail(WhyImpossible)
		}
		return n + 1
	case t.word(i) == "day":
		t.setDays("* * *")
		return 1
	case t.word(i) == "weekday", t.word(i) == "workday":
		t.setDays("* * 1-5")
		return 1
	case parts[t.word(i)].to > 0:
		t.setDays("* * *")
		t.setPart(t.word(i))
		return 1
	}
	var list []string
	for {
		d, ok := weekday(t.tok(i + n).raw)
		if !ok {
			break
		}
		list = append(list, strconv.Itoa(int(d)))
		n++
		if t.word(i+n) == "and" {
			if _, more := weekday(t.tok(i + n + 1).raw); !more {
				break
			}
			n++
		}
	}
	if len(list) > 0 {
		slices.Sort(list)
		t.setDays("* * " + strings.Join(slices.Compact(list), ","))
	}
	return n
}

// monthDays reads "the 5th and the 20th of each month".
func (t *reading) monthDays(i int) int {
	var list []string
	n := 0
	for {
		n += t.phrase(i+n, "the")
		d, ok := ordinal(t.word(i+n), false)
		if !ok || len(list) > 31 {
			return 0
		}
		list = append(list, strconv.Itoa(d))
		n++
		if tail := t.phrase(i+n, "of each month") + t.phrase(i+n, "of every month"); tail > 0 {
			t.setDays(strings.Join(list, ",") + " * *")
			return n + tail
		}
		n += t.phrase(i+n, "and")
	}
}
