package redact

import (
	"encoding/binary"
	"unsafe"
)

// gramSet is a set of grams with false positives: a table of bytes if they are
// few and of four bytes, of bits otherwise.
type gramSet struct {
	few  *fewTable
	bits []uint64
	mask uint64 // of an index into bits
}

// fewTable has a byte for each hash.
type fewTable [1 << fewBits]byte

const (
	fewBits  = 15
	fewGrams = 1 << 9
	fewShift = 32 - fewBits
)

// newGramSet has room for n grams of q bytes.
func newGramSet(n, q int) gramSet {
	if n <= fewGrams && q == 4 {
		return gramSet{few: new(fewTable)}
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

func (g *gramSet) wipe() {
	if g.few != nil {
		clear(g.few[:])
	}
	clear(g.bits)
}

// probe returns the first place from at on, in steps, where text has a gram of
// some form, or maybe so. It returns a place where no gram fits any more if there
// is none.
func (m *matcher) probe(text []byte, at int) int {
	for ; ; at += m.step {
		hit := false
		if m.grams.few != nil {
			at, hit = probeFew(text, at, m.step, m.grams.few)
		} else {
			at, hit = probeBits(text, at, m.step, m.qMask, m.grams.bits, m.grams.mask)
		}
		if !hit {
			break
		}
		if m.origins[m.originSlot(word64(unsafe.Pointer(unsafe.SliceData(text)), at))] != 0 {
			return at
		}
	}
	for at+m.q <= len(text) && m.originOf(text, at) == 0 {
		at += m.step
	}
	return at
}

// The loops below run without bounds checks, which would take as long as all the
// rest. In probeFew and probeBits, which leave the last probes to their caller, the
// condition of the outer loop bounds every access to text, and mask, which is less
// than 64*len(table), every index into the table. The caller of probeAhead sees to
// it that there is enough text. No pointer leaves the text, even unused.

func probeFew(text []byte, at, step int, table *fewTable) (int, bool) {
	t := unsafe.Pointer(unsafe.SliceData(text))
	step2, step3, step5, step6, step7 := 2*step, 3*step, 5*step, 6*step, 7*step
	_ = table[0] // so that the loop need not look whether table is nil
	for end := len(text) - step7 - 8; at <= end; at += 8 * step {
		p := unsafe.Add(t, at)
		hit := table[fewIndex(p, 0)] | table[fewIndex(p, step)] | table[fewIndex(p, step2)] | table[fewIndex(p, step3)] |
			table[fewIndex(p, 4*step)] | table[fewIndex(p, step5)] | table[fewIndex(p, step6)] | table[fewIndex(p, step7)]
		if hit != 0 {
			for table[fewIndex(t, at)] == 0 {
				at += step
			}
			return at, true
		}
	}
	return at, false
}

// one returns the entry for a gram: 1 if it is in the set, otherwise 0.
func (f *fewTable) one(text unsafe.Pointer, at int) uint32 { return uint32(f[fewIndex(text, at)]) }

// ahead is how many probes probeAhead makes.
const ahead = 64

// probeAhead returns a bit for each of the probes from at on that hits. The last
// one has to have 8 bytes of text.
func (m *matcher) probeAhead(text []byte, at int) (hits uint64) {
	base, step := unsafe.Pointer(unsafe.SliceData(text)), m.step
	if table := m.grams.few; table != nil {
		step2, step3, step5, step6, step7 := 2*step, 3*step, 5*step, 6*step, 7*step
		for range ahead / 8 {
			t := unsafe.Add(base, at)
			eight := table.one(t, 0) | table.one(t, step)<<1 | table.one(t, step2)<<2 | table.one(t, step3)<<3 |
				table.one(t, 4*step)<<4 | table.one(t, step5)<<5 | table.one(t, step6)<<6 | table.one(t, step7)<<7
			hits = hits>>8 | uint64(eight)<<(ahead-8)
			at += 8 * step
		}
		return hits
	}
	table, gram, mask := unsafe.Pointer(unsafe.SliceData(m.grams.bits)), m.qMask, m.grams.mask
	for range ahead {
		n := word64(base, at) & gram * mixA >> 40 & mask
		hits = hits>>1 | *(*uint64)(unsafe.Add(table, n>>6<<3))>>(n&63)&1<<(ahead-1)
		at += step
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
