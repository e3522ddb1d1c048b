package models

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/internal/wallclock"
)

// What an [Inferrer] says of an entry, besides the phrases of package commitment.
const (
	WhyRefusedByModel commitment.Why = "the model refused"
	WhyUnusable       commitment.Why = "the model's answer could not be used"
	WhyNoTime         commitment.Why = "the model saw an intention without a time"
	WhyImpossible     commitment.Why = "no such instant, interval or schedule"
)

// Inferrer is a [commitment.Inferrer] that asks the model, in a prompt for each entry. It finds instants,
// intervals and schedules. A schedule is the five fields of cron behind CRON_TZ= with the zone, for
// commitment.Config.Schedule: the reader of module bridges/dates takes it. Predicates are for
// commitment.Tagged, which reads them from tags, and for arming by hand. The context of a pass must carry a redactor, see [WithRedactor].
type Inferrer struct {
	m    *Models
	zone *time.Location
}

var _ commitment.Inferrer = Inferrer{}

// Inferrer returns the inferrer of the model. The times that entries speak of are those of the zone,
// an IANA name; empty is UTC. It fails with memory.ErrValidation for one that is not known.
func (m *Models) Inferrer(zone string) (Inferrer, error) {
	in, err := zoneOf(zone)
	return Inferrer{m, in}, err
}

func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > 64 {
		return nil, invalid("there is no such time zone")
	}
	return zone, nil
}

// localTime reads a date and a time of day: the first instant at which the clocks of the zone show them (K4).
func localTime(value string, zone *time.Location) (time.Time, bool) {
	const form = "2006-01-02T15:04"
	wall, err := time.Parse(form, value)
	return wallclock.First(wall, zone), err == nil && wall.Format(form) == value
}

// Version names the model, the prompt and the zone.
func (f Inferrer) Version() string {
	return version(f.m.cfg.Model, inferring.version) + " zone " + f.zone.String()
}

// Infer asks about each entry. It fails if the model cannot be reached.
func (f Inferrer) Infer(ctx context.Context, r commitment.Request) (commitment.Inference, error) {
	texts := make([]string, len(r.Entries))
	for i := range r.Entries {
		texts[i] = r.Entries[i].Content
	}
	texts, err := redacted(ctx, texts)
	if err != nil {
		return commitment.Inference{}, err
	}
	found := make([]commitment.Inference, len(texts))
	err = each(ctx, len(texts), func(ctx context.Context, i int) (err error) {
		found[i], err = f.one(ctx, r.Entries[i].ID, r.Entries[i].CreatedAt, texts[i])
		return err
	})
	if err != nil {
		return commitment.Inference{}, err
	}
	var all commitment.Inference
	for _, one := range found {
		all.Intents = append(all.Intents, one.Intents...)
		all.Unread = append(all.Unread, one.Unread...)
	}
	return all, nil
}

// one asks about an entry.
func (f Inferrer) one(ctx context.Context, id string, written time.Time, text string) (found commitment.Inference, err error) {
	head := fmt.Sprintf("Written on %s.\n", written.In(f.zone).Format("Monday, 2006-01-02 at 15:04"))
	var answer struct {
		Arms *[]struct {
			Kind, Value string
			Once        bool
		} `json:"arms"`
		Unclear *bool `json:"unclear"`
	}
	unread := func(why commitment.Why) {
		found.Unread = append(found.Unread, commitment.Unread{MemoryID: id, Why: why})
	}
	err = f.m.ask(ctx, inferring.prompt(head, []note{{text: text}}), &answer, func() bool {
		return answer.Arms != nil && answer.Unclear != nil && len(*answer.Arms) <= commitment.MaxArms
	})
	switch {
	case isRefusal(err):
		unread(WhyRefusedByModel)
		return found, nil
	case aboutTheText(err):
		unread(WhyUnusable)
		return found, nil
	case err != nil:
		return found, err
	}
	if *answer.Unclear {
		unread(WhyNoTime)
	}
	for _, a := range *answer.Arms {
		if arm, ok := f.arm(a.Kind, a.Value); ok {
			arm.Once = a.Once
			found.Intents = append(found.Intents, commitment.Intent{MemoryID: id, Arm: arm})
		} else {
			unread(WhyImpossible)
		}
	}
	return found, nil
}

// fiveFields has no room for a zone, an alias or a field of seconds.
var fiveFields = regexp.MustCompile(`^[0-9A-Za-z*/,-]{1,40}( [0-9A-Za-z*/,-]{1,40}){4}$`)

// arm reads what a model gave. The engine judges it.
func (f Inferrer) arm(kind, value string) (commitment.Arm, bool) {
	switch kind {
	case "at":
		t, ok := localTime(value, f.zone)
		return commitment.Arm{At: t}, ok
	case "every":
		d, err := time.ParseDuration(value)
		return commitment.Arm{Every: d}, err == nil && d > 0
	case "cron":
		return commitment.Arm{Spec: "CRON_TZ=" + f.zone.String() + " " + value}, fiveFields.MatchString(value)
	}
	return commitment.Arm{}, false
}
