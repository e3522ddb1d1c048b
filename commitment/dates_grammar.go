package commitment

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is a way to write a time, with a preposition before it and punctuation after it, and what it
// says. read gets what its groups hold, with the preposition first, and reports false if it is no
// time after all.
type form struct {
	pattern *regexp.Regexp
	read    func(t *reading, m []string) bool
}

func written(pattern string, read func(t *reading, m []string) bool) form {
	return form{regexp.MustCompile(`^\(?(?:(?i:(on|by|at)) )?(?:` + pattern + `)([,.:;!?)]*)(?: |$)`), read}
}

// Parts of forms. Shortened names of days begin with a capital, and those of months always do.
const (
	dayNames   = `(?i:sun|mon|tues|wednes|thurs|fri|satur)day|Sun|Mon|Tues?|Wed|Thu(?:rs)?|Fri|Sat`
	monthNames = `Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?`
	hours      = `(?i:(\d\d?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))`
	span       = `(?i:(\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) (minute|min|hour|hr|day|week)s?`
	dayOfMonth = `(\d\d?)(?:st|nd|rd|th)?`
	year       = `(?:,? (\d{4}))?`
)

var zone = `(?: (` + strings.Join(slices.Collect(maps.Keys(zones)), "|") + `|[A-Z]\w+/[\w/+-]+))?`

// grammar is the forms of times. At each word the first one that fits is read.
var grammar = []form{
	written(`(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)`, (*reading).timestamp),
	written(`(\d{4}-\d\d-\d\d)(?:T(\d\d):(\d\d)(?::00)?`+zone+`)?`, func(t *reading, m []string) bool {
		day, err := time.Parse(time.DateOnly, m[1])
		if err != nil {
			return false
		}
		assign(t, &t.day, day)
		return m[2] == "" || t.timeOfDay([]string{"at", "", "", m[2], m[3], "", "", m[4]})
	}),
	written(`(?i:(today|tonight|tomorrow|the day after tomorrow|this (?:morning|afternoon|evening)))`, (*reading).namedDay),
	written(`(?i:in )`+span+`)`, (*reading).relativeTime),
	written(span+` from (?:now|today))`, (*reading).relativeTime),
	written(`(?i:the )?`+dayOfMonth+`(?: of)? (`+monthNames+`)`+year, func(t *reading, m []string) bool { return t.date(m[1], m[2], m[3]) }),
	written(`(`+monthNames+`) `+dayOfMonth+year, func(t *reading, m []string) bool { return t.date(m[2], m[1], m[3]) }),
	written(`(?i:the )(\d\d?)(?:st|nd|rd|th)`, func(t *reading, m []string) bool { return t.date(m[1], "", "") }),
	written(`(?i:(next )?)(`+dayNames+`)`, func(t *reading, m []string) bool {
		assign(t, &t.weekday, strings.ToLower(m[2][:3]))
		t.next, t.english = m[1] != "", true
		t.bare = len(m[2]) < 6 && m[0] == ""
		return true
	}),
	written(`(?i:every )(?:(day|weekday)|((?:`+dayNames+`)(?:(?:, | and )(?:`+dayNames+`))*))`, (*reading).every),
	written(`(?i:(half|quarter) (past|to) )?`+hours+`(?:[:.](\d\d)(?::00)?)?( o'clock)?(?: ?(?i:(am|pm)))?`+zone, (*reading).timeOfDay),
	written(`(?i:(noon|midday))`+zone, func(t *reading, m []string) bool {
		assign(t, &t.part, "noon")
		return t.inZone(m[2])
	}),
	written(`(?i:(in the |at )?(morning|afternoon|evening|night))`, func(t *reading, m []string) bool {
		assign(t, &t.part, strings.ToLower(m[2]))
		return m[0]+m[1] != "" || t.after
	}),
}

// reading is what the times of a sentence say.
type reading struct {
	zone    *time.Location // in which the entry was written
	created time.Time
	derived bool
	words   []word
	why     Why // the first reason not to arm it

	exact    time.Time // an instant
	day      time.Time // at midnight UTC, whatever the zone
	weekday  string    // its first three letters
	next     bool      // there is "next" before it
	relative bool      // it counts from when the entry was written
	english  bool      // it names a day in English
	clock    clock
	part     string         // of the day
	in       *time.Location // the time zone that is said, and the abbreviation of it
	shown    string
	days     string // the last field of a schedule

	after, bare, lone bool // of the form that is read: it stands after a time; what its word will say
}

// clock is a time of day as it is written. half is "am", "pm" or, if neither stands there, "".
type clock struct {
	set          bool
	hour, minute int
	half         string
	padded       bool // the hour has two digits, and minutes: it is of 24
}

// parts are the parts of the day: the hours that belong to them, and the one that they stand for alone.
var parts = map[string]struct{ from, to, alone int }{
	"morning": {0, 12, 9}, "noon": {12, 13, 12}, "afternoon": {12, 18, 14}, "evening": {17, 24, 18}, "night": {18, 24, 20},
}

