package events

import "errors"

var (
	// ErrInvalid matches every error about a payload, an envelope or a document
	// that breaks a rule. Each is an [InvalidError].
	ErrInvalid = errors.New("events: invalid event")

	// ErrTaken is returned by a log for an event whose id names another payload in its run's
	// log already. Nothing of the call is in the log then.
	ErrTaken = errors.New("events: an id of the run names another payload already")

	// ErrUnknownType is returned by package eventschema for an event type that has no
	// schema of its own. Its text does not say the name.
	ErrUnknownType = errors.New("events: unknown event type")

	errNoSink = errors.New("events: no sink")
)

// InvalidError says which rule an event breaks. It holds names and fixed phrases,
// never a value of the event, nor a field name that the protocol does not know.
//
// An invalid event is a fault of the host that made it, not of a client's request.
// So the error has no protocol code of its own and goes out as internal_error.
type InvalidError struct {
	// Type is the event's type, empty where it is not one of this package's.
	Type Type
	// Path is a JSON pointer to the field, in the payload or the envelope. It is
	// empty for the document itself.
	Path string
	// Rule says what the field is or lacks, or names a JSON Schema keyword.
	Rule string
}

// Error names the type, the path and the rule.
func (e *InvalidError) Error() string {
	text := ErrInvalid.Error() + ":"
	if e.Type != "" {
		text += " " + string(e.Type)
	}
	if e.Path != "" {
		text += " " + e.Path
	}
	return text + " " + e.Rule
}

// Is reports whether target is [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }
