package driver

// Code is an error code of the protocol, as an error envelope carries it.
type Code string

// The codes that this package's errors carry.
const (
	CodeValidation          Code = "validation_error"
	CodeForbidden           Code = "forbidden"
	CodeNotFound            Code = "not_found"
	CodeSecretLeakage       Code = "secret_leakage"
	CodeSnapshotUnavailable Code = "replay_memory_snapshot_unavailable"
	CodeNotProvided         Code = "capability_not_provided"
	CodeStorageLimit        Code = "storage_limit_exceeded"
	CodeInternal            Code = "internal_error"

	// CodeConflict and CodeCanceled are for the host. The protocol has no such codes:
	// [Code.OnWire] is what an error envelope carries.
	CodeConflict Code = "conflict"
	CodeCanceled Code = "canceled"
)

// OnWire returns the code that the protocol has for c.
func (c Code) OnWire() Code {
	if c == CodeConflict || c == CodeCanceled {
		return CodeInternal
	}
	return c
}

// Kind is a class of errors. Match it with [errors.Is]:
//
//	if errors.Is(err, driver.ErrNotFound) { … }
type Kind struct {
	code Code
	text string
}

// Error returns a fixed text.
func (k *Kind) Error() string { return "memory: " + k.text }

// Code is the protocol's code for the class.
func (k *Kind) Code() Code { return k.code }

// With returns an error of the class. The detail is a fixed phrase, which may be empty, and
// never holds anything of an entry or an identifier (M2); the cause may be nil.
func (k *Kind) With(detail string, cause error) error { return k.In("", detail, cause) }

// In is [Kind.With] for another package of this module: the text of the error is the name of
// the package and the detail.
func (k *Kind) In(pkg, detail string, cause error) error {
	return &Error{kind: k, pkg: pkg, detail: detail, cause: cause}
}

// The classes of errors.
var (
	// ErrNotFound: there is no such entry, or the caller may not know of it.
	ErrNotFound = &Kind{CodeNotFound, "no such entry"}
	// ErrValidation: the input breaks a rule; nothing was written.
	ErrValidation = &Kind{CodeValidation, "invalid input"}
	// ErrForbidden: the ref belongs to another tenant; nothing was written.
	ErrForbidden = &Kind{CodeForbidden, "not allowed"}
	// ErrSecretLeakage: an identifier holds a secret, the redactor refuses, or
	// its registry is closed; nothing was written.
	ErrSecretLeakage = &Kind{CodeSecretLeakage, "refused to protect secrets"}
	// ErrConflict: a condition did not hold any more; nothing was written.
	ErrConflict = &Kind{CodeConflict, "conflict with another change"}
	// ErrDeleted: the entry that was put under the key has been deleted since.
	ErrDeleted = &Kind{CodeNotFound, "the entry was deleted"}
	// ErrSnapshotUnavailable: memory can no longer be read as it was then. Live
	// memory is never given instead.
	ErrSnapshotUnavailable = &Kind{CodeSnapshotUnavailable, "that state of memory is no longer available"}
	// ErrNotProvided: the store or the bank's Config lacks what the call needs.
	ErrNotProvided = &Kind{CodeNotProvided, "not provided"}
	// ErrBacklog: too many events wait for the sink; nothing was written.
	ErrBacklog = &Kind{CodeStorageLimit, "too many undelivered events"}
	// ErrStorageLimit: the tenant would have more than its limits allow; nothing was
	// written.
	ErrStorageLimit = &Kind{CodeStorageLimit, "the tenant's storage limit is reached"}
	// ErrEnded: the run or job has ended.
	ErrEnded = &Kind{CodeInternal, "the run or job has ended"}
	// ErrDiverged: a replay did something that its recording does not have.
	ErrDiverged = &Kind{CodeInternal, "the replay left its recording"}
	// ErrOutcomeUnknown: it cannot be told whether the change was made.
	ErrOutcomeUnknown = &Kind{CodeInternal, "it is not known whether the change was made"}
	// ErrInternal: the store or a part of the host failed; the text names it.
	ErrInternal = &Kind{CodeInternal, "internal failure"}
)

// Error is what every method of package memory returns when it fails, but for the error
// of a context, which is returned as it is. Those of the engines that have a class are such
// errors too. Its text consists of fixed phrases and never holds content, tags, ids or secrets (M2);
// what the store said is reachable by [errors.Is], [errors.As] and [errors.Unwrap] only.
type Error struct {
	kind   *Kind
	pkg    string // the package that made it; empty: memory
	detail string
	cause  error
	limit  int64
}

// Error returns the class, or the package that [Kind.In] was told, and the rule that was broken.
func (e *Error) Error() string {
	if e.pkg != "" {
		return e.pkg + ": " + e.detail
	}
	if e.detail == "" {
		return e.kind.Error()
	}
	return e.kind.Error() + ": " + e.detail
}

// Code is the protocol's code for the error.
func (e *Error) Code() Code { return e.kind.code }

// Package is the package that [Kind.In] was told, and empty for an error of package memory.
func (e *Error) Package() string { return e.pkg }

// ContentFree returns the rule that was broken alone. By it the error of another package says
// what is wrong.
func (e *Error) ContentFree() string { return e.detail }

// Is reports whether target is the class of the error.
func (e *Error) Is(target error) bool { return target == error(e.kind) }

// Unwrap returns what the store, the redactor or the sink said, for a host's own
// diagnosis. It may hold anything: never put its text on the wire.
func (e *Error) Unwrap() error { return e.cause }

// Details is what an error envelope carries beside the code: the limit that was reached, for
// [ErrStorageLimit] and [ErrBacklog].
func (e *Error) Details() map[string]any {
	if e.limit == 0 {
		return nil
	}
	return map[string]any{"limit": e.limit}
}
