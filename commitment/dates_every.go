package commitment

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// recurring reads what recurs. It reports false for a text that speaks of nothing
// that does, and says why if it cannot read it.
func (t *reading) recurring() (a Arm, ok bool, why Why) {
	for i, w := range t.words {
		var days string // the last three fields
		n := 0
		switch w {
		case "daily":
			days, n = "* * *", 1
		case "every", "each":
			if t.monthly(i) {
				continue // "of each month", read with what stands before it
			}
			if a, n, why = t.every(i + 1); n > 0 || why != "" {
				return a, n > 0, why
			}
			days, n = t.everyDay(i + 1)
			if n == 0 {
				return a, false, WhyNoDate
			}
		case "the":
			days, n = t.everyMonth(i)
		}
		if n == 0 {
			continue
		}
		c, _, why := t.timeOfDay()
		if why != "" {
			return a, false, why
		}
		a = Arm{Spec: strconv.Itoa(c.minute) + " " + strconv.Itoa(c.hour) + " " + days, Zone: t.name}
		if c.utc {
			a.Zone = ""
		}
		return a, true, ""
	}
	return a, false, ""
}

// monthly reports whether "every" at i belongs to "of every month".
func (t *reading) monthly(i int) bool {
	return t.word(i-1) == "of" && t.word(i+1) == "month"
}

// every reads an interval: "hour", "3 days". It is counted from when the entry was
// written.
func (t *reading) every(i int) (a Arm, n int, why Why) {
	count, counted := number(t.word(i))
	if t.word(i) == "other" {
		return a, 0, WhyAmbiguous // from when on?
	}
	n = 2
	if !counted {
		count, n = 1, 1
	}
	u, ok := unit(t.word(i + n - 1))
	if !ok || count == 0 || (!counted && (u == 'd' || u == 'w')) {
		return a, 0, "" // one day or week is a schedule
	}
	step := time.Hour
	switch u {
	case 'n':
		step = time.Minute
	case 'd':
		step = 24 * time.Hour
	case 'w':
		step = 7 * 24 * time.Hour
	case 'm', 'y':
		return a, 0, WhyNoDate
	}
	if t.derived {
		return a, 0, WhyRelative
	}
	return Arm{Every: time.Duration(count) * step, At: t.created}, n, ""
}

// everyDay reads the days after "every" as the day fields of cron.
func (t *reading) everyDay(i int) (days string, n int) {
	switch t.word(i) {
	case "day", "morning", "afternoon", "evening", "noon":
		return "* * *", 1
	case "weekday", "workday":
		return "* * 1-5", 1
	case "week":
		if t.derived {
			return "", 0
		}
		return "* * " + strconv.Itoa(int(t.today().Weekday())), 1
	}
	var list []string
	for {
		d, ok := weekday(t.word(i + n))
		if !ok {
			break
		}
		if s := strconv.Itoa(int(d)); !slices.Contains(list, s) {
			list = append(list, s)
		}
		n++
		if t.word(i+n) == "and" {
			if _, more := weekday(t.word(i + n + 1)); !more {
				break
			}
			n++
		}
	}
	if n == 0 {
		return "", 0
	}
	slices.Sort(list)
	return "* * " + strings.Join(list, ","), n
}

// everyMonth reads "the 5th and the 20th of each month" as the day fields of cron.
func (t *reading) everyMonth(i int) (days string, n int) {
	var list []string
	for {
		if t.word(i+n) == "the" {
			n++
		}
		d, ok := ordinal(t.word(i+n), false)
		if !ok {
			break
		}
		list = append(list, strconv.Itoa(d))
		n++
		if t.word(i+n) == "and" {
			n++
		}
	}
	of := t.phrase(i+n, "of", "each", "month") + t.phrase(i+n, "of", "every", "month")
	if len(list) == 0 || of == 0 {
		return "", 0
	}
	return strings.Join(list, ",") + " * *", n + of
}
