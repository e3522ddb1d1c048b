package redact

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// An index finds the forms of a fixed set in a text: at every place the longest one
// that begins there. It never changes once it is built.
//
// It samples the text. Let prefix be the number of bytes that all forms have at least.
// Of any prefix bytes in a row, one place in every step = prefix-q+1 begins a gram of q
// bytes that lies wholly within them. So it is enough to look at one gram in every step
// bytes of the text and to ask a table whether any form has it among its first bytes,
// and how far from its start. Only where the answer is yes, the forms are looked up by
// their first and last bytes within the prefix, and compared.
//
// Looking up has a budget that grows with the text. Where it is spent, which takes a
// text that was made to resemble the forms everywhere, an automaton takes over whose
// cost does not depend on the text.
type index struct {
	arena []byte // all forms, one behind another
	forms []form // by slot, sorted within
	fold  *[256]byte
	low   uint64 // set in each byte that is hashed, so that folded bytes hash alike

	prefix  int // what all forms have at least, but no more than the step needs
	longest int
	step    int
	gram    uint64  // the mask of q bytes
	table   []uint8 // by hash of a gram: 0, or one more than its distance from the start of a form, or several
	shift   uint    // of a hash, to its place in table
	slots   []slot  // hash table of the forms, by key
	toSlot  uint    // shift of a hash, to its place in slots

	automaton automaton
	excess    atomic.Int64 // what lookups have cost beyond their budgets
}

// form is one text to be found.
type form struct {
	from, len int
	id        int32 // in matcher.ids
	parent    int32 // the longest other form that this one begins with, or -1
}

// slot refers to the forms with one key: forms[lo:hi]. It is free if hi is 0.
type slot struct {
	key    uint64
	lo, hi int32
	cost   int // of looking among them, in bytes of text that could be passed in the same time
}

const (
	several = math.MaxUint8 // in index.table: look at every distance
	maxStep = 64

	leastTable = 1 << 12
	mostTable  = 1 << 22

	mix = 0x9e3779b97f4a7c15 // an odd number without a pattern, for multiplicative hashing
)

// newIndex returns the index of forms in arena. A fold maps every byte of a text before
// it is compared; the forms must consist of bytes that fold to themselves.
func newIndex(arena []byte, forms []form, fold *[256]byte) *index {
	x := &index{arena: arena, forms: forms, fold: fold}
	if len(forms) == 0 {
		x.prefix = math.MaxInt // longer than any text
		return x
	}
	if fold != nil {
		x.low = 0x2020202020202020
	}
	x.prefix = math.MaxInt
	for _, f := range forms {
		x.prefix, x.longest = min(x.prefix, f.len), max(x.longest, f.len)
	}
	q := 4
	switch { // the more grams there are, the rarer each has to be in text
	case x.prefix >= 12 && len(forms)*min(x.prefix, maxStep) > 512:
		q = 6
	case x.prefix < 12 && len(forms) <= 16:
		q = 3
	}
	x.prefix = min(x.prefix, maxStep+q-1)
	x.step, x.gram = x.prefix-q+1, 1<<(8*q)-1
	x.fillTable()
	x.fillSlots()
	return x
}

func (x *index) folded(b byte) byte {
	if x.fold != nil {
		return x.fold[b]
	}
	return b
}

func (x *index) bytes(f *form) []byte { return x.arena[f.from : f.from+f.len] }

func (x *index) fillTable() {
	size := leastTable
	for size < 64*x.step*len(x.forms) && size < mostTable {
		size *= 2
	}
	x.table, x.shift = make([]uint8, size), 64-uint(bits.TrailingZeros(uint(size)))
	for i := range x.forms {
		text := x.bytes(&x.forms[i])
		for j := range x.step {
			at := &x.table[hash(loadUpTo8(text, j), x.low, x.gram, x.shift)]
			if *at != 0 && *at != uint8(j+1) {
				*at = several
			} else {
				*at = uint8(j + 1)
			}
		}
	}
}

// hash is the place in a table of the gram that word begins with. It takes the fields of
// an index one by one, so that a loop keeps them in registers.
func hash(word, low, gram uint64, shift uint) uint64 {
	return (word | low) & gram * mix >> (shift & 63)
}

