package commitment

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Dates is an [Inferrer] without a model, for English. It looks at entries that carry the tag
// "intent" and not the tag "done". It arms what it has read whole, and says of everything else
// why it is [Unread]; a paraphrase or another language is for an Inferrer with a model.
//
// Explicit tags come first: "when:NAME" for a predicate, "at:INSTANT" for a date or an instant in
// ISO 8601, "every:INTERVAL" for an interval such as 90m, or a schedule in the notation of
// [ParseCron]. With one of these the text is not read. A "when:" fires once unless the entry is
// tagged "recurring" too.
//
// Otherwise one sentence of the text may speak of times. What it may say:
//
//   - a day: 2026-05-12, 12 May, May 12th 2026, the 12th of May, the 12th, today, tomorrow, the
//     day after tomorrow, Monday, this or next Monday, Monday next week, in 3 days, in two weeks,
//     a month from now; or an instant: 2026-05-12T14:00Z, in 90 minutes
//   - a time of day: 17:00, 5 pm, 5:30 p.m., 1730 hrs, noon, half past five in the afternoon, five
//     o'clock in the evening; or a part of the day: morning is 09:00, afternoon 14:00, evening 18:00,
//     night 20:00. A day alone is its 09:00, and a time alone is the next one
//   - after it a time zone: UTC, GMT, an IANA name with a slash, or an abbreviation that means one
//     thing (EST and EDT, CDT, MST and MDT, PST and PDT, CET, CEST and the others of the Dates'
//     table). CST, IST, BST and the like mean several. The clocks there must show the abbreviation at
//     that time: 2 pm EST in July is nothing
//   - or every day, every weekday, every morning, every Monday and Thursday, with a time of day
//
// "By" a time is at it. All of it is relative to the entry's CreatedAt, in the time zone Zone. A
// day of the week is the first one after that day; the same day of the week is ambiguous, and so are
// "this" and "next" where a week later could be meant. A date without a year is the first one that is not over.
// Names of months begin with a capital; Sat, Sun, Mon, too, so that nobody sat or may.
//
// An entry is Unread, with its reason, if
//
//   - any other word of the sentence can belong to a time: numbers beside a time, units, weekdays,
//     months, parts of the day, time zones, "before", "until", "except", "last", a second time; or
//     a time says what is spoken about, as after "for", "from", "of", "the" ([WhyUnclear]; an alarm
//     and a reminder are "for" a time)
//   - there are several times or readings: 5 without am or pm, a weekday that is not that of its
//     date, a time of day that the clocks show twice ([WhyAmbiguous])
//   - the calendar or the clocks do not have it: 31 June, 25:00, the hour that is skipped
//     ([WhyImpossible], [WhyZone])
//   - it is negated, canceled, done, removed or put off ([WhyNegated]); reported, or there is any
//     quotation mark ([WhyReported]); asked, supposed or conditional ([WhySupposed]); told of the
//     past or of a state ([WhyTold]), unless beside what is to be done, after "whether" for example
//   - it does not begin as what is to be done begins: with one of some hundred verbs, after "please",
//     "I must" and their like. Only if it names a day in English and a time of day it may begin
//     otherwise, except as a question or with he, she, they ([WhyNoIntent])
//   - it has passed, or it is relative in an entry that was derived from others, whose CreatedAt is
//     not that of the words ([WhyPast], [WhyRelative])
type Dates struct {
	// Zone is the IANA name of the time zone in which dates are read; empty is UTC.
	Zone string
}

// defaultHour is the time of day of a day without one.
const defaultHour = 9

// Version names the rules and the time zone.
func (d Dates) Version() string { return "dates/2 " + d.Zone }

