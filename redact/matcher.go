package redact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
)

// matcher finds forms in text. It never changes once it is built, and is wiped
// when the last of its users releases it.
//
// It samples. Let p be the number of bytes that all forms have at least. Of any p
// bytes in a row, those that start at the right one of step = p-q+1 places hold a
// whole gram of q bytes at a multiple of step. So it is enough to look at one
// gram in every step bytes of the text and to ask a bitmap whether any form has
// it among its first p bytes. These probes do not depend on each other, which is
// what makes them fast. Where the answer is yes, each of the step starts is
// tested for the head of a form.
type matcher struct {
	users atomic.Int64

	ids   []string // sorted
	arena []byte   // all forms, one behind the other
	forms []form   // by bucket, sorted within
	total int      // bytes of all forms

	prefix  int    // p
	longest int    // of the forms
	q, step int    // gram and distance of the probes
	qMask   uint64 // the low q bytes
	grams   bitmap // of the first p bytes of each form
	heads   bitmap // keys of the buckets
	slots   []slot // hash table of the buckets, a power of two
	shift   uint   // of a key, to its slot
}

// form is one text to be found.
type form struct {
	from   int
	len    int32
	id     int32
	parent int32 // the longest other form that this one begins with, or -1
}

// slot refers to the forms with one key: forms[lo:hi]. It is free if hi is 0.
type slot struct {
	key    uint64
	lo, hi int32
}

// maxStep bounds the work behind one probe.
const maxStep = 32

func (m *matcher) bytes(f int32) []byte {
	return m.arena[m.forms[f].from:][:m.forms[f].len]
}

func (m *matcher) len(f int32) int { return int(m.forms[f].len) }

func (m *matcher) idOf(f int32) string { return m.ids[m.forms[f].id] }

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
		clear(m.grams.words)
		clear(m.heads.words)
		clear(m.slots)
	}
}

// probe returns the first place from at on, in steps, where text has a gram of
// some form. It returns a place where no gram fits any more if there is none.
func (m *matcher) probe(text []byte, at int) int {
	step, words, shift, mask := m.step, m.grams.words, m.grams.shift, m.qMask
	for ; at+3*step+8 <= len(text); at += 4 * step {
		a := binary.LittleEndian.Uint64(text[at:]) & mask * mixA >> shift
		b := binary.LittleEndian.Uint64(text[at+step:]) & mask * mixA >> shift
		c := binary.LittleEndian.Uint64(text[at+2*step:]) & mask * mixA >> shift
		d := binary.LittleEndian.Uint64(text[at+3*step:]) & mask * mixA >> shift
		if (words[a>>6]>>(a&63)|words[b>>6]>>(b&63)|words[c>>6]>>(c&63)|words[d>>6]>>(d&63))&1 != 0 {
			break
		}
	}
	for ; at+m.q <= len(text); at += step {
		if m.grams.has(load(text, at) & mask * mixA) {
			break
		}
	}
	return at
}

// key is a hash of 16 of the first p bytes of text[i:], or of all if there are
// fewer. At least p bytes are there.
func (m *matcher) key(text []byte, i int) uint64 {
	if m.prefix < 8 {
		return load(text, i) << (64 - 8*uint(m.prefix)) * mixA
	}
	return binary.LittleEndian.Uint64(text[i:])*mixA ^ binary.LittleEndian.Uint64(text[i+m.prefix-8:])*mixB
}

// longestAt returns the longest form that text has at i, or -1. At least p bytes
// are there.
func (m *matcher) longestAt(text []byte, i int) int32 {
	key := m.key(text, i)
	if !m.heads.has(key) {
		return -1
	}
	for n := key >> m.shift; ; n++ {
		s := &m.slots[n&uint64(len(m.slots)-1)]
		if s.hi == 0 {
			return -1
		}
		if s.key == key {
			return m.longestOf(s.lo, s.hi, text[i:])
		}
	}
}

// longestOf returns the longest of forms[lo:hi] that text begins with, or -1. It
// is the last form that does not sort behind text, or one which that begins with.
func (m *matcher) longestOf(lo, hi int32, text []byte) int32 {
	first := lo
	for lo < hi {
		mid := (lo + hi) / 2
		f := m.bytes(mid)
		if bytes.Compare(f, text[:min(len(f), len(text))]) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	f := lo - 1
	if f < first {
		return -1
	}
	for f >= 0 && !bytes.HasPrefix(text, m.bytes(f)) {
		f = m.forms[f].parent
	}
	return f
}

// bitmap is a set of hashes with false positives.
type bitmap struct {
	words []uint64
	shift uint // of a hash, to its bit
}

// newBitmap has room for n hashes.
func newBitmap(n int) bitmap {
	bits := uint(12)
	for 1<<bits < n*24 && bits < 23 {
		bits++
	}
	return bitmap{make([]uint64, 1<<(bits-6)), 64 - bits}
}

func (b *bitmap) add(hash uint64) {
	n := hash >> b.shift
	b.words[n>>6] |= 1 << (n & 63)
}

func (b *bitmap) has(hash uint64) bool {
	n := hash >> b.shift
	return b.words[n>>6]>>(n&63)&1 != 0
}

// Odd numbers without a pattern, for multiplicative hashing.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0xc2b2ae3d27d4eb4f
)

