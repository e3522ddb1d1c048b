package commitment

import (
	"regexp"
	"slices"
	"time"
)

// found is a date in a text. Its exact instant is set where the text gives one, and
// its day otherwise.
type found struct {
	day      time.Time // at midnight UTC, whatever the zone
	exact    time.Time
	relative bool
}

// attributive are words after which a date or a time says what is spoken about.
var attributive = []string{"of", "since", "from", "last", "until", "till", "to", "every", "a"}

// slashed is a date of which nobody knows which number is the month.
var slashed = regexp.MustCompile(`^\d{1,2}[/.]\d{1,2}[/.]\d{2,4}$`)

// date reads the one instant that the text names.
func (t *reading) date() (time.Time, Why) {
	c, timed, why := t.timeOfDay()
	if why != "" {
		return time.Time{}, why
	}
	var all []found
	for i := 0; i < len(t.words); {
		if slashed.MatchString(t.words[i]) {
			return time.Time{}, WhyAmbiguous
		}
		f, from, n := t.dateAt(i)
		if n == 0 {
			i++
			continue
		}
		f, ok := t.adjust(f, from)
		same := func(o found) bool { return o.day.Equal(f.day) && o.exact.Equal(f.exact) }
		if ok && !slices.ContainsFunc(all, same) {
			all = append(all, f)
		}
		i += n
	}
	switch {
	case len(all) > 1:
		return time.Time{}, WhyAmbiguous
	case len(all) == 0 && !timed:
		return time.Time{}, WhyNoDate
	case (len(all) == 0 || all[0].relative) && t.derived:
		return time.Time{}, WhyRelative
	case len(all) == 0:
		return t.nextTime(c), ""
	case !all[0].exact.IsZero():
		return all[0].exact, ""
	}
	return t.on(all[0].day, c), ""
}

// nextTime is when it is c for the first time after the entry was written.
func (t *reading) nextTime(c clock) time.Time {
	day := t.today()
	if at := t.on(day, c); at.After(t.created) {
		return at
	}
	return t.on(day.AddDate(0, 0, 1), c)
}

