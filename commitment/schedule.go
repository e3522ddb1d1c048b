package commitment

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Schedule gives the instants at which something recurs. Next returns the first one
// after t, or the zero time if there is none. It is a pure function, and t is in UTC.
// The Schedule of robfig/cron is one.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Missed says what becomes of instants that passed while nobody looked (RFC 0052
// §B.4). Whatever the policy, there is never a backlog.
type Missed string

// The policies.
const (
	// FireOnce fires for the earliest missed instant and passes the others over.
	FireOnce Missed = "fire-once"
	// Skip passes all of them over. An instant counts as missed when a tick sees it
	// later than [Config.Grace].
	Skip Missed = "skip"
)

// next returns the first instant of the arm after t, which lies after t and within
// the horizon from now, or why there is none. An error says that the schedule panicked or
// hung, or that the context ended, which says nothing about its instants.
func (e *Engine) next(ctx context.Context, a Arm, armedAt, t, now time.Time) (time.Time, Reason, error) {
	at, err := e.nextOf(ctx, a, armedAt, t)
	switch {
	case errors.Is(err, memory.ErrValidation):
		return time.Time{}, ReasonSchedule, nil
	case err != nil:
		return time.Time{}, ReasonNone, err
	case at.Sub(now) > e.cfg.Horizon:
		return time.Time{}, ReasonHorizon, nil
	}
	return at, ReasonNone, nil
}

func (e *Engine) nextOf(ctx context.Context, a Arm, armedAt, t time.Time) (time.Time, error) {
	switch {
	case a.single():
		if a.At.After(t) {
			return a.At, nil
		}
		return time.Time{}, errPast
	case a.Every > 0:
		anchor := a.At
		if anchor.IsZero() {
			anchor = armedAt
		}
		return nextInterval(anchor, a.Every, t)
	}
	if e.cfg.Schedule == nil {
		return time.Time{}, invalid("Config.Schedule is nil: it reads Arm.Spec")
	}
	const part = "the schedule"
	at, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(context.Context) (time.Time, error) {
		s, err := e.cfg.Schedule(a.Spec)
		if s == nil || err != nil {
			return time.Time{}, memory.ErrValidation.In(pkg, "Config.Schedule cannot read Arm.Spec", err)
		}
		return s.Next(t.UTC()), nil
	})
	if hostcall.Misbehaved(err) {
		err = hostFailed(ctx, part, err)
	}
	if err != nil {
		return time.Time{}, err
	}
	if at.IsZero() {
		return time.Time{}, invalid("Arm.Spec has no instant to come")
	}
	at = millisUp(at)
	if !at.After(t) || !validInstant(at) {
		return time.Time{}, invalid("the schedule of Arm.Spec does not move on, or leaves the years 1 to 9999")
	}
	return at, nil
}

// nextInterval returns the first anchor + k × every after t. It counts in
// milliseconds, which reach further than a Duration.
func nextInterval(anchor time.Time, every time.Duration, t time.Time) (time.Time, error) {
	a, d, from := anchor.UnixMilli(), every.Milliseconds(), t.UnixMilli()
	next := a
	if from >= a {
		next = a + ((from-a)/d+1)*d
	}
	at := time.UnixMilli(next).UTC()
	if !validInstant(at) {
		return time.Time{}, invalid("Arm.Every leads beyond the year 9999")
	}
	return at, nil
}