// Infer implements [Inferrer].
func (d Dates) Infer(ctx context.Context, r Request) (Inference, error) {
	zone, err := loadZone(d.Zone)
	if err != nil {
		return Inference{}, err
	}
	var out Inference
	for i := range r.Entries {
		if err := ctx.Err(); err != nil {
			return Inference{}, err
		}
		e := &r.Entries[i]
		if !slices.Contains(e.Tags, "intent") || slices.Contains(e.Tags, "done") {
			continue
		}
		t := reading{zone: zone, created: e.CreatedAt, derived: len(e.Sources) > 0}
		arms, why := t.read(e)
		for _, a := range arms {
			if a.single() && !a.At.After(r.Now) {
				why = WhyPast
			} else { // the engine looks at the horizon
				out.Intents = append(out.Intents, Intent{e.ID, a})
			}
		}
		if why != "" {
			out.Unread = append(out.Unread, Unread{e.ID, why})
		}
	}
	return out, nil
}

// read returns the arms of an entry, and why something in it could not be read.
func (t *reading) read(e *memory.Entry) ([]Arm, Why) {
	if arms, why := t.tags(e.Tags); len(arms) > 0 || why != "" {
		return arms, why
	}
	with := (*reading)(nil) // the sentence with a time
	for _, s := range sentences(e.Content) {
		r := *t
		r.toks = s
		r.times()
		timed := r.timed()
		for i := range r.toks {
			if why := r.refusing(i); !timed && (why == WhyNegated || why == WhyReported) {
				t.fail(why)
			}
		}
		if !timed {
			continue
		}
		if with != nil {
			t.fail(WhyAmbiguous)
		}
		with = &r
	}
	switch {
	case with == nil:
		return nil, WhyNoDate
	case quoted(e.Content):
		t.fail(WhyReported)
	}
	if t.why != "" {
		return nil, t.why
	}
	a, why := with.arm()
	if why == "" && slices.Contains(e.Tags, "recurring") && a.single() {
		why = WhyNoDate
	}
	if why != "" {
		return nil, why
	}
	return []Arm{a}, ""
}

// timed reports whether the sentence holds a word that can belong to a time.
func (t *reading) timed() bool {
	for i := range t.toks {
		if t.toks[i].used || t.temporal(i) {
			return true
		}
	}
	return false
}

// temporal reports whether a word can belong to a time.
func (t *reading) temporal(i int) bool {
	tok := &t.toks[i]
	for _, part := range strings.FieldsFunc(tok.raw, func(r rune) bool { return strings.ContainsRune("-–/", r) }) {
		part = strings.TrimSuffix(strings.TrimSuffix(part, "s"), "'")
		if named(part) && zones[part] == "" || timeWords[strings.ToLower(part)] || timeWords[tok.low] {
			return true
		}
	}
	w := tok.low
	near := t.tok(i-1).used || t.tok(i+1).used || joins[t.word(i+1)] && t.tok(i+2).used || joins[t.word(i-1)] && t.tok(i-2).used
	if !strings.ContainsAny(w, "0123456789") {
		// After a time a word in capitals, or the last one with one, may be a time zone.
		place := t.tok(i-1).used && tok.raw != w && (tok.raw == strings.ToUpper(tok.raw) && len(w) > 1 || t.tok(i+1).raw == "" || tok.after != "")
		return near && (place || zones[tok.raw] != "" || nearWords[w] || strings.Contains(w, "/"))
	}
	if n, ok := digits(w, 4); ok { // a lone number
		could := n <= 59 || n >= 1900 && n <= 2100 || len(w) == 4 && n/100 < 24 && n%100 < 60
		money := strings.ContainsAny(tok.before, "$€£#") || strings.Contains(tok.after, "%")
		return could && !money && (near || leadsToTime[t.word(i-1)] || t.word(i-1) == "the" && leadsToTime[t.word(i-2)])
	}
	_, err := strconv.Atoi(w)
	return err != nil && (near || w[0] >= '0' && w[0] <= '9' && strings.ContainsAny(w, ":-/.apmhstndr"))
}

// joins stand between two times of a span or a choice.
var joins = set("and or to - – — & through")

var leadsToTime = set("at by before after until till from on around between since past")

// follows may stand after a bare number that is an hour.
var follows = set("to for about with on in at by via and the my our please so i we")

// alarms are set for a time, and not about one.
var alarms = set("alarm alarms reminder alert timer set")

