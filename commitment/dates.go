package commitment

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Dates is an [Inferrer] without a model. It looks at entries that carry the tag
// "intent" and not the tag "done", and reads, in this order:
//
//   - explicit tags: "when:NAME" for a predicate, "at:INSTANT" for a date or an
//     instant in ISO 8601, "every:INTERVAL" for an interval such as 90m, or a
//     schedule in the notation of [ParseCron]. With one of these the text is not
//     read. A "when:" fires once unless the entry is tagged "recurring" too.
//   - what recurs: every day, weekday, Monday, Monday and Thursday, hour, 3 days, 2
//     weeks; daily; on the 5th and the 20th of each month; each with a time of day.
//   - one date: 2026-05-12, 2026-05-12T14:00Z, 12 May, May 12th 2026, on the 12th,
//     today, tomorrow, the day after tomorrow, Monday, next Monday, in 3 days,
//     within two weeks, in 90 minutes, next week, next month, at the end of the
//     month; with a time of day: at 9, 9:30, 5 pm, noon, morning, afternoon, evening.
//
// All of it is relative to the entry's CreatedAt, in the time zone Zone. A day of
// the week is the first one after that day, also with "next" or "this". What has no
// year is the first such date not before it. "By" a date is on it and "before" it
// the day before, but "not before" it is on it. A date after "of", "since", "until",
// "from", "to", "last" or "a" says what is spoken about, not when to act. Without a time
// of day it is 09:00; a time of day alone is the next one.
//
// It does not guess. Two dates, a date as 03/04/2026, "every other Friday", or no
// date at all make an entry [Unread], as do an instant that has passed or is too far
// ahead, and a relative date in an entry that was derived from others, whose
// CreatedAt is not that of the words.
type Dates struct {
	// Zone is the IANA name of the time zone in which dates are read; empty is UTC.
	Zone string
}

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
		t := reading{zone: zone, name: zoneName(d.Zone), created: e.CreatedAt, derived: len(e.Sources) > 0}
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

func zoneName(z string) string {
	if z == "UTC" {
		return ""
	}
	return z
}

// reading is one entry being read.
type reading struct {
	zone    *time.Location
	name    string
	created time.Time
	derived bool
	words   []string
}

// read returns the arms of an entry, and why something in it could not be read.
func (t *reading) read(e *memory.Entry) ([]Arm, Why) {
	if arms, why := t.tags(e.Tags); len(arms) > 0 || why != "" {
		return arms, why
	}
	t.words = words(e.Content)
	arm, found, why := t.recurring()
	if found || why != "" {
		return one(arm, found), why
	}
	if slices.Contains(e.Tags, "recurring") {
		return nil, WhyNoDate
	}
	at, why := t.date()
	return one(Arm{At: at}, why == ""), why
}

func one(a Arm, found bool) []Arm {
	if !found {
		return nil
	}
	return []Arm{a}
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
			at, ok := t.iso(strings.ToLower(value), nine)
			if !ok {
				why = WhyBadTag
				continue
			}
			arm.At = at
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