// load returns 8 bytes of text from i on, as zeros where it ends.
func load(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	var b [8]byte
	copy(b[:], text[i:])
	return binary.LittleEndian.Uint64(b[:])
}

// newMatcher returns an empty matcher to which forms can be added.
func newMatcher(ids []string) *matcher { return &matcher{ids: ids} }

// add adds a form of the secret ids[id].
func (m *matcher) add(f []byte, id int32) {
	m.forms = append(m.forms, form{from: len(m.arena), len: int32(len(f)), id: id})
	m.arena = append(m.arena, f...)
}

// build prepares the matcher for use, with one user.
func (m *matcher) build() *matcher {
	m.users.Store(1)
	if len(m.forms) == 0 {
		m.q, m.step, m.grams, m.heads = 8, maxStep, newBitmap(0), newBitmap(0)
		return m
	}
	m.prefix = int(m.forms[0].len)
	for i := range m.forms {
		m.prefix = min(m.prefix, int(m.forms[i].len))
		m.longest = max(m.longest, int(m.forms[i].len))
	}
	m.chooseGram()
	m.prefix = min(m.prefix, maxStep+m.q-1)
	m.step = m.prefix - m.q + 1
	m.qMask = 1<<(8*m.q-1)<<1 - 1

	m.grams = newBitmap(len(m.forms) * m.step)
	for i := range m.forms {
		f := m.bytes(int32(i))
		for j := range m.step {
			m.grams.add(load(f, j) & m.qMask * mixA)
		}
	}
	m.bucket()
	return m
}

// chooseGram sets q to what makes probing cheapest: longer grams are rarer in
// text, shorter ones allow for longer steps.
func (m *matcher) chooseGram() {
	hex := 0
	for i := range m.forms {
		if hexDigits.hasAll(m.bytes(int32(i))) {
			hex++
		}
	}
	best := 0.0
	for q := 4; q <= min(m.prefix, 8); q += 2 {
		step := float64(min(m.prefix-q+1, maxStep))
		chance := 0.02 + step*(float64(hex)/pow(16, q)+float64(len(m.forms)-hex)/pow(40, q))
		cost := (1 + min(chance, 1)*(8+step)) / step
		if best == 0 || cost < best {
			best, m.q = cost, q
		}
	}
}

func pow(x float64, n int) float64 {
	y := 1.0
	for range n {
		y *= x
	}
	return y
}

// bucket sorts the forms into buckets and links those that begin with another.
func (m *matcher) bucket() {
	type keyed struct {
		key uint64
		form
	}
	list := make([]keyed, len(m.forms))
	for i := range m.forms {
		list[i] = keyed{m.key(m.bytes(int32(i)), 0), m.forms[i]}
	}
	of := func(f *form) []byte { return m.arena[f.from:][:f.len] }
	slices.SortFunc(list, func(x, y keyed) int {
		if c := cmp.Compare(x.key, y.key); c != 0 {
			return c
		}
		return cmp.Or(bytes.Compare(of(&x.form), of(&y.form)), cmp.Compare(x.id, y.id))
	})
	list = slices.CompactFunc(list, func(x, y keyed) bool {
		return x.key == y.key && bytes.Equal(of(&x.form), of(&y.form))
	})

	m.heads = newBitmap(len(list))
	m.shift = 63
	for 1<<(64-m.shift) < 2*len(list) {
		m.shift--
	}
	m.slots = make([]slot, 1<<(64-m.shift))
	m.forms = m.forms[:len(list)]
	for lo := 0; lo < len(list); {
		hi := lo
		for ; hi < len(list) && list[hi].key == list[lo].key; hi++ {
			m.total += int(list[hi].len)
			m.forms[hi] = list[hi].form
			m.forms[hi].parent = m.parent(int32(lo), int32(hi))
		}
		m.heads.add(list[lo].key)
		n := list[lo].key >> m.shift
		for m.slots[n&uint64(len(m.slots)-1)].hi != 0 {
			n++
		}
		m.slots[n&uint64(len(m.slots)-1)] = slot{list[lo].key, int32(lo), int32(hi)}
		lo = hi
	}
}

// parent finds the longest of forms[lo:f] that f begins with.
func (m *matcher) parent(lo, f int32) int32 {
	p := f - 1
	for p >= lo && !bytes.HasPrefix(m.bytes(f), m.bytes(p)) {
		p = m.forms[p].parent
	}
	return max(p, -1)
}