// arm returns the arm of a sentence that was read whole, or why it was not.
func (t *reading) arm() (Arm, Why) {
	last, placed := 0, false
	for i := range t.toks {
		tok, prev, next := &t.toks[i], t.tok(i-1), t.tok(i+1)
		switch {
		case !tok.used:
			if t.temporal(i) {
				t.fail(WhyUnclear)
			}
			continue
		case (tok.raw == "Sat" || tok.raw == "Sun") && !prev.used && !next.used: // "Sat on a bench", "Sun patches"
			t.fail(WhyUnclear)
		case len(tok.raw) < 3 && tok.raw[0] <= '9' && tok.after == "" && next.raw != "" && !next.used && !follows[next.low]: // "7 Main Street"
			t.fail(WhyUnclear)
		}
		if prev.used {
			continue
		}
		last = i
		alarm := (prev.low == "for" || prev.low == "to") && alarms[t.word(i-2)]
		placed = placed || alarm || i == 0 || !t.day.IsZero() || t.weekday.set || preposition[tok.low]
		bare := t.clock.half == 0 && strings.Contains(tok.raw, ":") && !strings.Contains(tok.raw, "-")
		switch {
		case attributive[prev.low] && !alarm && !strings.ContainsAny(prev.after, ",:"),
			strings.ContainsAny(tok.before, "~<>$#€£-–"),
			bare && i > 0 && prev.after == "": // "Exodus 12:30"
			t.fail(WhyUnclear)
		}
	}
	ok, verb := t.intends()
	beside := false // in a clause after the times, beside what is to be done
	for i := range t.toks {
		beside = beside || verb && i > last && clauses[t.word(i)]
		if why := t.refusing(i); why != WhyTold || !beside {
			t.fail(why)
		}
		if i < last && clauses[t.word(i)] {
			t.fail(WhyUnclear)
		}
		if i < last && states[t.word(i)] {
			t.fail(WhyTold)
		}
	}
	if !placed {
		t.fail(WhyUnclear)
	}
	if strings.Contains(t.toks[len(t.toks)-1].after, "?") {
		t.fail(WhySupposed)
	}
	if !ok {
		t.fail(WhyNoIntent)
	}
	if t.why != "" {
		return Arm{}, t.why
	}
	if t.days != "" {
		return t.schedule()
	}
	at, why := t.instant()
	return Arm{At: at}, why
}

// schedule returns the arm of what recurs.
func (t *reading) schedule() (Arm, Why) {
	c := t.hour()
	switch {
	case t.why != "":
		return Arm{}, t.why
	case !t.exact.IsZero() || !t.day.IsZero() || t.weekday.set:
		return Arm{}, WhyAmbiguous
	case t.shown != "":
		return Arm{}, WhyZone
	}
	a := Arm{Spec: strconv.Itoa(c.minute) + " " + strconv.Itoa(c.hour) + " " + t.days, Zone: t.place().String()}
	return a.normal(), ""
}

// place is where the clocks are that the sentence means.
func (t *reading) place() *time.Location {
	if t.in != nil {
		return t.in
	}
	return t.zone
}

// hour returns the time of day that the sentence names, or the default.
func (t *reading) hour() clock {
	c := t.clock
	part, parted := parts[t.part]
	switch {
	case !c.set && !parted:
		return clock{hour: defaultHour}
	case !c.set:
		return clock{set: true, hour: part.alone}
	case c.half != 0:
		if c.hour %= 12; c.half == 'p' {
			c.hour += 12
		}
	case c.padded || c.hour == 0 || c.hour > 12: // of 24
	case !parted:
		t.fail(WhyAmbiguous)
	default:
		if c.hour %= 12; part.from >= 12 {
			c.hour += 12
		}
	}
	if parted && (c.hour < part.from || c.hour >= part.to) {
		t.fail(WhyAmbiguous)
	}
	return c
}

