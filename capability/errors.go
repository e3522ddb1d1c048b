package capability

import (
	"errors"
	"strconv"
	"strings"
)

var (
	// ErrDocument matches an error about a document that cannot be read.
	ErrDocument = errors.New("capability: invalid discovery document")
	// ErrClaim matches an error about a claim that nothing bears.
	ErrClaim = errors.New("capability: the host would claim more than it has")
	// ErrDimension is returned for a name that is none of the eight.
	ErrDimension = errors.New("capability: no such dimension: Dimensions has the names of all eight")
)

// DocumentError says what is wrong with a discovery document. It holds field names
// of the protocol and fixed phrases, no part of the document.
type DocumentError struct {
	// Problem is set if the document could not be read at all.
	Problem string
	// Violations are the rules that it breaks otherwise, sorted by path. There may
	// be many; the text shows the first eight.
	Violations []Violation
}

// Violation is one rule that a document breaks.
type Violation struct {
	// Path is a JSON pointer to the field, or to where it should be.
	Path string
	// Rule is the keyword of JSON Schema, such as "enum" or "required".
	Rule string
	// Kind is the JSON type of what is there, or "absent".
	Kind string
}

const shownViolations = 8

// Error names the paths, the rules and the kinds.
func (e *DocumentError) Error() string {
	if e.Problem != "" {
		return ErrDocument.Error() + ": it " + e.Problem
	}
	var shown []string
	for _, v := range e.Violations[:min(len(e.Violations), shownViolations)] {
		shown = append(shown, v.Path+" breaks "+v.Rule+" ("+v.Kind+")")
	}
	if more := len(e.Violations) - len(shown); more > 0 {
		shown = append(shown, "and "+strconv.Itoa(more)+" more")
	}
	return ErrDocument.Error() + ": " + strings.Join(shown, "; ")
}

// Is reports whether target is [ErrDocument].
func (e *DocumentError) Is(target error) bool { return target == ErrDocument }

// ClaimError names something that a host asks to advertise and what it lacks for
// it. It holds no value of the document.
type ClaimError struct {
	// Path is a JSON pointer to the field that would claim it.
	Path string
	// Missing is the piece that is missing, in a few words.
	Missing string
}

// Error names the field and the missing piece.
func (e *ClaimError) Error() string { return ErrClaim.Error() + ": " + e.Path + ": " + e.Missing }

// Is reports whether target is [ErrClaim].
func (e *ClaimError) Is(target error) bool { return target == ErrClaim }
