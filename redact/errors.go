package redact

// Error is an error of this package. Its text is fixed: it never holds a value, an id or a part of
// the text.
type Error struct{ code, text string }

// Error returns the fixed text.
func (e *Error) Error() string { return "redact: " + e.text }

// ErrorCode is the protocol's code for the error: "secret_leakage" for a text that may not be
// written, "validation_error" for a bad call of Register. Who answers for several packages finds it
// by errors.As and interface{ ErrorCode() string }, without an import of this one.
func (e *Error) ErrorCode() string { return e.code }

// SecretFound reports whether the error tells that a text holds a secret, rather than that the
// registry could not look.
func (e *Error) SecretFound() bool { return e == ErrSecretFound }

// Errors about text. Nothing of the text was returned or written.
var (
	// ErrClosed: the registry is closed, or was never made by [New] (R6).
	ErrClosed = &Error{"secret_leakage", "the secret registry is closed"}
	// ErrMarkerText: a value occurs in marker text, so R1 cannot be kept. [SecretRegistry.Register]
	// returns it for the call that brought the conflict about; from then on the registry returns it
	// for every text. [SecretRegistry.RegisterOptional] returns it for a value that it refused.
	ErrMarkerText = &Error{"secret_leakage", "a secret occurs in marker text"}
	// ErrSecretFound: the text holds a secret and the policy is [Reject].
	ErrSecretFound = &Error{"secret_leakage", "the text holds a secret"}
)

// Errors about calls of Register. The value is not covered.
var (
	// ErrTooShort: the value has fewer than [MinValue] code points.
	ErrTooShort = &Error{"validation_error", "the value is too short to be redacted"}
	// ErrTooLong: the value has more than [MaxValue] bytes.
	ErrTooLong = &Error{"validation_error", "the value is too long to be redacted"}
	// ErrID: the id is empty, longer than [MaxID], or has an unsafe byte.
	ErrID = &Error{"validation_error", "malformed secret id"}
)
