package commitment

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// token is a word of a sentence, as written and in lower case, and the punctuation around it.
type token struct {
	raw, low, before, after string
	used                    bool // a time was read from it
}

const (
	opening = "([{<\"“‘'«*_`~#$€£¥>-–—•=|"
	closing = ")]}>\"”’'»*_`,.;:!?…%-–—|"
)

var halves = strings.NewReplacer("a.m", "am", "p.m", "pm")

// quoted reports whether something in a text may be quoted.
func quoted(text string) bool {
	if strings.ContainsAny(text, "\"“”„«»`") {
		return true
	}
	for line := range strings.Lines(text) {
		for n, w := range strings.Fields(line) {
			if r, _ := utf8.DecodeRuneInString(w); r == '\'' || r == '‘' || n == 0 && (r == '>' || r == '|') {
				return true
			}
		}
	}
	return false
}

// sentences splits a text into sentences of tokens. A sentence ends with one of ".;!?" or a line,
// unless the next word begins in lower case, or names a day or the like after "p.m.".
func sentences(text string) [][]token {
	var out [][]token
	var s []token
	for line := range strings.Lines(text) {
		for n, run := range strings.Fields(line) {
			core := strings.TrimRight(strings.TrimLeft(run, opening), closing)
			if core == "" {
				core = run
			}
			if len(s) > 0 && ends(&s[len(s)-1], n == 0, core) {
				out, s = append(out, s), nil
			}
			before, after, _ := strings.Cut(run, core)
			core = strings.ReplaceAll(core, "’", "'")
			low := halves.Replace(strings.ToLower(core))
			s = append(s, token{raw: core, low: low, before: before, after: after})
		}
	}
	return append(out, s)
}

// ends reports whether a sentence ends between a token and the word after it.
func ends(t *token, newline bool, next string) bool {
	first, _ := utf8.DecodeRuneInString(next)
	stop := newline || strings.Contains(t.after, ".") && !titles[t.low] && !(strings.HasSuffix(t.low, "m") && named(next))
	return strings.ContainsAny(t.after, ";!?…") || stop && !unicode.IsLower(first)
}

// named reports whether a word names a day, a month or a time zone.
func named(w string) bool {
	_, day := weekday(w)
	_, month := months[w]
	_, zone := zones[w]
	return day || month || zone
}

// set makes a set of words.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var titles = set("dr mr mrs ms prof st sr jr no vs")

// timeWords can belong to a time wherever they stand.
var timeWords = set(`today tomorrow tonight yesterday noon midday midnight morning mornings afternoon afternoons evening
	evenings night nights nightly overnight dawn dusk sunrise sunset day days daily week weeks weekly weekend weekends
	weekday weekdays workday workdays fortnight month months monthly year years yearly annually decade hour hours hourly hr
	hrs minute minutes min mins second seconds sec secs quarter quarters quarterly am pm o'clock oclock before after
	afterwards until till til except since during between within ago last later earlier soon now currently immediately asap
	eod cob eob eow eom eoy every each biweekly once twice always often usually regularly early late everyday anytime sometime time
	times christmas xmas easter thanksgiving halloween holiday holidays birthday midweek tomorrows half past earliest`)

// nearWords belong to a time if one stands beside them.
var nearWords = set(`one two three four five six seven eight nine ten eleven twelve half couple few several dozen first
	third fourth fifth end beginning start middle mid local onwards roughly circa nearly almost plus minus next following
	upcoming coming previous past again or eastern pacific central mountain`)

// attributive words make of the time after them something that is spoken about, a span, or an
// estimate.
var attributive = set(`for from to of off about around approximately roughly circa nearly almost before after until till
	since between than through the a an my our your his her its their last past or not every each within via per under
	over regarding re - – — ~ into as plus minus & vs versus mr mrs ms dr line page starting
	beginning effective`)

// preposition may begin a time.
var preposition = set("at by in on every each tonight")

// states are verbs of statements.
var states = set("is are isn't aren't has it's he's she's there's what's that's")

// clauses are words after which a time may belong to something else than what is to be done.
var clauses = set(`that which who whose whom where when while because whether how what why as since so but than`)

var numbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
	"eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}

// number reads a count of up to four digits, or a word for one.
func number(w string) (int, bool) {
	if n, ok := numbers[w]; ok {
		return n, true
	}
	return digits(w, 4)
}

// digits reads a number of at most so many digits.
func digits(w string, most int) (int, bool) {
	if len(w) > most {
		return 0, false
	}
	n, err := strconv.ParseUint(w, 10, 16)
	return int(n), err == nil
}

// ordinal reads the day of a month: 5th, or where bare is set 5.
func ordinal(w string, bare bool) (int, bool) {
	n, ok := digits(strings.TrimRight(w, "dhnrst"), 2)
	suffix := strings.TrimLeft(w, "0123456789")
	return n, ok && n > 0 && (bare && suffix == "" || slices.Contains([]string{"st", "nd", "rd", "th"}, suffix))
}

// weekdays and months are their names. Shortened they begin with a capital, and those of months
// always do.
var (
	weekdays = map[string]time.Weekday{"Tues": time.Tuesday, "Thurs": time.Thursday}
	months   = map[string]time.Month{"Sept": time.September}
)

func init() {
	for d := range time.Weekday(7) {
		weekdays[strings.ToLower(d.String())], weekdays[d.String()[:3]] = d, d
	}
	for m := time.January; m <= time.December; m++ {
		months[m.String()], months[m.String()[:3]] = m, m
	}
}

func weekday(raw string) (time.Weekday, bool) {
	d, ok := weekdays[raw]
	if !ok {
		d, ok = weekdays[strings.ToLower(raw)]
	}
	return d, ok
}

// unit reads a unit of time: its length, or 0 for a month, and whether it is one that is
// counted in days.
func unit(w string) (step time.Duration, days int, months int) {
	switch strings.TrimSuffix(w, "s") {
	case "minute", "min":
		return time.Minute, 0, 0
	case "hour", "hr":
		return time.Hour, 0, 0
	case "day":
		return 0, 1, 0
	case "week":
		return 0, 7, 0
	case "month":
		return 0, 0, 1
	case "year":
		return 0, 0, 12
	}
	return 0, 0, 0
}

// zones are the abbreviations of time zones that mean one thing, and a place whose clocks show
// them. Others, such as CST, IST and BST, mean several.
var zones = map[string]string{
	"UTC": "UTC", "GMT": "UTC", "Z": "UTC", "EST": "America/New_York", "EDT": "America/New_York", "CDT": "America/Chicago",
	"MST": "America/Denver", "MDT": "America/Denver", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
	"AKST": "America/Anchorage", "AKDT": "America/Anchorage", "HST": "Pacific/Honolulu", "WET": "Europe/Lisbon",
	"WEST": "Europe/Lisbon", "CET": "Europe/Paris", "CEST": "Europe/Paris", "EET": "Europe/Helsinki",
	"EEST": "Europe/Helsinki", "MSK": "Europe/Moscow", "SAST": "Africa/Johannesburg", "JST": "Asia/Tokyo", "KST": "Asia/Seoul",
	"AWST": "Australia/Perth", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland",
	"NZDT": "Pacific/Auckland",
}
