package redact

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"
)

// matcher finds forms in text. It never changes once it is built, and is wiped
// when the last of its users releases it.
//
// It samples. Let p be the number of bytes that all forms have at least. Of any p
// bytes in a row, one place in every step = p-q+1 holds a whole gram of q bytes.
// So it is enough to look at one gram in every step bytes of the text and to ask
// a small table whether any form has it among its first p bytes. These probes do
// not depend on each other, which is what makes them fast. Where the answer is
// yes, a second table says which form that is and where in it; if there may be
// several, at which offsets, and these starts are looked up by a hash of the first
// p bytes.
type matcher struct {
	users atomic.Int64

	ids   []string // sorted
	arena []byte   // all forms, each with its marker behind it
	forms []form   // by bucket, sorted within

	prefix  int      // p
	longest int      // of the forms
	q, step int      // gram and distance of the probes
	qMask   uint64   // the low q bytes
	grams   gramSet  // of the first p bytes of each form
	origins []origin // by hash of a gram
	slots   []slot   // hash table of the buckets
	shift   uint     // of a key, to its slot

	fallback
}

// form is one text to be found.
type form struct {
	place
	id     int32
	parent int32 // the longest other form that this one begins with, or -1
}

// place is where a form and its marker are in the arena.
type place struct {
	from int
	len  int32
	mark uint16 // length of the marker
	cost uint16 // in a slot: of looking into it, in units of the budget
}

// slot refers to the forms with one key: forms[lo:hi]. It is free if hi is 0. It
// has the place of the first one, which is usually the only one.
type slot struct {
	key    uint64
	lo, hi int32
	first  place
}

// origin says where forms have a gram. If they have it in one place only, that is
// single, the index of the slot, and in the low six bits the offset; otherwise it
// has a bit for each offset.
type origin uint64

const (
	single  origin = 1 << 63
	maxStep        = 63 // what the bits of an origin have room for
)

func (m *matcher) bytes(p *place) []byte { return m.arena[p.from:][:p.len] }

func (m *matcher) markerOf(p *place) []byte { return m.arena[p.from+int(p.len):][:p.mark] }

func (m *matcher) idOf(p *place) string {
	text := m.markerOf(p)
	return string(text[len(markerHead) : len(text)-len(markerTail)])
}

func (m *matcher) hasID(id string) bool {
	_, ok := slices.BinarySearch(m.ids, id)
	return ok
}

// retain counts one more user, unless the matcher is wiped already.
func (m *matcher) retain() bool {
	for {
		n := m.users.Load()
		if n == 0 {
			return false
		}
		if m.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (m *matcher) release() {
	if m.users.Add(-1) == 0 {
		clear(m.arena)
		m.grams.wipe()
		clear(m.origins)
		clear(m.slots)
		m.fallback.wipe()
	}
}

// originOf returns where forms have the gram at text[at:], and maybe more places.
func (m *matcher) originOf(text []byte, at int) origin {
	return m.origins[m.originSlot(load(text, at))]
}

func (m *matcher) originSlot(word uint64) uint64 {
	return word & m.qMask * mixB >> 32 & uint64(len(m.origins)-1)
}

// key is a hash of 16 of the first p bytes of text[i:], or of all if there are
// fewer. At least p bytes are there.
func (m *matcher) key(text []byte, i int) uint64 {
	if m.prefix < 8 {
		return load(text, i) << (64 - 8*uint(m.prefix)) * mixA
	}
	return binary.LittleEndian.Uint64(text[i:])*mixA ^ binary.LittleEndian.Uint64(text[i+m.prefix-8:])*mixB
}

// slotAt returns the bucket of the forms that have the same key as text[i:], nil
// if there is none. At least p bytes are there.
func (m *matcher) slotAt(text []byte, i int) *slot {
	key := m.key(text, i)
	for n := key >> m.shift; ; n++ {
		s := &m.slots[n&uint64(len(m.slots)-1)]
		if s.key == key && s.hi != 0 {
			return s
		}
		if s.hi == 0 {
			return nil
		}
	}
}

// longestOf returns the longest form of a bucket that text begins with, or nil. It
// is the last form that does not sort behind text, or one which that begins with.
func (m *matcher) longestOf(b *slot, text []byte) *place {
	if b.hi-b.lo == 1 {
		if startsWith(text, m.bytes(&b.first)) {
			return &b.first
		}
		return nil
	}
	f, hi := b.lo, b.hi
	for n := hi - f; n > 1; n = hi - f {
		mid := f + n/2
		form := m.bytes(&m.forms[mid].place)
		if bytes.Compare(form, text[:min(len(form), len(text))]) <= 0 {
			f = mid
		} else {
			hi = mid
		}
	}
	for ; f >= 0; f = m.forms[f].parent {
		if p := &m.forms[f].place; startsWith(text, m.bytes(p)) {
			return p
		}
	}
	return nil
}

func startsWith(text, form []byte) bool {
	return len(form) <= len(text) && string(text[:len(form)]) == string(form)
}

// Odd numbers without a pattern, for multiplicative hashing.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0xc2b2ae3d27d4eb4f

	mix32 = 0x9e3779b1
)

// load returns 8 bytes of text from i on, as zeros where it ends.
func load(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return word64(unsafe.Pointer(unsafe.SliceData(text)), i)
	}
	return loadEnd(text[i:])
}

func loadEnd(text []byte) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.LittleEndian.Uint64(b[:])
}
