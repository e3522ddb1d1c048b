package redact

import (
	"bytes"
	"strings"
)

const (
	markerHead = "[REDACTED:"
	markerTail = "]"

	// shapePrefix is what the ids of shapes begin with, and no registered id.
	shapePrefix = "shape."

	// minCore is the length in bytes below which the rest of a value beside marker text is not
	// searched for, since it would be found everywhere.
	minCore = 6
)

func marker(id string) string { return markerHead + id + markerTail }

var idBytes = classOf(letters + digits + "._:/-")

func validID(id string) bool { return id != "" && len(id) <= MaxID && idBytes.hasAll([]byte(id)) }

// Why the output of a redaction holds no form of a value (R1, R3)
//
// What was a form in the text is covered. So an occurrence in the output touches a marker that the
// redaction wrote. No form contains the head of a marker (refused), so it contains no whole marker;
// none lies within a marker or within two adjacent ones (refused). What is left is
//
//	end of a marker + text + start of a marker
//
// where one of the markers may be missing. The middle part is the form's core, or contains it, and
// the core is itself a form: it would have been covered.

// core returns f without what the end of a marker before it and the start of a marker behind it
// could complete, f itself if there is nothing of that kind. It returns nil if the core is too
// short to be searched for. Then what stands before it is left only if no marker ends so: ends
// reports whether one does.
func core(f []byte, ends func([]byte) bool) []byte {
	for {
		if n := headOverlap(f); n > 0 {
			if f = f[:len(f)-n]; len(f) < minCore {
				return nil
			}
			continue
		}
		n := tailOverlap(f)
		switch {
		case n == 0:
			return f
		case len(f)-n >= minCore:
			f = f[n:]
		case n == len(markerTail) || ends(f[:n]):
			return nil
		default:
			return f
		}
	}
}

// headOverlap is the length of the longest suffix of f that is a start of the head of a marker.
func headOverlap(f []byte) int {
	for n := min(len(f), len(markerHead)-1); n > 0; n-- {
		if string(f[len(f)-n:]) == markerHead[:n] {
			return n
		}
	}
	return 0
}

// tailOverlap is the length of the prefix of f that has the shape of the end of a marker, "]" included.
func tailOverlap(f []byte) int {
	i := bytes.IndexByte(f[:min(len(f), len(markerHead)+MaxID)], markerTail[0])
	if i < 0 || !idBytes.hasAll(f[:i]) {
		return 0
	}
	return i + 1
}

// leadsWithMarker returns the length of the marker at the start of text, 0 if there is none.
func leadsWithMarker(text string) int {
	rest, found := strings.CutPrefix(text, markerHead)
	id, _, ended := strings.Cut(rest[:min(len(rest), MaxID+1)], markerTail)
	if found && ended && validID(id) {
		return len(marker(id))
	}
	return 0
}