// fillSlots sorts the forms into slots, each text once and for its first id, and links
// those that begin with another.
func (x *index) fillSlots() {
	keys := make(map[uint64]int32, len(x.forms)) // the number of the key, in order of appearance
	number := make([]int32, len(x.forms))
	for i := range x.forms {
		key := keyOf(x, x.bytes(&x.forms[i]), 0)
		n, ok := keys[key]
		if !ok {
			n = int32(len(keys))
			keys[key] = n
		}
		number[i] = n
	}
	from := make([]int32, len(keys)+1)
	for _, n := range number {
		from[n+1]++
	}
	for n := 1; n < len(from); n++ {
		from[n] += from[n-1]
	}
	sorted, next := make([]form, len(x.forms)), slices.Clone(from)
	for i, n := range number {
		sorted[next[n]] = x.forms[i]
		next[n]++
	}
	size := 2
	for size < 2*len(keys) {
		size *= 2
	}
	x.slots, x.toSlot = make([]slot, size), 64-uint(bits.TrailingZeros(uint(size)))
	x.forms = x.forms[:0]
	for n := range len(keys) {
		list := sorted[from[n]:from[n+1]]
		if len(list) > 1 {
			slices.SortFunc(list, func(a, b form) int {
				return cmp.Or(bytes.Compare(x.bytes(&a), x.bytes(&b)), cmp.Compare(a.id, b.id))
			})
			list = slices.CompactFunc(list, func(a, b form) bool { return bytes.Equal(x.bytes(&a), x.bytes(&b)) })
		}
		lo := int32(len(x.forms))
		x.forms = append(x.forms, list...)
		x.place(slot{key: keyOf(x, x.bytes(&list[0]), 0), lo: lo, hi: int32(len(x.forms))})
	}
}

// place links the forms of a slot and puts it into the table.
func (x *index) place(s slot) {
	longest, deepest := 0, 0
	depth := make([]int, s.hi-s.lo)
	for f := s.lo; f < s.hi; f++ {
		p := f - 1
		for p >= s.lo && !bytes.HasPrefix(x.bytes(&x.forms[f]), x.bytes(&x.forms[p])) {
			p = x.forms[p].parent
		}
		if x.forms[f].parent = -1; p >= s.lo {
			x.forms[f].parent = p
			depth[f-s.lo] = depth[p-s.lo] + 1
		}
		longest, deepest = max(longest, x.forms[f].len), max(deepest, depth[f-s.lo])
	}
	s.cost = 2 + (deepest+bits.Len(uint(s.hi-s.lo)))*(1+longest/32)
	i := s.key * mix >> x.toSlot
	for x.slots[i].hi != 0 {
		i = (i + 1) & uint64(len(x.slots)-1)
	}
	x.slots[i] = s
}

// textual is what can be searched without a copy.
type textual interface{ string | []byte }

// keyOf is made of the first four and the last four of the prefix bytes of text[i:].
func keyOf[T textual](x *index, text T, i int) uint64 {
	return (uint64(load4(text, i)) | uint64(load4(text, i+x.prefix-4))<<32) | x.low
}

// slotAt returns the slot of the forms that may begin text[i:], nil if there is none.
// At least prefix bytes are there.
func slotAt[T textual](x *index, text T, i int) *slot {
	key := keyOf(x, text, i)
	for n := key * mix >> x.toSlot; ; n = (n + 1) & uint64(len(x.slots)-1) {
		if s := &x.slots[n]; s.hi == 0 {
			return nil
		} else if s.key == key {
			return s
		}
	}
}

// longestOf returns the longest form of a slot that text[i:] begins with, or -1. It is
// the last form that does not sort behind the text, or one which that begins with.
func longestOf[T textual](x *index, s *slot, text T, i int) int32 {
	f, hi := s.lo, s.hi
	for hi-f > 1 {
		if mid := f + (hi-f)/2; compare(x, &x.forms[mid], text, i) <= 0 {
			f = mid
		} else {
			hi = mid
		}
	}
	for f >= 0 && (x.forms[f].len > len(text)-i || compare(x, &x.forms[f], text, i) != 0) {
		f = x.forms[f].parent
	}
	return f
}

// compare compares a form with as much of text[i:].
func compare[T textual](x *index, f *form, text T, i int) int {
	form := x.bytes(f)
	n := min(len(form), len(text)-i)
	if x.fold == nil {
		switch {
		case string(form[:n]) == string(text[i:i+n]):
			return cmp.Compare(len(form), n)
		case string(form[:n]) < string(text[i:i+n]):
			return -1
		}
		return 1
	}
	for k, b := range form[:n] {
		if c := cmp.Compare(b, x.fold[text[i+k]]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(form), n)
}

func load4[T textual](text T, i int) uint32 {
	b := text[i : i+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func load8[T textual](text T, i int) uint64 {
	b := text[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// loadUpTo8 is load8 with zeros for what is missing at the end of text.
func loadUpTo8[T textual](text T, i int) uint64 {
	if i+8 <= len(text) {
		return load8(text, i)
	}
	word := uint64(0)
	for k := len(text) - 1; k >= i; k-- {
		word = word<<8 | uint64(text[k])
	}
	return word
}
