package driver

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The tags by which the outputs of compaction and distillation are known (RFC 0012 §C) begin
// with these.
const (
	CompactedPrefix = "compacted-from:"
	ArchivePrefix   = "archive:"
)

// Scope names one agent's memory: a tenant and an opaque ref within it. Two
// scopes are the same only if both strings are equal byte for byte (CTI-1).
type Scope struct {
	Tenant string
	Ref    string
}

// Entry is one thing remembered. An entry never changes once it is written, and
// its ID is never used for another.
//
// The JSON form is the protocol's MemoryEntry; what the protocol does not show
// stays out of it: a store does not keep an entry in that form.
type Entry struct {
	// ID is issued by the bank above the store, and unique within the scope.
	ID string `json:"id"`
	// Content is UTF-8 and already redacted.
	Content string `json:"content"`
	// Tags are redacted too, in the order given, without empty ones.
	Tags []string `json:"tags"`
	// CreatedAt is in whole milliseconds, UTC.
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt ends the entry's life: it is live iff now < ExpiresAt. Zero
	// means that it does not expire.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`

	// RunID is the run or the background pass that wrote the entry.
	RunID string `json:"-"`
	// Subjects are the labels under which memory.Bank.Forget finds the entry.
	Subjects []string `json:"-"`
	// Sources are the entries of the same scope that this one was derived from.
	Sources []string `json:"-"`
}

// LiveAt reports whether the entry has not expired at the instant now.
func (e *Entry) LiveAt(now time.Time) bool {
	return e.ExpiresAt.IsZero() || now.Before(e.ExpiresAt)
}

// Equal reports whether two entries are the same in every field. No tags and an empty list of
// tags are the same.
func (e *Entry) Equal(other *Entry) bool {
	return e.ID == other.ID && e.Content == other.Content && e.RunID == other.RunID &&
		e.CreatedAt.Equal(other.CreatedAt) && e.ExpiresAt.Equal(other.ExpiresAt) &&
		slices.Equal(e.Tags, other.Tags) && slices.Equal(e.Subjects, other.Subjects) && slices.Equal(e.Sources, other.Sources)
}

// Cursor is the position of the entry in a list, from which the next page continues.
func (e *Entry) Cursor() Cursor { return Cursor{CreatedAt: e.CreatedAt, ID: e.ID} }

// Compacted reports whether the entry is the output of a compaction or a distillation: one
// of its tags begins with [CompactedPrefix].
func (e *Entry) Compacted() bool {
	return slices.ContainsFunc(e.Tags, func(t string) bool { return strings.HasPrefix(t, CompactedPrefix) })
}

// Compare orders entries as a list does: newest first by CreatedAt, ties by the bytes of the
// ID, descending (M5). It is negative if e stands before o.
func (e *Entry) Compare(o *Entry) int {
	return cmp.Or(o.CreatedAt.Compare(e.CreatedAt), strings.Compare(o.ID, e.ID))
}

// MarshalJSON writes the protocol's MemoryEntry, whose tags are never null.
func (e Entry) MarshalJSON() ([]byte, error) {
	type wire Entry
	if e.Tags == nil {
		e.Tags = []string{}
	}
	return json.Marshal(wire(e))
}
