package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
)

// form is a text by which a value is found.
type form struct {
	kind kind
	text []byte
}

// kind says how a text is read when the form is looked for in it.
type kind uint8

const (
	exactForm  kind = iota // as it is
	hexForm                // with A-F folded to a-f
	base64Form             // without line breaks
)

// formsOf returns the forms of a value, each once. The value itself comes first.
func formsOf(value []byte, encoded bool) []form {
	w := formWriter{text: make([]byte, 0, longestCode*len(value))}
	defer func() { clear(w.text[:cap(w.text)]) }()
	w.write(value...)
	w.end(exactForm)
	if encoded {
		if !plain.hasAll(value) {
			w.json(value)
			w.percent(value)
			w.html(value)
		}
		w.base64(value)
		w.text = hex.AppendEncode(w.text, value) // it stands for every mixture of cases
		w.end(hexForm)
	}
	return w.forms
}

// plain are the bytes that no encoder but base64 and hex changes.
var plain = classOf(letters + digits + "-._")

// longestCode is how many bytes an encoder makes of one byte at most, as in &#x3D;.
const longestCode = 6

// formWriter collects forms. The buffer of the one that is being written never grows, so
// that no copy of it is left behind.
type formWriter struct {
	forms []form
	text  []byte
}

func (w *formWriter) write(b ...byte) { w.text = append(w.text, b...) }

// end takes what was written as a form, unless there is one like it.
func (w *formWriter) end(k kind) {
	if !slices.ContainsFunc(w.forms, func(f form) bool { return f.kind == k && bytes.Equal(f.text, w.text) }) {
		w.forms = append(w.forms, form{k, bytes.Clone(w.text)})
	}
	w.text = w.text[:0]
}

// base64 adds, for each place of the value within groups of three bytes, the
// characters that the value alone determines.
func (w *formWriter) base64(v []byte) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			plain := append(make([]byte, before, before+len(v)), v...)
			code := enc.AppendEncode(w.text, plain)
			w.text = append(w.text, code[(before*8+5)/6:len(plain)*8/6]...)
			w.end(base64Form)
			clear(plain)
		}
	}
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
	return !slices.ContainsFunc(v, func(b byte) bool { return !c.has(b) })
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"

	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
)
