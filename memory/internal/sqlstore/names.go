package sqlstore

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// Never is the instant of what does not expire, and the version at which what is live has died.
const Never = math.MaxInt64

// Expiry returns what a database has for an ExpiresAt.
func Expiry(t time.Time) int64 {
	if t.IsZero() {
		return Never
	}
	return t.UnixMilli()
}

// Instant is the instant of so many milliseconds since 1970.
func Instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// millisUp is the first whole millisecond that is not before t.
func millisUp(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// Label is what an index has in place of a subject label, which is text that may have to be
// forgotten and is too long for some. A reader compares the label itself.
func Label(tenant, subject string) []byte {
	sum := sha256.Sum256([]byte(tenant + "\x00" + subject))
	return sum[:16]
}

// Pack writes a list of strings: each its length, as a varint, and its bytes. An empty list is nil.
func Pack(list []string) (b []byte) {
	for _, s := range list {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// Unpack returns a list that Pack wrote; ok is false if it did not.
func Unpack(b []byte) (list []string, ok bool) {
	for len(b) > 0 {
		var s []byte
		if s, b, ok = Cut(b); !ok {
			return nil, false
		}
		list = append(list, string(s))
	}
	return list, true
}

// Cut takes the first string from a packed list.
func Cut(b []byte) (s, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	b = b[size:]
	return b[:n], b[n:], true
}

// Name is a string that is read from a column of text or bytes; NULL is the empty one.
type Name string

// Scan implements [sql.Scanner].
func (n *Name) Scan(src any) error {
	switch v := src.(type) {
	case string:
		*n = Name(v)
	case []byte:
		*n = Name(v)
	default:
		*n = ""
	}
	return nil
}

// ScanBytes does the same for the driver of PostgreSQL.
func (n *Name) ScanBytes(v []byte) error {
	*n = Name(v)
	return nil
}