// instant returns the one instant that the sentence names.
func (t *reading) instant() (time.Time, Why) {
	c, day := t.hour(), t.whichDay()
	in := t.place()
	relative := t.relative || day.IsZero() && t.exact.IsZero()
	switch {
	case t.why != "":
		return time.Time{}, t.why
	case t.derived && relative:
		return time.Time{}, WhyRelative
	case !t.exact.IsZero() && (c.set || !day.IsZero()), relative && !midnight(t.created.In(in)).Equal(t.today()):
		return time.Time{}, WhyAmbiguous // said twice, or of a day that is another one there
	case !t.exact.IsZero():
		return t.exact, ""
	case !day.IsZero():
		return t.exactly(day, c, in)
	}
	at, why := t.exactly(t.today(), c, in)
	if why == "" && !at.After(t.created) {
		return t.exactly(t.today().AddDate(0, 0, 1), c, in)
	}
	return at, why
}

// whichDay returns the day that the sentence names, or zero. A day of the week is the first one
// after today, and with "next" one that is also in the next week.
func (t *reading) whichDay() time.Time {
	if !t.weekday.set {
		return t.day
	}
	today := t.today()
	if t.weekday.which != "" && today.Weekday() == time.Sunday {
		t.fail(WhyAmbiguous) // a week begins with it, or ends
	}
	ahead := (int(t.weekday.day-today.Weekday())+6)%7 + 1
	sunday := (7 - int(today.Weekday())) % 7 // days to the end of the week
	switch which := t.weekday.which; {
	case !t.day.IsZero() && which == "" && t.day.Weekday() == t.weekday.day:
		return t.day
	case which == "next week" && ahead <= sunday:
		ahead += 7
	case ahead == 7 && which != "next" && which != "next week", which == "this" && ahead > sunday, which == "next" && ahead <= sunday:
		t.fail(WhyAmbiguous)
	}
	if which := t.weekday.which; which == "next week" && t.weekday.day == time.Sunday {
		t.fail(WhyAmbiguous) // some begin the week with it
	}
	t.relative = true
	day := today.AddDate(0, 0, ahead)
	say(t, &t.day, day)
	return day
}

// exactly returns the one instant at which the clocks of a place show c on a day, with the
// abbreviation that was said. They show some times of day never, because they were put forward, and
// some twice.
func (t *reading) exactly(day time.Time, c clock, in *time.Location) (time.Time, Why) {
	shown := day.Add(time.Duration(c.hour)*time.Hour + time.Duration(c.minute)*time.Minute)
	var at []time.Time
	other := false
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(around).In(in).Zone()
		i := shown.Add(-time.Duration(offset) * time.Second)
		if name, there := i.In(in).Zone(); there == offset && !slices.ContainsFunc(at, i.Equal) {
			if t.shown == "" || t.shown == name {
				at = append(at, i)
			} else {
				other = true
			}
		}
	}
	switch {
	case len(at) == 1:
		return at[0], ""
	case len(at) > 1:
		return time.Time{}, WhyAmbiguous
	case other:
		return time.Time{}, WhyZone
	}
	return time.Time{}, WhyImpossible
}

// tags reads the explicit tags.
func (t *reading) tags(tags []string) (arms []Arm, why Why) {
	for _, tag := range tags {
		kind, value, ok := strings.Cut(tag, ":")
		if !ok {
			continue
		}
		arm := Arm{}
		switch kind {
		case "when":
			arm = Arm{Predicate: value, Once: !slices.Contains(tags, "recurring")}
		case "at":
			r := *t
			r.toks = []token{{raw: value}}
			if r.iso(0) == 0 {
				why = WhyBadTag
				continue
			}
			arm.At, _ = r.instant()
		case "every":
			if every, err := time.ParseDuration(value); err == nil {
				arm = Arm{Every: every, At: t.created}
			} else if _, err := ParseCron(value, t.zone); err == nil {
				arm = Arm{Spec: value, Zone: t.zone.String()}.normal()
			}
			if arm.Every != 0 && t.derived {
				why = WhyRelative
				continue
			}
		default:
			continue
		}
		if arm.check() != nil {
			why = WhyBadTag
			continue
		}
		if !slices.Contains(arms, arm) {
			arms = append(arms, arm)
		}
	}
	return arms, why
}
