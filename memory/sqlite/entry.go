package sqlite

import (
	"database/sql"
	"encoding/binary"
	"math"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// never is the instant of what does not expire, and the version at which what is
// live has died. Statements name it by its digits, so that it selects an index.
const never = math.MaxInt64

// entryColumns are the columns that make an entry, in the order of a scanner.
const entryColumns = `e.id, e.content, e.tags, e.created, e.expires, e.run, e.subjects, e.sources`

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
	entry                   memory.Entry
	created, expires        int64
	tags, subjects, sources sql.RawBytes
	dest                    []any
}

func newScanner(others ...any) *scanner {
	s := new(scanner)
	e := &s.entry
	s.dest = append([]any{&e.ID, &e.Content, &s.tags, &s.created, &s.expires, &e.RunID, &s.subjects, &s.sources}, others...)
	return s
}

func (s *scanner) read(rows *sql.Rows) (memory.Entry, error) {
	if err := rows.Scan(s.dest...); err != nil {
		return memory.Entry{}, wrap(readFailed, err)
	}
	e := s.entry
	e.CreatedAt = instant(s.created)
	if s.expires != never {
		e.ExpiresAt = instant(s.expires)
	}
	var ok [3]bool
	e.Tags, ok[0] = unpack(s.tags)
	e.Subjects, ok[1] = unpack(s.subjects)
	e.Sources, ok[2] = unpack(s.sources)
	if ok != [3]bool{true, true, true} {
		return memory.Entry{}, &failure{damaged, nil}
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
	if len(b) == 0 {
		return nil, true
	}
	text := string(b)
	for at := 0; at < len(text); {
		n, size := binary.Uvarint(b[at:])
		if size <= 0 || n > uint64(len(text)-at-size) {
			return nil, false
		}
		at += size
		list = append(list, text[at:at+int(n)])
		at += int(n)
	}
	return list, true
}
