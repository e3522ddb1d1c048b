package commitment

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Dates is an [Inferrer] without a model.
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
		t := reading{zone: zone, name: strings.TrimSuffix(d.Zone, "UTC"), created: e.CreatedAt, derived: len(e.Sources) > 0}
		arms, why := t.read(e)
		for _, a := range arms {
			if a.single() && !a.At.After(r.Now) {
				why = WhyPast
			} else if a.single() && a.At.Sub(r.Now) > r.Horizon {
				why = WhyHorizon
			} else {
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
			why := r.refusing(i)
			if timed || why == WhyNegated || why == WhyReported {
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
	case t.why != "":
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
	_, isWeekday := weekday(tok.raw)
	_, isMonth := month(tok.raw)
	w := strings.TrimSuffix(tok.low, "'s")
	if isWeekday || isMonth || timeWords[w] || timeWords[tok.low] {
		return true
	}
	near := t.tok(i-1).used || t.tok(i+1).used || joins[t.word(i+1)] && t.tok(i+2).used || joins[t.word(i-1)] && t.tok(i-2).used
	if !strings.ContainsAny(w, "0123456789") {
		_, zone := zones[tok.raw]
		_, day := weekday(strings.TrimSuffix(tok.raw, "'s"))
		capitals := len(tok.raw) > 1 && len(tok.raw) < 6 && tok.raw == strings.ToUpper(tok.raw) && t.tok(i-1).used
		return day || near && (zone || capitals || nearWords[w] || strings.Contains(w, "/"))
	}
	if n, ok := digits(w, 4); ok { // a lone number
		could := n <= 59 || n >= 1900 && n <= 2100 || len(w) == 4 && n/100 < 24 && n%100 < 60
		money := strings.ContainsAny(tok.before, "$€£#") || strings.Contains(tok.after, "%")
		return could && !money && (near || leadsToTime[t.word(i-1)] || t.word(i-1) == "the" && leadsToTime[t.word(i-2)])
	}
	return w[0] >= '0' && w[0] <= '9' && strings.ContainsAny(w, ":-/.apmhstndr")
}

// joins stand between two times of a span or a choice.
var joins = set("and or to - – — & through")

var leadsToTime = set("at by before after until till from on around between since past")

// alarms are set for a time, and not about one.
var alarms = set("alarm alarms reminder alert timer set")

// arm returns the arm of a sentence that was read whole, or why it was not.
func (t *reading) arm() (Arm, Why) {
	last, placed := 0, false
	for i := range t.toks {
		tok := &t.toks[i]
		switch {
		case tok.quoted && tok.used:
			t.fail(WhyReported)
		case !tok.used && t.temporal(i):
			t.fail(WhyUnclear)
		case tok.used && !t.tok(i-1).used:
			prev := t.tok(i - 1)
			alarm := (prev.low == "for" || prev.low == "to") && alarms[t.word(i-2)]
			if attributive[prev.low] && !alarm && !strings.ContainsAny(prev.after, ",:") || strings.ContainsAny(tok.before, "~<>$#€£-–") {
				t.fail(WhyUnclear)
			}
			placed = placed || alarm || i == 0 || !t.day.IsZero() || t.weekday != nil || preposition[tok.low]
			last = i
		}
	}
	for i := range last {
		if clauses[t.word(i)] {
			t.fail(WhyUnclear)
		}
		if states[t.word(i)] {
			t.fail(WhyTold)
		}
	}
	if !placed {
		t.fail(WhyUnclear)
	}
	if strings.Contains(t.toks[len(t.toks)-1].after, "?") {
		t.fail(WhySupposed)
	}
	if !t.intends() {
		t.fail(WhyNoIntent)
	}
	if t.why != "" {
		return Arm{}, t.why
	}
	if t.every > 0 || t.days != "" {
		return t.schedule()
	}
	at, why := t.instant()
	return Arm{At: at}, why
}

// schedule returns the arm of what recurs.
func (t *reading) schedule() (Arm, Why) {
	c, _ := t.hour()
	switch {
	case t.why != "":
		return Arm{}, t.why
	case !t.exact.IsZero() || !t.day.IsZero() || t.weekday != nil || t.every > 0 && t.days != "":
		return Arm{}, WhyAmbiguous
	case t.every > 0 && (t.clock != nil || t.part != ""):
		return Arm{}, WhyUnclear
	case t.every > 0 && t.derived:
		return Arm{}, WhyRelative
	case t.every > 0:
		return Arm{Every: t.every, At: t.created}, ""
	}
	zone := t.name
	if t.at != "" {
		zone = zones[t.at].place
		if zone == "UTC" {
			zone = ""
		} else if len(t.at) > 2 || zone == "" {
			return Arm{}, WhyZone
		}
	}
	return Arm{Spec: strconv.Itoa(c.minute) + " " + strconv.Itoa(c.hour) + " " + t.days, Zone: zone}, ""
}

// hour returns the time of day that the sentence names; set reports whether it does.
func (t *reading) hour() (c clock, set bool) {
	part, parted := parts[t.part]
	if t.clock == nil {
		if !parted {
			return clock{hour: defaultHour}, false
		}
		return clock{hour: part.alone}, true
	}
	c = *t.clock
	switch {
	case c.half == 0 && parted && c.hour >= 1 && c.hour <= 12 && !c.padded:
		if c.hour %= 12; part.from >= 12 {
			c.hour += 12
		}
	case c.half != 0:
		if c.hour %= 12; c.half == 'p' {
			c.hour += 12
		}
	case c.hour >= 1 && c.hour <= 12 && !c.padded:
		t.fail(WhyAmbiguous)
	}
	if parted && (c.hour < part.from || c.hour >= part.to) {
		t.fail(WhyAmbiguous)
	}
	return c, true
}

// instant returns the one instant that the sentence names.
func (t *reading) instant() (time.Time, Why) {
	c, set := t.hour()
	day := t.onDay()
	switch {
	case t.why != "":
		return time.Time{}, t.why
	case t.derived && (t.relative || day.IsZero() && t.exact.IsZero()):
		return time.Time{}, WhyRelative
	case !t.exact.IsZero() && (set || !day.IsZero() || t.at != ""):
		return time.Time{}, WhyAmbiguous
	case !t.exact.IsZero():
		return t.exact, ""
	case !set && t.at != "":
		return time.Time{}, WhyZone
	}
	in, shown, why := t.place()
	if why != "" {
		return time.Time{}, why
	}
	if t.relative || day.IsZero() {
		if here := midnight(t.created.In(in)); !here.Equal(t.today()) {
			return time.Time{}, WhyAmbiguous // another day there
		}
	}
	if day.IsZero() {
		day = t.today()
		if at, _ := exactly(day, c, in); !at.After(t.created) {
			day = day.AddDate(0, 0, 1)
		}
	}
	at, why := exactly(day, c, in)
	if why != "" {
		return time.Time{}, why
	}
	if shown != "" {
		if loc, err := loadZone(zones[shown].place); err != nil || !strings.HasPrefix(at.In(loc).Format("MST"), shown) {
			return time.Time{}, WhyZone
		}
	}
	return at, ""
}

// onDay returns the day that the sentence names, or zero.
func (t *reading) onDay() time.Time {
	if t.weekday == nil {
		return t.day
	}
	today := t.today()
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	day := monday.AddDate(0, 0, (int(*t.weekday)+6)%7)
	switch {
	case t.which == "next week" && *t.weekday == time.Sunday:
		t.fail(WhyAmbiguous)
	case t.which == "next week":
		day = day.AddDate(0, 0, 7)
	case !t.day.IsZero() && t.which == "" && t.day.Weekday() == *t.weekday:
		day = t.day
	case t.which == "this", t.which == "this week":
		if !day.After(today) {
			t.fail(WhyAmbiguous)
		}
	case day.Equal(today):
		t.fail(WhyAmbiguous)
	case t.which == "next" && day.After(today):
		t.fail(WhyAmbiguous)
	case !day.After(today):
		day = day.AddDate(0, 0, 7)
	}
	t.relative = t.relative || t.day.IsZero()
	if !t.day.IsZero() && !t.day.Equal(day) {
		t.fail(WhyAmbiguous)
	}
	return day
}

// place returns where the clocks are that the sentence means, and the abbreviation that they must
// show there.
func (t *reading) place() (in *time.Location, shown string, why Why) {
	if t.at == "" {
		return t.zone, "", ""
	}
	if seconds, ok := offsetOf(t.at); ok {
		return time.FixedZone("", seconds), "", ""
	}
	if z, ok := zones[t.at]; ok && len(t.at) > 2 {
		if z.place == "UTC" {
			return time.UTC, "", ""
		}
		return time.FixedZone("", int(z.hours*3600)), t.at, ""
	} else if ok && t.at != "Z" {
		in, err := loadZone(z.place)
		if err != nil {
			return nil, "", WhyZone
		}
		return in, "", ""
	}
	in, err := loadZone(t.at)
	if t.at == "Z" {
		in, err = time.UTC, nil
	}
	if err != nil {
		return nil, "", WhyZone
	}
	return in, "", ""
}

// exactly returns the one instant at which the clocks show c on a day. They show some times of day
// never, because they were put forward, and some twice.
func exactly(day time.Time, c clock, in *time.Location) (time.Time, Why) {
	shown := day.Add(time.Duration(c.hour)*time.Hour + time.Duration(c.minute)*time.Minute)
	var at []time.Time
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(around).In(in).Zone()
		i := shown.Add(-time.Duration(offset) * time.Second)
		if _, there := i.In(in).Zone(); there == offset && !slices.ContainsFunc(at, i.Equal) {
			at = append(at, i)
		}
	}
	switch len(at) {
	case 0:
		return time.Time{}, WhyImpossible
	case 1:
		return at[0], ""
	}
	return time.Time{}, WhyAmbiguous
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
				arm = Arm{Spec: value, Zone: t.name}
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
