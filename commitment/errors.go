package commitment

import (
	"strconv"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// CodeHorizonExceeded is the protocol's code of a [*HorizonError].
const CodeHorizonExceeded memory.Code = "schedule_horizon_exceeded"

// HorizonError refuses an arm whose next instant lies further ahead than the engine
// looks (RFC 0052 §B.3). It is also a [memory.ErrValidation].
type HorizonError struct {
	// Max is how far ahead an instant may lie.
	Max time.Duration
}

// Error names the rule.
func (e *HorizonError) Error() string {
	return "commitment: the instant lies beyond the horizon of " + e.MaxFutureHorizon()
}

// Code returns [CodeHorizonExceeded].
func (e *HorizonError) Code() memory.Code { return CodeHorizonExceeded }

// Is reports whether target is [memory.ErrValidation].
func (e *HorizonError) Is(target error) bool { return target == error(memory.ErrValidation) }

// Details is what the error envelope carries.
func (e *HorizonError) Details() map[string]any {
	return map[string]any{"maxFutureHorizon": e.MaxFutureHorizon()}
}

// MaxFutureHorizon is the horizon as an ISO 8601 duration, as the capability
// document and the error's details carry it, for example P90D.
func (e *HorizonError) MaxFutureHorizon() string {
	if day := 24 * time.Hour; e.Max%day == 0 {
		return "P" + strconv.FormatInt(int64(e.Max/day), 10) + "D"
	}
	return "PT" + strconv.FormatInt(int64(e.Max/time.Second), 10) + "S"
}

// pkg begins the texts of this package's errors.
const pkg = "commitment"

func invalid(detail string) error { return memory.ErrValidation.In(pkg, detail, nil) }

func internal(detail string, cause error) error { return memory.ErrInternal.In(pkg, detail, cause) }

// ErrNewerFormat: a commitment was written by a newer version of this package, and is left
// as it is. The processes of that version take care of it.
var ErrNewerFormat = internal("the commitment was written by a newer version of this package", nil)

var errUnknown = memory.ErrNotFound.In(pkg, "the tenant has no such commitment", nil)

// Refusals of Retry.
var (
	errUnderWay = memory.ErrConflict.In(pkg,
		"a firing of the commitment is under way: retry what was given up if this one fails too", nil)
	errNotGivenUp = memory.ErrConflict.In(pkg,
		"no firing of the commitment is given up: none was, a later one succeeded, or it was taken up again", nil)
)

var errJob = invalid("the job is nil: open one by Bank.Background or Bank.Pass")

// Refusals that Infer tells apart.
var (
	errPast      = invalid("Arm.At is not in the future of the bank's clock")
	errPredicate = invalid("the host has not registered the predicate: Config.Predicate is nil or says no")
)
