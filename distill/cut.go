package distill

import (
	"strings"
	"unicode/utf8"
)

const (
	markerHead = "[REDACTED:"
	maxMarker  = len(markerHead) + 64 + 1
)

// cut returns the longest start of text of at most limit bytes that ends neither in
// the middle of a rune nor in the middle of a marker.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	// A marker that the cut falls into begins at most its length before it.
	from := max(0, limit-maxMarker)
	if i := strings.LastIndexByte(text[from:limit], '['); i >= 0 {
		start := from + i
		rest := text[start:]
		if len(rest) >= len(markerHead) && rest[:len(markerHead)] == markerHead {
			if end := strings.IndexByte(rest[:min(len(rest), maxMarker)], ']'); end >= 0 && start+end >= limit {
				return text[:start]
			}
		}
	}
	return text[:limit]
}
