package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory/driver"
)

// An index row has room for 2,704 bytes, which a tenant, a ref, a label and an id would
// exceed at their longest. A longer name stands in keys by its digest, behind enough of
// its beginning that no shorter one is equal to it.
const (
	maxKey  = 400
	keyHead = maxKey + 1 - sha256.Size
)

// keyOf is what the ref of an entry, or a label, is found under.
func keyOf(name string) []byte {
	if len(name) <= maxKey {
		return []byte(name)
	}
	sum := sha256.Sum256([]byte(name))
	return append([]byte(name[:keyHead]), sum[:]...)
}

// keysOf is keyOf for a list.
func keysOf(list []string) [][]byte {
	keys := make([][]byte, len(list))
	for i, s := range list {
		keys[i] = keyOf(s)
	}
	return keys
}

// wholeOf is the name if its key is a digest, else nil.
func wholeOf(name string) []byte {
	if len(name) <= maxKey {
		return nil
	}
	return []byte(name)
}

// isText reports whether PostgreSQL can hold a text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func isNoText(s string) bool { return !isText(s) }

// name is a string that is kept as BYTEA.
type name string

// ScanBytes implements pgtype.BytesScanner; NULL is the empty string.
func (n *name) ScanBytes(v []byte) error {
	*n = name(v)
	return nil
}

// textArray is a list of texts as PostgreSQL writes an array, empty if the list is. It
// lets lists of several lengths go in one parameter.
func textArray(list []string) string {
	if len(list) == 0 {
		return ""
	}
	size := 2
	for _, s := range list {
		size += len(s) + 3
	}
	b := make([]byte, 0, size)
	for i, s := range list {
		b = append(b, "{,"[min(i, 1)], '"')
		for j := range len(s) {
			if s[j] == '"' || s[j] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, s[j])
		}
		b = append(b, '"')
	}
	return string(append(b, '}'))
}

// nameArray is textArray for names.
func nameArray(list []string) string {
	coded := make([]string, len(list))
	for i, s := range list {
		coded[i] = `\x` + hex.EncodeToString([]byte(s))
	}
	return textArray(coded)
}

// textList is a list of texts or names, read as array_send writes it, which takes a
// fraction of what a driver does for an array.
type textList []string

// ScanBytes implements pgtype.BytesScanner; NULL is nil.
func (l *textList) ScanBytes(v []byte) error {
	*l = nil
	const head = 20 // dimensions, a flag, the type, the length and the first index
	if len(v) < head {
		return nil
	}
	out := make(textList, 0, min(int(binary.BigEndian.Uint32(v[12:])), len(v)/4))
	for v = v[head:]; len(v) >= 4; {
		n := int(int32(binary.BigEndian.Uint32(v)))
		if v = v[4:]; n < 0 || n > len(v) {
			return errArray
		}
		out = append(out, string(v[:n]))
		v = v[n:]
	}
	*l = out
	return nil
}

var errArray = errors.New("postgres: malformed array")

// never is the instant and the version after all others.
const never = 1<<63 - 1

func expiry(e *driver.Entry) int64 {
	if e.ExpiresAt.IsZero() {
		return never
	}
	return e.ExpiresAt.UnixMilli()
}

// instant reads milliseconds. The zero time comes back as the zero time.
func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// millisUp is the first instant in whole milliseconds that is not before t.
func millisUp(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }
