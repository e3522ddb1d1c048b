package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may nest in a document. Its own fields
// nest three deep; the rest is what others may add to an open payload.
const maxDepth = 100

// parse reads a JSON document as RFC 8785 does, which is stricter than
// encoding/json: field names are unique and compared as they are, strings are
// Unicode (no invalid UTF-8, no lone surrogate), and numbers are IEEE doubles. An
// integer literal beyond [MaxInteger] is refused too, since it would round.
//
// The value consists of nil, bool, float64, string, []any and map[string]any.
// Errors hold no part of the document.
func parse(raw []byte) (any, error) {
	switch {
	case len(raw) > MaxDocBytes:
		return nil, errors.New("is longer than 4 MiB")
	case !utf8.Valid(raw):
		return nil, errors.New(ruleUTF8)
	case !json.Valid(raw):
		return nil, errors.New("is not JSON")
	}
	p := parser{rest: raw}
	return p.value(0)
}

// parser takes values off the front of JSON that is known to be well-formed.
type parser struct{ rest []byte }

func (p *parser) value(depth int) (any, error) {
	switch p.peek() {
	case '{':
		return p.object(depth + 1)
	case '[':
		return p.array(depth + 1)
	case '"':
		return p.string()
	case 't':
		p.skip(len("true"))
		return true, nil
	case 'f':
		p.skip(len("false"))
		return false, nil
	case 'n':
		p.skip(len("null"))
		return nil, nil
	}
	return p.number()
}

func (p *parser) object(depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	m := make(map[string]any)
	for p.skip(1); p.peek() != '}'; p.comma() {
		name, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, dup := m[name]; dup {
			return nil, errors.New("has a field twice")
		}
		p.peek()
		p.skip(len(":"))
		if m[name], err = p.value(depth); err != nil {
			return nil, err
		}
	}
	p.skip(1)
	return m, nil
}

func (p *parser) array(depth int) ([]any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	list := []any{}
	for p.skip(1); p.peek() != ']'; p.comma() {
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	p.skip(1)
	return list, nil
}

var errDepth = errors.New("nests too deep")

func (p *parser) string() (string, error) {
	end := 1
	for p.rest[end] != '"' {
		if p.rest[end] == '\\' {
			end++
		}
		end++
	}
	quoted := p.rest[:end+1]
	p.skip(len(quoted))
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:end]), nil
	}
	if loneSurrogate(quoted) {
		return "", errors.New("has a lone surrogate")
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// loneSurrogate reports whether a string literal has a \u escape for one half of
// a surrogate pair only, which encoding/json would turn into U+FFFD.
func loneSurrogate(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		r := escape(quoted[i:])
		if !utf16.IsSurrogate(r) {
			i++ // the escaped character, which may be a backslash
			continue
		}
		if utf16.DecodeRune(r, escape(quoted[i+6:])) == utf8.RuneError {
			return true
		}
		i += 11
	}
	return false
}

// escape is the code unit of the \u escape that s begins with, or -1.
func escape(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

func (p *parser) number() (float64, error) {
	n := bytes.IndexAny(p.rest, ",]} \t\r\n")
	if n < 0 {
		n = len(p.rest)
	}
	literal := p.rest[:n]
	p.skip(n)
	v, err := strconv.ParseFloat(string(literal), 64)
	if err != nil || !bytes.ContainsAny(literal, ".eE") && math.Abs(v) > MaxInteger {
		return 0, errors.New("has a number that is too large")
	}
	return v, nil
}

// peek returns the next byte that is not white space, 0 at the end.
func (p *parser) peek() byte {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	if len(p.rest) == 0 {
		return 0
	}
	return p.rest[0]
}

func (p *parser) skip(n int) { p.rest = p.rest[n:] }

// comma goes to the next element or the end of the list.
func (p *parser) comma() {
	if p.peek() == ',' {
		p.skip(1)
		p.peek()
	}
}
