package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// maxLine bounds a line in bytes, its end not counted.
const maxLine = 1 << 20

// line is one note of a JSON Lines file.
type line struct {
	Number    int // of the line in the file, from 1
	Content   string
	Tags      []string
	Subjects  []string
	CreatedAt time.Time // UTC; zero if the line has none
	ExpiresAt time.Time // UTC; zero if the line has none
}

// badLine says what is wrong with a line that was passed over. The reason is one
// of a few fixed phrases, with the name of a known field at most: never anything
// that the line holds, which may be a secret.
type badLine struct {
	Number int
	Reason string
}

func (b badLine) String() string { return fmt.Sprintf("line %d: %s", b.Number, b.Reason) }

// readLines reads JSON Lines from r, one object on each line, and calls each for
// every good one, in order. It holds one line at a time. Lines end in LF or CR
// LF; the last one need not. Blank lines are skipped, as is a byte order mark at
// the very start.
//
// A line that breaks a rule is returned in bad and spoils no other. An error of
// each ends the reading at once, as does one of r, and then the line that was
// cut short is not read.
func readLines(r io.Reader, each func(line) error) (bad []badLine, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, err := in.Peek(3)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	if string(mark) == "\ufeff" {
		in.Discard(len(mark)) // cannot fail: they are in the buffer
	}
	var buf []byte
	for number := 1; ; number++ {
		text, tooLong, err := nextLine(in, buf[:0])
		if err == io.EOF {
			return bad, nil
		}
		if err != nil {
			return bad, fmt.Errorf("line %d: %w", number, err)
		}
		buf = text
		if tooLong {
			bad = append(bad, badLine{number, "longer than 1 MiB"})
			continue
		}
		if isBlank(text) {
			continue
		}
		l, reason := parseLine(text)
		if reason != "" {
			bad = append(bad, badLine{number, reason})
			continue
		}
		l.Number = number
		if err := each(l); err != nil {
			return bad, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// nextLine appends the next line to buf, without its end. It reads a line that
// is too long to its end too, but keeps no more of it than the limit. The error
// is io.EOF only where nothing is left.
func nextLine(in *bufio.Reader, buf []byte) (text []byte, tooLong bool, err error) {
	const keep = maxLine + len("\r\n")
	for {
		part, err := in.ReadSlice('\n')
		buf = append(buf, part[:min(len(part), keep-len(buf))]...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == nil, err == io.EOF && len(buf) > 0:
			buf = bytes.TrimSuffix(buf, []byte("\n"))
			buf = bytes.TrimSuffix(buf, []byte("\r"))
			return buf, len(buf) > maxLine, nil
		default:
			return nil, false, err
		}
	}
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r")) == 0 }

// parseLine reads one object. The reason is empty if it is good.
func parseLine(text []byte) (l line, reason string) {
	if !utf8.Valid(text) {
		return line{}, "invalid UTF-8"
	}
	fields, err := readObject(text)
	if err != nil {
		return line{}, err.Error()
	}
	for _, f := range []struct {
		name string
		read func(any) error
	}{
		{"content", stringInto(&l.Content)},
		{"tags", stringsInto(&l.Tags)},
		{"subjects", stringsInto(&l.Subjects)},
		{"createdAt", timeInto(&l.CreatedAt)},
		{"expiresAt", timeInto(&l.ExpiresAt)},
	} {
		value, present := fields[f.name]
		if !present {
			continue
		}
		if err := f.read(value); err != nil {
			return line{}, f.name + " " + err.Error()
		}
	}
	if l.Content == "" {
		return line{}, "no content"
	}
	return l, ""
}

var (
	errType    = errors.New("is of the wrong type")
	errNUL     = errors.New("holds U+0000")
	errTime    = errors.New("is not an RFC 3339 time")
	errYear    = errors.New("is outside the years 1 to 9999")
	errTooFine = errors.New("is finer than a millisecond")
)

// rfc3339 refuses what package time is lenient about: an hour of one digit, a
// comma before the fraction, an offset of a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func stringInto(to *string) func(any) error {
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return errType
		}
		if strings.IndexByte(s, 0) >= 0 {
			return errNUL
		}
		*to = s
		return nil
	}
}

func stringsInto(to *[]string) func(any) error {
	return func(value any) error {
		items, ok := value.([]any)
		if !ok {
			return errType
		}
		list := make([]string, len(items))
		for i, item := range items {
			if err := stringInto(&list[i])(item); err != nil {
				return err
			}
		}
		*to = list
		return nil
	}
}

func timeInto(to *time.Time) func(any) error {
	return func(value any) error {
		var s string
		if err := stringInto(&s)(value); err != nil {
			return err
		}
		var t time.Time
		if !rfc3339.MatchString(s) || t.UnmarshalText([]byte(s)) != nil {
			return errTime
		}
		t = t.UTC()
		switch {
		case t.Year() < 1 || t.Year() > 9999:
			return errYear
		case t.Nanosecond()%int(time.Millisecond) != 0:
			return errTooFine
		}
		*to = t
		return nil
	}
}
