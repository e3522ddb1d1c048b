package driver

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/identifier"
)

// Adapter is the least that a store offers: four operations on the entries of a
// scope. It is the protocol's MemoryAdapter as a store implements it (RFC 0004
// §A). Hosts use it through a memory.Bank only, which validates, redacts, stamps and
// shapes errors; an adapter may rely on that.
//
// Every implementation keeps these rules, and adaptertest proves them:
//
//   - A scope is compared byte for byte. An id that another scope holds is an
//     absent id.
//   - A store has no clock. Liveness is judged at the instant that the call
//     carries: an entry is live iff at < ExpiresAt, to the millisecond.
//   - Lists are ordered newest first by CreatedAt, ties by the bytes of the ID,
//     descending.
//   - A call sees every write that was acknowledged before it began.
//   - Instants are whole milliseconds of the years 1 to 9999 and come back equal
//     and in UTC, from any zone. At the zero instant, which a query may
//     carry, nothing has expired.
//   - A nil list of an entry and an empty one are the same.
//   - All strings are valid UTF-8, and hold no U+0000; names, ids and labels hold no
//     control byte at all. A bank sees to it.
//   - Errors hold nothing of an entry: no content, no tag, no id.
//
// Entries share slices with the store, those that are given to it and those that it
// returns. Neither the caller of an adapter nor the store modifies them. All methods are safe for
// concurrent use. If the context was done before anything happened they return an
// error that is ctx.Err(), by [errors.Is]; a loop yields it.
type Adapter interface {
	// List returns the entries of s that q asks for, all as they are at one moment. An
	// unknown scope has none.
	List(ctx context.Context, s Scope, q Query) ([]Entry, error)

	// Get returns the entry, or [ErrNotFound] if the scope holds none of that id
	// that is live at the instant at.
	Get(ctx context.Context, s Scope, id string, at time.Time) (Entry, error)

	// Put inserts e if the scope has no entry of that id. If the scope has the same entry
	// already, see [Entry.Equal], Put succeeds and changes nothing: an entry that was
	// retired or has expired stays so. It fails with [ErrConflict] if another entry has
	// the id, or if an entry of that id was erased.
	Put(ctx context.Context, s Scope, e Entry) error

	// Delete ends the life of an entry and reports whether it was live at the
	// instant at; if it was not, nothing changes. Its id stays used.
	Delete(ctx context.Context, s Scope, id string, at time.Time) (bool, error)
}

// Query says which entries [Adapter.List] returns. Fields that are zero do not narrow, but
// for At.
type Query struct {
	// At is the instant at which expiry is judged: an entry that has expired then is left
	// out, and at the zero instant nothing has expired.
	At time.Time
	// Version, if set, asks for the entries that were not retired at that version. It is set
	// only for a [Versioned] store, which then fails with [ErrSnapshotUnavailable] if it can
	// no longer be read. Without one List returns what is live.
	Version Version
	// IDs keeps these entries. Ids that the list does not hold are left out, and the order
	// stays that of the list.
	IDs []string
	// Tags keeps the entries that carry all of these tags.
	Tags []string
	// Subject keeps the entries that carry this subject.
	Subject string
	// Since and Until keep the entries with Since <= CreatedAt < Until.
	Since, Until time.Time
	// After continues behind a position, at which there need be no entry any more.
	After Cursor
	// Limit bounds the number of entries.
	Limit int
}

// Cursor is a position in a list: the CreatedAt and the ID of the last entry
// seen. The zero value stands before the first.
type Cursor struct {
	CreatedAt time.Time
	ID        string
}

// Matches reports whether q asks for e, apart from its Version and its Limit. A store that
// asks no database filters by it.
func (q *Query) Matches(e *Entry) bool {
	last := Entry{ID: q.After.ID, CreatedAt: q.After.CreatedAt}
	return e.LiveAt(q.At) && (q.After.IsZero() || last.Compare(e) < 0) &&
		(q.Since.IsZero() || !e.CreatedAt.Before(q.Since)) && (q.Until.IsZero() || e.CreatedAt.Before(q.Until)) &&
		(len(q.IDs) == 0 || slices.Contains(q.IDs, e.ID)) && q.carried(e)
}

// carried reports whether e carries the tags and the subject that q asks for.
func (q *Query) carried(e *Entry) bool {
	for _, tag := range q.Tags {
		if !slices.Contains(e.Tags, tag) {
			return false
		}
	}
	return q.Subject == "" || slices.Contains(e.Subjects, q.Subject)
}

// IsZero reports whether c is the position before the first entry.
func (c Cursor) IsZero() bool { return c.ID == "" }

// MarshalText writes the position down as a host hands it out: opaque and printable.
func (c Cursor) MarshalText() ([]byte, error) {
	if c.IsZero() {
		return nil, nil
	}
	b := binary.AppendVarint(nil, c.CreatedAt.UnixMilli())
	return base64.RawURLEncoding.AppendEncode(nil, append(b, c.ID...)), nil
}

// UnmarshalText reads what [Cursor.MarshalText] wrote. Anything else is [ErrValidation].
func (c *Cursor) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Cursor{}
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(string(text))
	ms, n := binary.Varint(raw)
	if err != nil || n <= 0 || !identifier.Valid(string(raw[n:]), MaxIDBytes) {
		return ErrValidation.With("malformed cursor", nil)
	}
	*c = Cursor{CreatedAt: time.UnixMilli(ms).UTC(), ID: string(raw[n:])}
	return nil
}
