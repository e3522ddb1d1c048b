package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"unicode/utf8"
)

// forms collects the forms of one value, each once.
type forms struct {
	arena []byte
	ends  []int // of each form in arena
}

func (f *forms) len() int { return len(f.ends) }

func (f *forms) at(i int) []byte {
	from := 0
	if i > 0 {
		from = f.ends[i-1]
	}
	return f.arena[from:f.ends[i]]
}

func (f *forms) all(yield func([]byte) bool) {
	for i := range f.ends {
		if !yield(f.at(i)) {
			return
		}
	}
}

func (f *forms) clone() forms { return forms{bytes.Clone(f.arena), slices.Clone(f.ends)} }

// of replaces the collection by the forms of v, which comes first.
func (f *forms) of(v []byte, encoded bool) {
	f.wipe()
	f.arena = append(grow(f.arena, maxGrowth*(len(v)+8)), v...)
	f.ends = append(f.ends[:0], len(v))
	if encoded {
		f.json(v)
		f.percent(v)
		f.base64(v)
		f.hex(v)
	}
}

// maxGrowth bounds the bytes of all forms for each byte of the value: four JSON
// forms of up to 6, six percent-encoded ones of 3, six of base64, two of hex.
const maxGrowth = 64

func (f *forms) wipe() {
	clear(f.arena)
	f.arena, f.ends = f.arena[:0], f.ends[:0]
}

// done wipes the collection and lets go of much memory.
func (f *forms) done() {
	if f.wipe(); cap(f.arena) > 1<<16 {
		f.arena = nil
	}
}

// end closes the form that was written behind the last one, and drops it again
// if it is not new.
func (f *forms) end() {
	from := f.ends[len(f.ends)-1]
	form := f.arena[from:]
	for i := range f.ends {
		if bytes.Equal(f.at(i), form) {
			clear(form)
			f.arena = f.arena[:from]
			return
		}
	}
	f.ends = append(f.ends, len(f.arena))
}

// A byte class is a set of bytes.
type byteClass [4]uint64

func classOf(chars string) (c byteClass) {
	for i := range len(chars) {
		c[chars[i]>>6] |= 1 << (chars[i] & 63)
	}
	return c
}

func (c *byteClass) has(b byte) bool { return c[b>>6]>>(b&63)&1 != 0 }

func (c *byteClass) hasAll(v []byte) bool {
	for _, b := range v {
		if !c.has(b) {
			return false
		}
	}
	return true
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
)

var (
	unreserved = classOf(letters + digits + "-._~")      // RFC 3986 §2.3
	component  = classOf(letters + digits + "-._~!'()*") // encodeURIComponent
	jsonPlain  = classOf(letters + digits + " !#$%'()*+,-.:;=?@[]^_`{|}~\x7f")
)

// percent adds the percent-encoded forms.
func (f *forms) percent(v []byte) {
	if unreserved.hasAll(v) {
		return
	}
	for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
		f.percentAs(v, &unreserved, digits, false)
		f.percentAs(v, &unreserved, digits, true)
		f.percentAs(v, &component, digits, false)
	}
}

func (f *forms) percentAs(v []byte, keep *byteClass, digits string, plus bool) {
	for _, b := range v {
		switch {
		case keep.has(b):
			f.arena = append(f.arena, b)
		case plus && b == ' ':
			f.arena = append(f.arena, '+')
		default:
			f.arena = append(f.arena, '%', digits[b>>4], digits[b&15])
		}
	}
	f.end()
}

// Ways to write a JSON string beyond what RFC 8259 demands.
const (
	jsonSolidus = 1 << iota // \/
	jsonHTML                // \u003c \u003e \u0026 \u2028 \u2029
	jsonASCII               // \uxxxx outside ASCII
)

// json adds the forms inside a JSON string.
func (f *forms) json(v []byte) {
	if jsonPlain.hasAll(v) {
		return
	}
	f.jsonAs(v, 0)
	f.jsonAs(v, jsonSolidus)
	f.jsonAs(v, jsonHTML)
	if utf8.Valid(v) {
		f.jsonAs(v, jsonASCII)
	}
}

func (f *forms) jsonAs(v []byte, how int) {
	for i := 0; i < len(v); {
		r, size := utf8.DecodeRune(v[i:])
		switch {
		case r == '"' || r == '\\' || r == '/' && how&jsonSolidus != 0:
			f.arena = append(f.arena, '\\', byte(r))
		case r < ' ':
			f.jsonControl(r)
		case how&jsonHTML != 0 && (r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029'),
			how&jsonASCII != 0 && r >= utf8.RuneSelf:
			f.jsonHex(r)
		default:
			f.arena = append(f.arena, v[i:i+size]...)
		}
		i += size
	}
	f.end()
}

func (f *forms) jsonControl(r rune) {
	if i := bytes.IndexByte([]byte("\b\f\n\r\t"), byte(r)); i >= 0 {
		f.arena = append(f.arena, '\\', "bfnrt"[i])
		return
	}
	f.jsonHex(r)
}

func (f *forms) jsonHex(r rune) {
	const digits = "0123456789abcdef"
	if r > 0xffff {
		r -= 0x10000
		f.jsonHex(0xd800 + r>>10)
		r = 0xdc00 + r&0x3ff
	}
	f.arena = append(f.arena, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// base64 adds, for each place of the value within groups of three bytes, the
// characters that the value alone determines.
func (f *forms) base64(v []byte) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			from := len(f.arena)
			f.arena = append(f.arena, 0, 0)[:from+before]
			f.arena = append(f.arena, v...)
			plain := f.arena[from:]
			f.arena = enc.AppendEncode(f.arena, plain)
			code := f.arena[from+len(plain):]
			first, last := (before*8+5)/6, len(plain)*8/6
			n := copy(f.arena[from:], code[first:last])
			clear(f.arena[from+n:])
			f.arena = f.arena[:from+n]
			f.end()
		}
	}
}

// hex adds the forms in lower and in upper case.
func (f *forms) hex(v []byte) {
	for _, digits := range []string{"0123456789abcdef", "0123456789ABCDEF"} {
		for _, b := range v {
			f.arena = append(f.arena, digits[b>>4], digits[b&15])
		}
		f.end()
	}
}
