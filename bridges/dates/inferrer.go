package dates

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/markusmobius/go-dateparser"
	"github.com/markusmobius/go-dateparser/date"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/internal/wallclock"
	"github.com/openwop/agentmemory/memory"
)

// What an [Inferrer] says of a text, besides the phrases of package commitment.
const (
	WhyNoTime   commitment.Why = "no time that can be read"
	WhyUnclear  commitment.Why = "a word beside the time was not read"
	WhyNoAsking commitment.Why = "it does not ask its reader for anything"
	WhyDenied   commitment.Why = "negated, canceled, done, reported, supposed or asked"
	WhyRelative commitment.Why = "a relative time in an entry that was derived from others"
)

// Inferrer is a [commitment.Inferrer] for tags and for English text. It arms one instant of a text that
// names one time, asks its reader to do something then, and says nothing else that could be about
// times. It arms nothing that is negated, canceled, done, told, asked, supposed or past. A day without a
// time of day is at 09:00; its morning is at 09:00, its afternoon at 14:00, its evening at 18:00.
type Inferrer struct {
	// Zone is where times are meant; nil is UTC.
	Zone *time.Location
}

var _ commitment.Inferrer = Inferrer{}

// Version names the rules and the zone.
func (f Inferrer) Version() string { return "dates/1 " + f.zone().String() }

func (f Inferrer) zone() *time.Location {
	if f.Zone == nil {
		return time.UTC
	}
	return f.Zone
}

// Infer implements [commitment.Inferrer].
func (f Inferrer) Infer(ctx context.Context, r commitment.Request) (commitment.Inference, error) {
	found, err := commitment.Tagged{}.Infer(ctx, r)
	if err != nil {
		return found, err
	}
	tagged := map[string]bool{}
	for _, i := range found.Intents {
		tagged[i.MemoryID] = true
	}
	for _, u := range found.Unread {
		tagged[u.MemoryID] = true
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if err := ctx.Err(); err != nil {
			return commitment.Inference{}, err
		}
		if tagged[e.ID] || !slices.Contains(e.Tags, "intent") || slices.Contains(e.Tags, "done") {
			continue
		}
		if at, why := f.read(e); why == "" {
			found.Intents = append(found.Intents, commitment.Intent{MemoryID: e.ID, Arm: commitment.Arm{At: at}})
		} else {
			found.Unread = append(found.Unread, commitment.Unread{MemoryID: e.ID, Why: why})
		}
	}
	return found, nil
}

// read returns the instant at which a text asks its reader for something, or why there is none.
func (f Inferrer) read(e *memory.Entry) (time.Time, commitment.Why) {
	text := normalize(e.Content)
	before, phrase, after, stands, found := findPhrase(text)
	if !found {
		return time.Time{}, WhyNoTime
	}
	now := e.CreatedAt.In(f.zone())
	if m := placeName.FindStringSubmatch(after); m != nil {
		place, err := zoneNamed(m[1])
		if err != nil {
			return time.Time{}, WhyUnclear
		}
		now, after = now.In(place), after[len(m[0]):]
	}
	rest := strings.TrimLeft(before+" "+after, " ,:;-")
	switch {
	case denied.MatchString(rest), quoted.MatchString(text), strings.Contains(text, "?") && !polite.MatchString(rest):
		return time.Time{}, WhyDenied
	case !asks.MatchString(rest):
		return time.Time{}, WhyNoAsking
	case !stands || badAfter.MatchString(after), timely.MatchString(rest), hasNamedZone(e.Content):
		return time.Time{}, WhyUnclear
	}
	relative := !absolute.MatchString(phrase)
	switch {
	case relative && len(e.Sources) > 0:
		return time.Time{}, WhyRelative
	case relative && now.Format(time.DateOnly) != e.CreatedAt.In(f.zone()).Format(time.DateOnly):
		return time.Time{}, WhyUnclear // it is another day there
	}
	at, ok := evaluate(phrase, now)
	if !ok {
		return time.Time{}, WhyNoTime
	}
	if !at.After(e.CreatedAt) {
		return time.Time{}, commitment.WhyPast
	}
	return at, ""
}

// zoneNamed returns the time zone whose name is this one in small letters.
func zoneNamed(small string) (*time.Location, error) {
	name := []byte(small)
	for i := range name {
		if i == 0 || name[i-1] == '/' || name[i-1] == '_' {
			name[i] = byte(unicode.ToUpper(rune(name[i])))
		}
	}
	return time.LoadLocation(string(name))
}

// evaluate reads a phrase at an instant. What it says is what the clocks show, and the first instant at which they do,
// unless it names an offset or counts the time that passes.
func evaluate(phrase string, now time.Time) (time.Time, bool) {
	if elapsed.MatchString(phrase) {
		return readDate(phrase, now.UTC())
	}
	if offset.MatchString(phrase) {
		return readDate(phrase, now)
	}
	wall, ok := readDate(phrase, wallclock.At(now, now.Location()))
	return wallclock.First(wall, now.Location()), ok
}

// readDate lets the library read a phrase at an instant, in its location.
func readDate(phrase string, now time.Time) (time.Time, bool) {
	phrase, ok := resolveWeek(phrase, now)
	if !ok {
		return time.Time{}, false
	}
	if iso := isoDate.FindString(phrase); iso != "" {
		if _, err := time.Parse(time.DateOnly, iso); err != nil {
			return time.Time{}, false
		}
	}
	cfg := &dateparser.Configuration{
		CurrentTime: now, DefaultTimezone: now.Location(), Languages: []string{"en"},
		PreferredDateSource: dateparser.Future, ReturnTimeAsPeriod: true,
	}
	if clockOnly.MatchString(phrase) {
		cfg.PreferredDateSource = dateparser.CurrentPeriod
	}
	found, err := dateparser.Parse(cfg, phrase)
	if err != nil || found.IsZero() {
		return time.Time{}, false
	}
	at := found.Time
	switch {
	case found.Period == date.Day:
		at = time.Date(at.Year(), at.Month(), at.Day(), 9, 0, 0, 0, now.Location())
	case !found.Period.IsTime():
		return time.Time{}, false
	case clockOnly.MatchString(phrase) && !at.After(now):
		at = at.In(now.Location()).AddDate(0, 0, 1) // the next such time of day
	}
	if name := weekday.FindString(phrase); name != "" && !strings.HasPrefix(strings.ToLower(at.Weekday().String()), name[:3]) {
		return time.Time{}, false // 18 April is no Thursday
	}
	return at, true
}
