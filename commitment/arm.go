package commitment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/events"
)

// Arm is what a commitment waits for: an instant, an interval, a schedule or a
// predicate. It is data, so that it outlives the process, and holds no text: Spec is
// one that the engine's reader of schedules understands, and Predicate a name that
// the host has registered (K8). Set exactly one of At, Every, Spec and Predicate; At
// may stand beside Every.
type Arm struct {
	// At is an instant, which is rounded up to a whole millisecond. It lies in the future
	// when it is armed. Beside Every it is an instant from which the intervals are counted, in
	// the past or in the future; without it that is the time of arming.
	At time.Time `json:"at,omitzero"`
	// Every is an interval of at least a second. It is elapsed time: across a
	// change of the clocks the time of day moves.
	Every time.Duration `json:"every,omitzero"`
	// Spec is a schedule in the notation that [Config.Schedule] reads, at most 256
	// bytes.
	Spec string `json:"spec,omitzero"`
	// Predicate is the name of a predicate whose state the host observes: 1 to 128
	// letters, digits and any of "._:/-".
	Predicate string `json:"predicate,omitzero"`
	// Once ends the commitment after its first firing. An arm with At alone always
	// ends there.
	Once bool `json:"once,omitzero"`
}

// Condition is the kind of arm, as commitment.fired reports it (RFC 0068 §C).
func (a Arm) Condition() events.Condition {
	if a.Predicate != "" {
		return events.ConditionPredicate
	}
	return events.ConditionTime
}

// once reports whether the first firing is the last.
func (a Arm) once() bool { return a.Once || a.single() }

// single reports whether the arm is one instant.
func (a Arm) single() bool { return a.Every == 0 && a.Spec == "" && a.Predicate == "" }

const (
	maxSpecBytes = 256
	maxNameBytes = 128
)

// check refuses an arm that is not well formed by itself. It does not check the
// clock.
func (a Arm) check() error {
	kinds := 0
	for _, set := range []bool{!a.At.IsZero() && a.Every == 0, a.Every != 0, a.Spec != "", a.Predicate != ""} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return invalid("Arm has none or several of At, Every, Spec and Predicate: set one, or At beside Every")
	case !a.At.IsZero() && !validInstant(a.At):
		return invalid("Arm.At is not in the years 1 to 9999")
	case a.Every != 0 && (a.Every < time.Second || a.Every%time.Millisecond != 0):
		return invalid("Arm.Every is below a second or not in whole milliseconds")
	case len(a.Spec) > maxSpecBytes || !utf8.ValidString(a.Spec):
		return invalid("Arm.Spec is longer than 256 bytes or not UTF-8")
	case a.Predicate != "" && !validName(a.Predicate):
		return invalid("Arm.Predicate has other characters than letters, digits and . _ : / -, or more than 128")
	}
	return nil
}

// normal is the one form of equal arms.
func (a Arm) normal() Arm {
	if !a.At.IsZero() {
		a.At = millisUp(a.At)
	}
	a.Once = a.once()
	return a
}

func validInstant(t time.Time) bool {
	y := millisUp(t).Year()
	return y >= 1 && y <= 9999
}

// millisUp rounds an instant up to a whole millisecond, so that nothing fires before it.
func millisUp(t time.Time) time.Time {
	return t.Add(time.Millisecond - time.Nanosecond).UTC().Truncate(time.Millisecond)
}

var names = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,128}$`)

func validName(s string) bool { return names.MatchString(s) }

// ID returns the id of the commitment that binds an entry to an arm (K1). It depends
// on nothing else, so that inferring the same thing twice arms it once.
// memoryID is empty for a commitment that no single entry is the source of.
func ID(tenant, ref, memoryID string, a Arm) string {
	a = a.normal()
	return "cmt_" + digestOf("%q %q %q %s %d %q %q %t", tenant, ref, memoryID, a.At.Format(time.RFC3339Nano), a.Every, a.Spec, a.Predicate, a.Once)
}

// digestOf is a digest of parts, which the format keeps apart.
func digestOf(format string, parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, parts...))
	return hex.EncodeToString(sum[:20])
}
