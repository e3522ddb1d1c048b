package redact

// Error is an error of this package. Its text is fixed: it never holds a value, an id or a part of
// the text.
type Error struct{ code, text string }

// Error returns the fixed text.
func (e *Error) Error() string { return "redact: " + e.text }

// ContentFree returns the fixed text without the name of this package. By it the error of
// another package says why a text was refused.
func (e *Error) ContentFree() string { return e.text }

// Is reports whether target is e, or [ErrClosed] for a registry that was never made.
func (e *Error) Is(target error) bool { return target == e || e == errZero && target == ErrClosed }

// Code is the protocol's code for the error: "secret_leakage" for a text that may not be
// written, "validation_error" for a bad call of Register. Who answers for several packages finds it
// by errors.As and interface{ Code() string }, without an import of this one.
func (e *Error) Code() string { return e.code }

// SecretFound reports whether the error tells that a text holds a secret, rather than that the
// registry could not search it.
func (e *Error) SecretFound() bool { return e == ErrSecretFound }

// Errors about text. Nothing of the text was returned or written.
var (
	// ErrClosed: the registry is closed, or was never made by [New] (R6).
	ErrClosed = &Error{"secret_leakage", "the secret registry is closed: give each run a registry of its own, and write before the run ends"}
	// errZero matches ErrClosed.
	errZero = &Error{"secret_leakage", "the secret registry is nil or a zero value: make it by redact.New"}
	// ErrMarkerText: a value occurs in marker text, so R1 cannot be kept. [SecretRegistry.Register]
	// returns it for the call that brought the conflict about; from then on the registry returns it
	// for every text. [SecretRegistry.RegisterOptional] returns it for a value that it refused.
	ErrMarkerText = &Error{"secret_leakage", "a secret occurs in marker text, so that no text is free of it: choose another id, or use RegisterOptional"}
	// ErrSecretFound: the text holds a secret and the policy is [Reject].
	ErrSecretFound = &Error{"secret_leakage", "the text holds a secret, and the registry's policy is Reject"}
)

// Errors about calls of Register. The value is not covered.
var (
	// ErrTooShort: the value has fewer than [MinValue] code points.
	ErrTooShort = &Error{"validation_error", "the value has fewer than 8 characters, and cannot be redacted: use a longer secret"}
	// ErrTooLong: the value has more than [MaxValue] bytes.
	ErrTooLong = &Error{"validation_error", "the value has more than 65,536 bytes, and cannot be redacted"}
	// ErrID: the id is empty, longer than [MaxID], has an unsafe byte, or begins as those of shapes do.
	ErrID = &Error{"validation_error", "the secret id is empty, longer than 64 bytes, begins with shape. or has a character other than A-Z a-z 0-9 . _ : / -"}
)
