package driver

import (
	"time"
	"unicode/utf8"
)

// What a store can be asked to hold. [Mutation.Validate] refuses more; a bank asks for
// less.
const (
	MaxTenantBytes   = 256
	MaxRefBytes      = 1024
	MaxIDBytes       = 512  // of an entry
	MaxRunBytes      = 128  // of a run's id, and of an event's and a node's
	MaxLabelBytes    = 1024 // of a subject
	MaxKindBytes     = 64
	MaxKeyBytes      = 512 // of a document's key or group
	MaxDocumentBytes = 64 << 20
)

// Plain reports whether s is not empty, valid UTF-8, free of control bytes and at most
// limit bytes long: what an identifier looks like.
func Plain(s string, limit int) bool {
	if s == "" || len(s) > limit || !utf8.ValidString(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// validInstant accepts whole milliseconds of the years 1 to 9999, but not the zero
// time.
func validInstant(t time.Time) bool {
	if t.IsZero() || t.Nanosecond()%int(time.Millisecond) != 0 {
		return false
	}
	y := t.UTC().Year()
	return y >= 1 && y <= 9999
}
