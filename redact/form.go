package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
)

// forms collects the forms of one value, each once. The value comes first, hex last.
type forms struct {
	arena []byte
	ends  []int // of each form in arena
	kinds []kind
}

// kind says how a text is read when the form is looked for in it.
type kind uint8

const (
	exactForm  kind = iota // as it is
	base64Form             // as it is, and without line breaks
	hexForm                // with A-F folded to a-f
)

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

func (f *forms) clone() forms {
	return forms{bytes.Clone(f.arena), slices.Clone(f.ends), slices.Clone(f.kinds)}
}

// of replaces the collection by the forms of v, which comes first.
func (f *forms) of(v []byte, encoded bool) {
	f.wipe()
	f.write(v...)
	f.end(exactForm)
	if encoded {
		f.json(v)
		f.percent(v)
		f.html(v)
		f.base64(v)
		f.hex(v)
	}
}

func (f *forms) write(b ...byte) { f.arena = append(grow(f.arena, len(b)), b...) }

// grow returns b with room for n more elements. If it has to move b it wipes the
// old place, since what append leaves behind would stay until the memory is reused.
func grow[T any](b []T, n int) []T {
	if cap(b)-len(b) >= n {
		return b
	}
	moved := append(make([]T, 0, 2*(len(b)+n)), b...)
	clear(b)
	return moved
}

func (f *forms) wipe() {
	clear(f.arena)
	f.arena, f.ends, f.kinds = f.arena[:0], f.ends[:0], f.kinds[:0]
}

// done wipes the collection and lets go of much memory.
func (f *forms) done() {
	if f.wipe(); cap(f.arena) > 1<<16 {
		f.arena = nil
	}
}

// end closes the form that was written behind the last one, and drops it again
// if it is not new.
func (f *forms) end(k kind) {
	from := 0
	if len(f.ends) > 0 {
		from = f.ends[len(f.ends)-1]
	}
	form := f.arena[from:]
	for i := range f.ends {
		if f.kinds[i] == k && bytes.Equal(f.at(i), form) {
			clear(form)
			f.arena = f.arena[:from]
			return
		}
	}
	f.ends, f.kinds = append(f.ends, len(f.arena)), append(f.kinds, k)
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

	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
)

// base64 adds, for each place of the value within groups of three bytes, the
// characters that the value alone determines.
func (f *forms) base64(v []byte) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			plain := append(make([]byte, before, before+len(v)), v...)
			code := enc.AppendEncode(make([]byte, 0, enc.EncodedLen(len(plain))), plain)
			f.write(code[(before*8+5)/6 : len(plain)*8/6]...)
			f.end(base64Form)
			clear(plain)
			clear(code)
		}
	}
}

// hex adds the lower-case form, which stands for every mixture of cases.
func (f *forms) hex(v []byte) {
	f.arena = grow(f.arena, 2*len(v))
	for _, b := range v {
		f.arena = append(f.arena, lowerHex[b>>4], lowerHex[b&15])
	}
	f.end(hexForm)
}
