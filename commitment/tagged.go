package commitment

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Tagged is an [Inferrer] that reads the tags of an entry, and never its text. A host, a model or a
// person writes them:
//
//   - due:2026-06-30T09:00Z is an instant, in RFC 3339 with or without seconds
//   - every:24h is an interval in the notation of [time.ParseDuration], counted from the time of arming;
//     every: with any other text is a schedule for [Config.Schedule]
//   - when:invoice-4471-paid is a predicate. It fires once, unless the entry is tagged "recurring" too.
//
// Each tag is an arm of its own.
type Tagged struct{}

// Version names the rules.
func (Tagged) Version() string { return "tagged/1" }

// Infer implements [Inferrer].
func (Tagged) Infer(_ context.Context, r Request) (found Inference, err error) {
	for _, e := range r.Entries {
		for _, tag := range e.Tags {
			kind, value, ok := strings.Cut(tag, ":")
			if !ok {
				continue
			}
			a := Arm{}
			switch kind {
			case "due":
				a.At = parseInstant(value)
			case "every":
				if a.Every, err = time.ParseDuration(value); err != nil {
					a.Spec = value
				}
			case "when":
				a.Predicate, a.Once = value, !slices.Contains(e.Tags, "recurring")
			default:
				continue
			}
			if a.check() != nil {
				found.Unread = append(found.Unread, Unread{e.ID, WhyBadTag})
			} else {
				found.Intents = append(found.Intents, Intent{e.ID, a})
			}
		}
	}
	return found, nil
}

// parseInstant reads an instant in RFC 3339 with or without seconds; zero if it is none.
func parseInstant(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, _ = time.Parse("2006-01-02T15:04Z07:00", text)
	}
	return at
}
