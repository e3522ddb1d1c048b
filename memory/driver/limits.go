package driver

import "time"

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

// validInstant accepts whole milliseconds of the years 1 to 9999, of which the zero time
// is the first.
func validInstant(t time.Time) bool {
	y := t.UTC().Year()
	return t.Nanosecond()%int(time.Millisecond) == 0 && y >= 1 && y <= 9999
}
