package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// never is the instant of what does not expire, and the version at which what is
// live has died. Statements name it by its digits, so that it selects an index.
const never = math.MaxInt64

// entryColumns are the columns that make an entry, in the order of a scanner: of a row e
// of entries and its row x of texts, which withText joins.
const (
	entryColumns = `e.id, x.content, x.head, e.created, e.expires`
	withText     = ` CROSS JOIN texts x ON x.entry = e.entry`
)

// expiry returns what the database has for ExpiresAt.
func expiry(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixMilli()
}

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// scanner reads the entryColumns of one row after another, and then others.
type scanner struct {
	entry            driver.Entry
	created, expires int64
	head             sql.RawBytes
	dest             []any
	summer           summer
}

func newScanner(others ...any) *scanner {
	s := new(scanner)
	s.dest = append([]any{&s.entry.ID, &s.entry.Content, &s.head, &s.created, &s.expires}, others...)
	return s
}

// read returns the entry of a row. Of one that was erased only the id is left.
func (s *scanner) read(rows *sql.Rows) (driver.Entry, error) {
	if err := rows.Scan(s.dest...); err != nil {
		return driver.Entry{}, wrap(readFailed, err)
	}
	if s.head == nil && s.entry.Content == "" {
		return driver.Entry{ID: s.entry.ID}, nil
	}
	e := driver.Entry{ID: s.entry.ID, Content: s.entry.Content, CreatedAt: instant(s.created)}
	if s.expires != never {
		e.ExpiresAt = instant(s.expires)
	}
	if !readHead(&e, s.head) || binary.BigEndian.Uint32(s.head) != s.summer.sum(s.head[sumBytes:], e.ID, s.created, s.expires, e.Content) {
		return driver.Entry{}, &failure{damaged, nil}
	}
	return e, nil
}

// pack writes a list of strings: each its length, as a varint, and its bytes. Unlike
// JSON it keeps every byte. An empty list is NULL.
func pack(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	size := 0
	for _, s := range list {
		size += len(s) + 2
	}
	b := make([]byte, 0, size)
	for _, s := range list {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func unpack(b []byte) (list []string, ok bool) {
	for len(b) > 0 {
		var s []byte
		if s, b, ok = cut(b); !ok {
			return nil, false
		}
		list = append(list, string(s))
	}
	return list, true
}

// cut takes the first string from a list.
func cut(b []byte) (s, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	b = b[size:]
	return b[:n], b[n:], true
}

// labelOf is what an index has in place of a subject label, which is text that may have to
// be forgotten. Who looks something up by it compares the label itself.
func labelOf(tenant, subject string) []byte {
	sum := sha256.Sum256([]byte(tenant + "\x00" + subject))
	return sum[:16]
}

// Statements that take a list have one parameter for all of it, in JSON: of ids their
// bytes in hex, which listed joins with entries in the order of the list, since a CROSS JOIN
// is done from left to right; of keys the numbers.
const listed = `json_each(?3) j CROSS JOIN entries e ON e.tenant = ?1 AND e.ref = ?2 AND e.id = CAST(unhex(j.value) AS TEXT)`

func idList(ids []string) string {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(hex.AppendEncode(append(b, '"'), []byte(id)), '"')
	}
	return string(append(b, ']'))
}

func keyList(keys []int64) string {
	b := []byte{'['}
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, k, 10)
	}
	return string(append(b, ']'))
}
