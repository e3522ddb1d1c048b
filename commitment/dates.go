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
//   - a day: 2026-05-12, 12 May, May 12th 2026, the 12th, today, tomorrow, the day after tomorrow, Monday,
//     next Monday, in 3 days, two weeks from now; or an instant: 2026-05-12T14:00Z, in 90 minutes
//   - a time of day: 17:00, 5 pm, 5:30 p.m., noon, half past five in the afternoon; or a part of the day:
//     morning is 09:00, afternoon 14:00, evening 18:00, night 20:00. A day alone is its 09:00, and a time alone
//     is the next one
//   - after it a time zone: UTC, GMT, an IANA name with a slash, or an abbreviation that means one thing, as
//     EST does and IST does not. The clocks there must show it at that time: 2 pm EST in July is nothing
//   - or every day, every weekday, every Monday and Thursday, with a time of day
//
// All of it is relative to the entry's CreatedAt, in the time zone Zone. A day of the week is the first one after
// that day, and a date without a year the first one that is not over. "By" a time is at it.
//
// An entry is Unread, with its reason, if
//
//   - any other word of the sentence can belong to a time, such as a number beside one, a unit, "before",
//     "except" or a second time, or a time says what is spoken about, as after "from" or before "invoice" ([WhyUnclear])
//   - there are several times or readings: 5 without am or pm, the day of the week of CreatedAt, "next Friday"
//     on a Monday, a weekday that is not that of its date, an hour that the clocks show twice ([WhyAmbiguous])
//   - the calendar or the clocks do not have it: 31 June, 25:00, the hour that is skipped ([WhyImpossible],
//     [WhyZone])
//   - it is negated, canceled or done ([WhyNegated]); reported, or there is any quotation mark ([WhyReported]);
//     asked, supposed or conditional ([WhySupposed]); told of the past or of a state ([WhyTold])
//   - it does not ask its reader for something: it begins with one of some hundred verbs, after "please", "I must"
//     and their like, or is nothing but a time ([WhyNoIntent])
//   - it has passed, or it is relative in an entry that was derived from others, whose CreatedAt is not that of
//     the words ([WhyPast], [WhyRelative])
type Dates struct {
	// Zone is the IANA name of the time zone in which dates are read; empty is UTC.
	Zone string
}

// defaultHour is the time of day of a day without one.
const defaultHour = 9

// Version names the rules and the time zone.
func (d Dates) Version() string { return "dates/4 " + d.Zone }

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
		r.readTimes(s)
		switch {
		case !r.hasTime():
			for i := range r.words {
				if why := r.whyBarred(i); why == WhyNegated || why == WhyReported {
					t.fail(why)
				}
			}
		case with != nil:
			t.fail(WhyAmbiguous)
		default:
			with = &r
		}
	}
	if with == nil {
		return nil, WhyNoDate
	}
	if quotes.MatchString(e.Content) {
		t.fail(WhyReported)
	}
	t.fail(with.whyRejected())
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

// arm returns the arm that a sentence asks for, or why it has none.
func (t *reading) arm() (Arm, Why) {
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
	case !t.exact.IsZero() || !t.day.IsZero() || t.weekday != "":
		return Arm{}, WhyAmbiguous
	case t.shown != "":
		return Arm{}, WhyZone
	}
	a := Arm{Spec: strconv.Itoa(c.minute) + " " + strconv.Itoa(c.hour) + " * * " + t.days, Zone: t.location().String()}
	return a.normal(), ""
}

// location returns the time zone that the sentence means.
func (t *reading) location() *time.Location {
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
	case c.half != "", parted && !c.padded && c.hour <= 12:
		if c.hour %= 12; c.half == "pm" || c.half == "" && part.from >= 12 {
			c.hour += 12
		}
	case !c.padded && c.hour > 0 && c.hour <= 12:
		t.fail(WhyAmbiguous)
	}
	if parted && (c.hour < part.from || c.hour >= part.to) {
		t.fail(WhyAmbiguous)
	}
	return c
}

// instant returns the one instant that the sentence names.
func (t *reading) instant() (time.Time, Why) {
	c, day, in := t.hour(), t.resolveDay(), t.location()
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
		return t.instantAt(day, c, in)
	}
	at, why := t.instantAt(t.today(), c, in)
	if why == "" && !at.After(t.created) {
		return t.instantAt(t.today().AddDate(0, 0, 1), c, in)
	}
	return at, why
}

// resolveDay returns the day that the sentence names, or zero. A day of the week is the first one after today, and
// with "next" one that is also in the next week.
func (t *reading) resolveDay() time.Time {
	if t.weekday == "" {
		return t.day
	}
	today, day := t.today(), dayOfWeek(t.weekday)
	if !t.day.IsZero() && !t.next && int(t.day.Weekday()) == day {
		return t.day
	}
	ahead := (day-int(today.Weekday())+6)%7 + 1
	thisWeek := ahead <= (7-int(today.Weekday()))%7
	if t.next && (thisWeek || today.Weekday() == time.Sunday) || !t.next && ahead == 7 {
		t.fail(WhyAmbiguous) // a Sunday ends a week for some, and begins one for others
	}
	t.relative = true
	assign(t, &t.day, today.AddDate(0, 0, ahead))
	return t.day
}

// instantAt returns the one instant at which the clocks of a place show c on a day, with the
// abbreviation that was said. They show some times of day never, because they were put forward, and
// some twice.
func (t *reading) instantAt(day time.Time, c clock, in *time.Location) (time.Time, Why) {
	shown := day.Add(time.Duration(c.hour)*time.Hour + time.Duration(c.minute)*time.Minute)
	at := instants(shown, in)
	if t.shown != "" {
		at = slices.DeleteFunc(at, func(i time.Time) bool { name, _ := i.Zone(); return name != t.shown })
	}
	switch {
	case len(at) == 1:
		return at[0].UTC(), ""
	case len(at) > 1:
		return time.Time{}, WhyAmbiguous
	case t.shown != "":
		return time.Time{}, WhyZone
	}
	return time.Time{}, WhyImpossible
}

// tags reads the explicit tags.
func (t *reading) tags(tags []string) (arms []Arm, why Why) {
	for _, tag := range tags {
		kind, value, _ := strings.Cut(tag, ":")
		arm := Arm{}
		switch kind {
		case "when":
			arm = Arm{Predicate: value, Once: !slices.Contains(tags, "recurring")}
		case "at":
			r := *t
			r.readTimes(strings.Fields(value))
			if len(r.words) == 1 && r.words[0].time && !r.english && (!r.exact.IsZero() || !r.day.IsZero()) {
				arm.At, _ = r.instant()
			}
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
