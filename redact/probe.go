package redact

import (
	"encoding/binary"
	"unsafe"
)

// gramSet is a set of grams with false positives: a table of bytes if they are
// few and of four bytes, of bits otherwise.
type gramSet struct {
	few  *[1 << fewBits]byte
	bits []uint64
	mask uint64 // of an index into bits
}

const (
	fewBits  = 15
	fewGrams = 1 << 9
	fewShift = 32 - fewBits
)

// newGramSet has room for n grams of q bytes.
func newGramSet(n, q int) gramSet {
	if n <= fewGrams && q == 4 {
		return gramSet{few: new([1 << fewBits]byte)}
	}
	size := powerOfTwo(n*64, 12, 24)
	return gramSet{bits: make([]uint64, size/64), mask: uint64(size - 1)}
}

func (g *gramSet) add(gram uint64) {
	if g.few != nil {
		g.few[uint32(gram)*mix32>>fewShift] = 1
		return
	}
	n := gram * mixA >> 40 & g.mask
	g.bits[n>>6] |= 1 << (n & 63)
}

func (g *gramSet) has(gram uint64) bool {
	if g.few != nil {
		return g.few[uint32(gram)*mix32>>fewShift] != 0
	}
	n := gram * mixA >> 40 & g.mask
	return g.bits[n>>6]&(1<<(n&63)) != 0
}

func (g *gramSet) wipe() {
	if g.few != nil {
		clear(g.few[:])
	}
	clear(g.bits)
}

// probe returns the first place from at on, in steps, where text has a gram of
// some form. It returns a place where no gram fits any more if there is none.
func (m *matcher) probe(text []byte, at int) int {
	hit := false
	if m.grams.few != nil {
		at, hit = probeFew(text, at, m.step, m.grams.few)
	} else {
		at, hit = probeBits(text, at, m.step, m.qMask, m.grams.bits, m.grams.mask)
	}
	if hit {
		return at
	}
	for ; at+m.q <= len(text); at += m.step {
		if m.grams.has(load(text, at) & m.qMask) {
			break
		}
	}
	return at
}

// The loops below take some probes at a time and leave the last ones to their
// caller. They run without bounds checks, which would take as long as all the
// rest: the condition of the outer loop bounds every access to text, and mask,
// which is less than 64*len(table), every index into the table.

func probeFew(text []byte, at, step int, table *[1 << fewBits]byte) (int, bool) {
	t := unsafe.Pointer(unsafe.SliceData(text))
	for end := len(text) - 7*step - 8; at <= end; at += 8 * step {
		p := unsafe.Add(t, at)
		q := unsafe.Add(p, step)
		hit := table[fewIndex(p, 0)] | table[fewIndex(q, 0)] | table[fewIndex(p, 2*step)] | table[fewIndex(q, 2*step)]
		p, q = unsafe.Add(p, 4*step), unsafe.Add(q, 4*step)
		hit |= table[fewIndex(p, 0)] | table[fewIndex(q, 0)] | table[fewIndex(p, 2*step)] | table[fewIndex(q, 2*step)]
		if hit == 0 {
			continue
		}
		for table[fewIndex(t, at)] == 0 {
			at += step
		}
		return at, true
	}
	return at, false
}

// ahead is how many probes probeAhead makes.
const ahead = 32

// probeAhead returns a bit for each of the probes from at on that hits. The last
// one has to have 8 bytes of text.
func (m *matcher) probeAhead(text []byte, at int) (hits uint64) {
	t, step := unsafe.Add(unsafe.Pointer(unsafe.SliceData(text)), at), m.step
	if table := m.grams.few; table != nil {
		for range ahead {
			hits = hits>>1 | uint64(table[fewIndex(t, 0)])<<(ahead-1)
			t = unsafe.Add(t, step)
		}
		return hits
	}
	table, gram, mask := unsafe.Pointer(unsafe.SliceData(m.grams.bits)), m.qMask, m.grams.mask
	for range ahead {
		n := word64(t, 0) & gram * mixA >> 40 & mask
		hits = hits>>1 | *(*uint64)(unsafe.Add(table, n>>6<<3))>>(n&63)&1<<(ahead-1)
		t = unsafe.Add(t, step)
	}
	return hits
}

func fewIndex(text unsafe.Pointer, at int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(text, at))[:]) * mix32 >> fewShift
}

func probeBits(text []byte, at, step int, gram uint64, table []uint64, mask uint64) (int, bool) {
	t, bits := unsafe.Pointer(unsafe.SliceData(text)), unsafe.Pointer(unsafe.SliceData(table))
	for ; at+3*step+8 <= len(text); at += 4 * step {
		a := word64(t, at) & gram * mixA >> 40 & mask
		b := word64(t, at+step) & gram * mixA >> 40 & mask
		c := word64(t, at+2*step) & gram * mixA >> 40 & mask
		d := word64(t, at+3*step) & gram * mixA >> 40 & mask
		switch {
		case bit(bits, a):
			return at, true
		case bit(bits, b):
			return at + step, true
		case bit(bits, c):
			return at + 2*step, true
		case bit(bits, d):
			return at + 3*step, true
		}
	}
	return at, false
}

func word64(text unsafe.Pointer, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(text, at))[:])
}

func bit(table unsafe.Pointer, n uint64) bool {
	return *(*uint64)(unsafe.Add(table, n>>6<<3))&(1<<(n&63)) != 0
}