// fail keeps the first reason.
func (t *reading) fail(why Why) {
	if t.why == "" {
		t.why = why
	}
}

// assign sets what a sentence says, which it says once or says again.
func assign[T comparable](t *reading, at *T, is T) {
	var nothing T
	if *at != nothing && *at != is {
		t.fail(WhyAmbiguous)
	}
	*at = is
}

// today is the day on which the entry was written.
func (t *reading) today() time.Time { return midnight(t.created.In(t.zone)) }

func midnight(at time.Time) time.Time {
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// number reads digits or a word for a number; "a" and "an" are 1.
func number(w string) int {
	if n := slices.Index(strings.Fields("zero one two three four five six seven eight nine ten eleven twelve"), w); n > 0 {
		return n
	}
	n, err := strconv.Atoi(w)
	if err != nil {
		return 1
	}
	return n
}

func (t *reading) timestamp(m []string) bool {
	if m[2] == "" {
		m[2] = ":00"
	}
	at, err := time.Parse("2006-01-02T15:04:05Z0700", m[1]+m[2]+strings.Replace(m[3], ":", "", 1))
	if err == nil {
		assign(t, &t.exact, millisUp(at))
	}
	return err == nil
}

func (t *reading) onDay(day time.Time) bool {
	assign(t, &t.day, day)
	t.relative, t.english = true, true
	return true
}

func (t *reading) namedDay(m []string) bool {
	name := strings.ToLower(m[1])
	_, part, _ := strings.Cut(name, "this ")
	if name == "tonight" {
		part = "night"
	}
	if part != "" {
		assign(t, &t.part, part)
	}
	return t.onDay(t.today().AddDate(0, 0, map[string]int{"tomorrow": 1, "the day after tomorrow": 2}[name]))
}

func (t *reading) relativeTime(m []string) bool {
	n := time.Duration(number(strings.ToLower(m[1])))
	unit := map[string]time.Duration{
		"min": time.Minute, "minute": time.Minute, "hr": time.Hour, "hour": time.Hour, "day": oneDay, "week": 7 * oneDay,
	}[strings.ToLower(m[2])]
	if unit >= oneDay {
		return t.onDay(t.today().Add(n * unit))
	}
	assign(t, &t.exact, t.created.UTC().Add(n*unit))
	t.relative = true
	return true
}

// date reads the day of a month. Without a year it is the first one that is not over, without a month too.
func (t *reading) date(day, month, year string) bool {
	d, today := number(day), t.today()
	y, m := today.Year(), today.Month()
	switch {
	case month != "":
		m = time.Month(slices.Index(strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), month[:3]) + 1)
	case d < today.Day():
		m++
	}
	if year != "" {
		y = number(year)
	} else if time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(today) {
		y++
	}
	at := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if at.Day() != d {
		t.fail(WhyImpossible)
	}
	relative := t.relative
	t.onDay(at)
	t.relative = relative || year == ""
	return true
}

func (t *reading) every(m []string) bool {
	days := map[string]string{"day": "*", "weekday": "1-5"}[m[1]]
	if days == "" {
		var list []string
		for _, name := range regexp.MustCompile(dayNames).FindAllString(m[2], -1) {
			list = append(list, strconv.Itoa(dayOfWeek(strings.ToLower(name[:3]))))
		}
		slices.Sort(list)
		days = strings.Join(slices.Compact(list), ",")
	}
	assign(t, &t.days, days)
	t.english = true
	return true
}

func dayOfWeek(name string) int {
	return slices.Index(strings.Fields("sun mon tue wed thu fri sat"), name)
}

func (t *reading) timeOfDay(m []string) bool {
	shifted, hour, minute, half := m[1] != "", m[3], m[4], strings.ToLower(m[6])
	if !shifted && minute == "" && half == "" && m[5] == "" && m[0] != "at" {
		return false
	}
	c := clock{set: true, hour: number(strings.ToLower(hour)), half: half, padded: len(hour) == 2 && minute != ""}
	if minute != "" {
		c.minute = number(minute)
	}
	if c.hour > 23 || c.minute > 59 || half != "" && (c.hour > 12 || c.hour == 0) {
		t.fail(WhyImpossible)
	}
	if shifted {
		c.minute += map[string]int{"half": 30, "quarter": 15}[strings.ToLower(m[1])]
		if strings.ToLower(m[2]) == "to" {
			c.hour, c.minute = c.hour-1, 60-c.minute
		}
	}
	t.bare, t.lone = half == "" && m[0] == "", half+minute+m[5] == ""
	assign(t, &t.clock, c)
	return t.inZone(m[7])
}

func (t *reading) inZone(name string) bool {
	if name == "" {
		return true
	}
	zoneName, short := zones[name]
	if !short {
		zoneName = name
	}
	in, err := loadZone(zoneName)
	if err != nil {
		t.fail(WhyZone)
		return true
	}
	if t.in != nil && t.in.String() != in.String() {
		t.fail(WhyAmbiguous)
	}
	if short && zoneName != "UTC" {
		assign(t, &t.shown, name)
	}
	t.in = in
	return true
}
