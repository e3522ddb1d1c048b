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
// A time of day is once for each date that it names, also if the clocks show it twice, and if they
// skip it, at the first instant behind the gap (K4): dates.Cron of module bridges/dates does so. The
// Schedule of robfig/cron is one, too, but fires twice or not at all where the clocks change.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Missed says what becomes of instants that passed between two ticks (RFC 0052
// §B.4). No policy makes a backlog.
type Missed string

// The policies.
const (
	// FireOnce fires for the earliest missed instant and passes the others over.
	FireOnce Missed = "fire-once"
	// Skip passes all of them over. An instant counts as missed when a tick sees it
	// later than [Config.Grace].
	Skip Missed = "skip"
)

// next is nextOf that says why there is no next instant. An error says that the schedule panicked or
// hung, that there is nothing to read it, or that the context ended, none of which says anything about
// its instants.
func (e *Engine) next(ctx context.Context, a Arm, armedAt, t, now time.Time) (time.Time, Reason, error) {
	if a.Spec != "" && e.cfg.Schedule == nil {
		return time.Time{}, ReasonNone, memory.ErrNotProvided.In(pkg, "Config.Schedule is nil: set the one that read the Arm.Spec of a commitment when it was armed", nil)
	}
	at, err := e.nextOf(ctx, a, armedAt, t, now)
	horizon := (*HorizonError)(nil)
	switch {
	case errors.As(err, &horizon):
		return time.Time{}, ReasonHorizon, nil
	case errors.Is(err, memory.ErrValidation):
		return time.Time{}, ReasonSchedule, nil
	}
	return at, ReasonNone, err
}

// nextOf returns the first instant of the arm after t, which lies after t and within the horizon
// from now; zero for a predicate.
func (e *Engine) nextOf(ctx context.Context, a Arm, armedAt, t, now time.Time) (at time.Time, err error) {
	switch {
	case a.Predicate != "":
		return time.Time{}, nil
	case a.single() && !a.At.After(t):
		return time.Time{}, errPast
	case a.single():
		at = a.At
	case a.Every > 0 && a.At.IsZero():
		at = nextInterval(armedAt, a.Every, t)
	case a.Every > 0:
		at = nextInterval(a.At, a.Every, t)
	default:
		at, err = e.nextOfSpec(ctx, a.Spec, t)
	}
	at = millisUp(at)
	switch {
	case err != nil:
		return time.Time{}, err
	case !at.After(t) || !validInstant(at):
		return time.Time{}, invalid("the schedule of the Arm does not move on, or leaves the years 1 to 9999")
	case at.Sub(now) > e.cfg.Horizon:
		return time.Time{}, &HorizonError{e.cfg.Horizon}
	}
	return at, nil
}

// nextOfSpec asks the host's schedule.
func (e *Engine) nextOfSpec(ctx context.Context, spec string, t time.Time) (time.Time, error) {
	if e.cfg.Schedule == nil {
		return time.Time{}, invalid("Config.Schedule is nil: it reads Arm.Spec, such as dates.Cron of bridges/dates")
	}
	const part = "the schedule"
	at, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(context.Context) (time.Time, error) {
		s, err := e.cfg.Schedule(spec)
		if s == nil || err != nil {
			return time.Time{}, memory.ErrValidation.In(pkg, "Config.Schedule cannot read Arm.Spec", err)
		}
		return s.Next(t.UTC()), nil
	})
	if hostcall.Misbehaved(err) {
		err = hostcall.Failed(ctx, part, err, internal)
	}
	return at, err
}

// nextInterval returns the first anchor + k × every after t. It counts in
// milliseconds, which reach further than a Duration.
func nextInterval(anchor time.Time, every time.Duration, t time.Time) time.Time {
	a, d, from := anchor.UnixMilli(), every.Milliseconds(), t.UnixMilli()
	if from >= a {
		a += ((from-a)/d + 1) * d
	}
	return time.UnixMilli(a).UTC()
}
