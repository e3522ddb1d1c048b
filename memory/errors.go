package memory

import (
	"context"
	"errors"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

type (
	// Code is an error code of the protocol, as an error envelope carries it.
	Code = driver.Code
)

// The codes that this package's errors carry.
const (
	CodeValidation          = driver.CodeValidation
	CodeForbidden           = driver.CodeForbidden
	CodeNotFound            = driver.CodeNotFound
	CodeSecretLeakage       = driver.CodeSecretLeakage
	CodeSnapshotUnavailable = driver.CodeSnapshotUnavailable
	CodeNotProvided         = driver.CodeNotProvided
	CodeStorageLimit        = driver.CodeStorageLimit
	CodeInternal            = driver.CodeInternal

	// CodeConflict and CodeCanceled are for the host; on the wire both are
	// [CodeInternal], see Code.OnWire.
	CodeConflict = driver.CodeConflict
	CodeCanceled = driver.CodeCanceled
)

// The classes of errors.
var (
	// ErrNotFound: there is no such entry, or the caller may not know of it.
	ErrNotFound = driver.ErrNotFound
	// ErrValidation: the input breaks a rule; nothing was written.
	ErrValidation = driver.ErrValidation
	// ErrForbidden: the ref is not the tenant's; nothing was written.
	ErrForbidden = driver.ErrForbidden
	// ErrSecretLeakage: an identifier holds a secret, the redactor refuses, or
	// its registry is closed; nothing was written.
	ErrSecretLeakage = driver.ErrSecretLeakage
	// ErrConflict: a condition did not hold any more; nothing was written.
	ErrConflict = driver.ErrConflict
	// ErrDeleted: the entry that was put under the key has been deleted since.
	ErrDeleted = driver.ErrDeleted
	// ErrSnapshotUnavailable: memory can no longer be read as it was then. Live
	// memory is never given instead.
	ErrSnapshotUnavailable = driver.ErrSnapshotUnavailable
	// ErrNotProvided: the store or the bank's Config lacks what the call needs.
	ErrNotProvided = driver.ErrNotProvided
	// ErrBacklog: too many events wait for the sink; nothing was written.
	ErrBacklog = driver.ErrBacklog
	// ErrStorageLimit: the tenant would have more than its limits allow; nothing was
	// written.
	ErrStorageLimit = driver.ErrStorageLimit
	// ErrEnded: the run or job has ended.
	ErrEnded = driver.ErrEnded
	// ErrDiverged: a replay did something that its recording does not have.
	ErrDiverged = driver.ErrDiverged
	// ErrOutcomeUnknown: it cannot be told whether the change was made.
	ErrOutcomeUnknown = driver.ErrOutcomeUnknown
	// ErrInternal: the store or a part of the host failed; the text names it.
	ErrInternal = driver.ErrInternal
)

// CodeOf returns the code of an error of this module: [CodeCanceled] for an error of a
// context, [CodeInternal] for one that carries none, and "" for nil. An error carries its
// code by a method Code() Code or, in a package that does not import this one, by
// Code() string, which counts if the protocol knows it.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var coded interface{ Code() Code }
	if errors.As(err, &coded) {
		return coded.Code()
	}
	var wire interface{ Code() string }
	if errors.As(err, &wire) {
		switch c := Code(wire.Code()); c {
		case CodeValidation, CodeForbidden, CodeNotFound, CodeSecretLeakage, CodeSnapshotUnavailable,
			CodeNotProvided, CodeStorageLimit:
			return c
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return CodeCanceled
	}
	return CodeInternal
}

func fail(kind *driver.Kind, detail string) error { return kind.With(detail, nil) }

func failWith(kind *driver.Kind, detail string, cause error) error {
	return kind.With(detail, cause)
}

// invalidEvent refuses an event and names the rule that it breaks, which holds no value of it.
func invalidEvent(cause error) error {
	detail := "an event breaks its schema"
	if broken := (*events.InvalidError)(nil); errors.As(cause, &broken) {
		detail += strings.TrimPrefix(broken.Error(), events.ErrInvalid.Error())
	}
	return failWith(ErrValidation, detail, cause)
}

// joinErrors returns two errors as one. One alone it returns as it is, so that errors.Unwrap reaches
// its cause.
func joinErrors(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// shape turns what a store said into what this package returns: an *driver.Error of this
// package, or the error of a context as it is.
func shape(err error) error { return shapeOf("the store", err) }

// shapeOf is shape for what a part of the host said.
func shapeOf(part string, err error) error {
	if err == nil {
		return nil
	}
	for e, in := (*driver.Error)(nil), err; errors.As(in, &e); in = e.Unwrap() {
		if e.Package() == "" {
			return e
		}
	}
	kinds := []*driver.Kind{ErrNotFound, ErrValidation, ErrSecretLeakage, ErrConflict, ErrSnapshotUnavailable, ErrNotProvided, ErrOutcomeUnknown, ErrStorageLimit, ErrBacklog, ErrInternal}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			detail := contentFree(err)
			switch {
			case detail != "":
			case kind == ErrInternal:
				detail = part + " failed"
			case kind == ErrSnapshotUnavailable:
				detail = "it is older than a purge, or of another database or one that a backup has replaced: start a new run"
			}
			return failWith(kind, detail, err)
		}
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return ended
		}
	}
	return failWith(ErrInternal, part+" failed", err)
}

// contentFree is what an error says of itself by a method of that name, as those of packages
// redact and recall do: a text that holds nothing of content, or nothing.
func contentFree(err error) string {
	if known := interface{ ContentFree() string }(nil); errors.As(err, &known) {
		return known.ContentFree()
	}
	return ""
}