// today is the day on which the entry was written.
func (t *reading) today() time.Time {
	y, m, d := t.created.In(t.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// adjust makes of a date what the word before it, at before, makes of it. It reports
// false for a date that says nothing about when to act.
func (t *reading) adjust(f found, before int) (found, bool) {
	for slices.Contains([]string{"the", "this", "next", "coming"}, t.word(before)) {
		before--
	}
	if slices.Contains(attributive, t.word(before)) {
		return f, false
	}
	shift := 0
	switch t.word(before) {
	case "after":
		shift = 1
	case "before":
		if !t.negated(before) {
			shift = -1
		}
	}
	if f.exact.IsZero() {
		f.day = f.day.AddDate(0, 0, shift)
	}
	return f, true
}

// negated reports whether the clause says "not" before word i.
func (t *reading) negated(i int) bool {
	for i--; i >= 0 && t.words[i] != "."; i-- {
		switch t.words[i] {
		case "not", "don't", "never", "nothing":
			return true
		}
	}
	return false
}

// dateAt reads a date that begins at word i. It returns the position of the word
// before the date and the number of words read, 0 for none.
func (t *reading) dateAt(i int) (f found, before, n int) {
	w := t.words[i]
	today := t.today()
	if at, ok := t.iso(w, nine); ok {
		if len(w) == len(time.DateOnly) {
			day, _ := time.Parse(time.DateOnly, w)
			return found{day: day}, i - 1, 1
		}
		return found{exact: at}, i - 1, 1
	}
	if d, ok := weekday(w); ok {
		ahead := (int(d-today.Weekday())+6)%7 + 1
		return found{day: today.AddDate(0, 0, ahead), relative: true}, i - 1, 1
	}
	relative := func(day time.Time, n int) (found, int, int) {
		return found{day: day, relative: true}, i - 1, n
	}
	switch w {
	case "today", "tonight":
		return relative(today, 1)
	case "tomorrow":
		return relative(today.AddDate(0, 0, 1), 1)
	case "day":
		if t.word(i+1) == "after" && t.word(i+2) == "tomorrow" {
			return relative(today.AddDate(0, 0, 2), 3)
		}
	case "next":
		switch t.word(i + 1) {
		case "week":
			return relative(today.AddDate(0, 0, (int(time.Monday-today.Weekday())+6)%7+1), 2)
		case "month":
			return relative(time.Date(today.Year(), today.Month()+1, 1, 0, 0, 0, 0, time.UTC), 2)
		}
	case "end":
		if n := t.phrase(i+1, "of", "the", "month") + t.phrase(i+1, "of", "month") + t.phrase(i+1, "of", "this", "month"); n > 0 {
			return relative(time.Date(today.Year(), today.Month()+1, 0, 0, 0, 0, 0, time.UTC), 1+n)
		}
	case "in", "within":
		f, n := t.ahead(i + 1)
		return f, i - 1, n
	}
	return t.calendar(i)
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

// ahead reads "3 days" after "in", and counts both.
func (t *reading) ahead(i int) (found, int) {
	n, ok := number(t.word(i))
	u, isUnit := unit(t.word(i + 1))
	if !ok || !isUnit {
		return found{}, 0
	}
	day := t.today()
	switch u {
	case 'n':
		return found{exact: t.created.UTC().Add(time.Duration(n) * time.Minute), relative: true}, 3
	case 'h':
		return found{exact: t.created.UTC().Add(time.Duration(n) * time.Hour), relative: true}, 3
	case 'd':
		day = day.AddDate(0, 0, n)
	case 'w':
		day = day.AddDate(0, 0, 7*n)
	case 'm':
		day = addMonths(day, n)
	case 'y':
		day = addMonths(day, 12*n)
	}
	return found{day: day, relative: true}, 3
}

// addMonths goes n months ahead, to the last day where the month is too short.
func addMonths(day time.Time, n int) time.Time {
	last := time.Date(day.Year(), day.Month()+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, min(day.Day(), last.Day())-last.Day())
}

// calendar reads "12 May 2026", "12th of May", "May 12, 2026", and "the 12th" after a
// word such as "on".
func (t *reading) calendar(i int) (f found, before, n int) {
	d, isDay := ordinal(t.words[i], true)
	m, isMonth := month(t.words[i])
	switch {
	case isDay && t.isMonth(i+1):
		m, _ = month(t.word(i + 1))
		n = 2
	case isDay && t.word(i+1) == "of" && t.isMonth(i+2):
		m, _ = month(t.word(i + 2))
		n = 3
	case isMonth:
		if d, isDay = ordinal(t.word(i+1), true); !isDay {
			return f, 0, 0
		}
		n = 2
	case isDay && t.word(i-1) == "the" && slices.Contains([]string{"on", "by", "before", "after"}, t.word(i-2)):
		if _, ok := ordinal(t.words[i], false); !ok {
			return f, 0, 0
		}
		return found{day: t.nextDay(d), relative: true}, i - 1, 1
	default:
		return f, 0, 0
	}
	today := t.today()
	if y := t.word(i + n); len(y) == 4 {
		if year, ok := number(y); ok && year >= 1900 {
			return t.exactly(year, m, d, i, n+1)
		}
	}
	for year := today.Year(); year <= today.Year()+8; year++ { // 29 February
		if f, before, read := t.exactly(year, m, d, i, n); read > 0 && !f.day.Before(today) {
			f.relative = true
			return f, before, read
		}
	}
	return f, 0, 0
}

func (t *reading) isMonth(i int) bool {
	_, ok := month(t.word(i))
	return ok
}

// exactly is a date, if the calendar has it.
func (t *reading) exactly(year int, m time.Month, d, i, n int) (found, int, int) {
	day := time.Date(year, m, d, 0, 0, 0, 0, time.UTC)
	if day.Day() != d {
		return found{}, 0, 0
	}
	return found{day: day}, i - 1, n
}

// nextDay is the first day of that number, today or later.
func (t *reading) nextDay(d int) time.Time {
	today := t.today()
	for k := range 12 {
		day := time.Date(today.Year(), today.Month()+time.Month(k), d, 0, 0, 0, 0, time.UTC)
		if day.Day() == d && !day.Before(today) {
			return day
		}
	}
	return today
}
