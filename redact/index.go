package redact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// An index finds the forms of a fixed set in a text: at every place the longest one that begins
// there. It never changes once it is built.
//
// The filter samples the text. Let prefix be the number of bytes that all forms have at least. Of
// any prefix bytes in a row, one place in every step = prefix-q+1 begins a gram of q bytes that
// lies wholly within them. So it is enough to read one gram in every step bytes of the text and
// to find in a table whether any form has it among its first bytes, and how far from its start.
//
// The verification looks up, where the answer was yes, the forms with the first and last bytes of
// the prefix that are there, and compares them with the text.
//
// The fallback is an automaton whose cost does not depend on the text. It takes over where
// verification has cost more than a budget that grows with the text, which takes a text that was
// made to resemble the forms everywhere.
type index struct {
	forms   []target // by bucket, the longest of a bucket first
	size    int      // bytes of all forms
	longest int      // bytes of the longest form

	prefix   int     // what all forms have at least, but no more than the step needs
	step     int     // the filter reads one gram in so many bytes
	gram     uint64  // the mask of q bytes
	table    []uint8 // by hash of a gram: 0, or one more than its distance from the start of a form, or several
	shift    uint    // of a hash, to its place in table
	toBucket uint    // shift of a hash, to a bucket
	starts   []int32 // forms[starts[b]:starts[b+1]] are those of bucket b, see bucket

	slack     int // of the budget of verification at the start of a text, see workSlack
	automaton automaton
	excess    atomic.Int64 // what verification has cost beyond its budgets
}

// target is a text to be found, and the number of the marker that replaces it.
type target struct {
	text   []byte
	marker int32
}

const (
	several = math.MaxUint8 // in index.table: try every distance
	maxStep = 64

	leastTable = 15 // binary logarithms of the sizes of index.table
	mostTable  = 22

	mix = 0x9e3779b97f4a7c15 // an odd number without a pattern, for multiplicative hashing
)

func newIndex(forms []target) *index {
	x := &index{forms: forms, prefix: math.MaxInt, slack: workSlack} // without forms: longer than any text
	if len(forms) == 0 {
		return x
	}
	for _, f := range forms {
		x.prefix, x.longest, x.size = min(x.prefix, len(f.text)), max(x.longest, len(f.text)), x.size+len(f.text)
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
	x.fillBuckets()
	return x
}

func (x *index) fillTable() {
	size := min(max(leastTable, bits.Len(uint(64*x.step*len(x.forms)))), mostTable)
	x.table, x.shift = make([]uint8, 1<<size), 64-uint(size)
	for _, f := range x.forms {
		for i := range x.step {
			at := &x.table[hash(loadUpTo8(f.text, i), x.gram, x.shift)]
			if *at != 0 && *at != uint8(i+1) {
				*at = several
			} else {
				*at = uint8(i + 1)
			}
		}
	}
}

// hash is the place in a table of the gram that word begins with.
func hash(word, gram uint64, shift uint) uint64 { return word & gram * mix >> (shift & 63) }

// fillBuckets sorts the forms into buckets, each text once and for its first marker.
func (x *index) fillBuckets() {
	buckets := 2 + bits.Len(uint(len(x.forms)))
	x.toBucket, x.starts = 64-uint(buckets), make([]int32, 1<<buckets+1)
	slices.SortFunc(x.forms, func(a, b target) int {
		return cmp.Or(cmp.Compare(bucket(x, a.text, 0), bucket(x, b.text, 0)), len(b.text)-len(a.text),
			bytes.Compare(a.text, b.text), cmp.Compare(a.marker, b.marker))
	})
	x.forms = slices.CompactFunc(x.forms, func(a, b target) bool { return bytes.Equal(a.text, b.text) })
	for f, form := range x.forms {
		x.starts[bucket(x, form.text, 0)+1] = int32(f + 1)
	}
	for b := range len(x.starts) - 1 {
		x.starts[b+1] = max(x.starts[b], x.starts[b+1])
	}
}

// wipe forgets what could tell of the forms. The forms are wiped by their owner.
func (x *index) wipe() {
	clear(x.table)
	clear(x.starts)
	clear(x.automaton.nodes)
	clear(x.automaton.rows)
}

// hit is the longest form at a start.
type hit struct {
	start, end int
	marker     int32
}

// workSlack is the budget of verification at the start of a text. Each byte that the filter passes
// adds one; a try at a place costs one, and a comparison as many as the automaton could read bytes
// meanwhile. The automaton takes over when all verifications together have cost as much beyond
// their budgets as building it does.
const workSlack = 1024

// search appends the hits in text, ordered by start.
func search(x *index, text []byte, hits []hit) []hit {
	starts, work := len(text)-x.prefix+1, x.slack
	if starts <= 0 {
		return hits
	}
	for at := x.step - 1; ; at += x.step {
		before := at
		if at = suspect(x, text, at); at-x.step+1 >= starts {
			return hits
		}
		work += at - before + x.step
		distance := int(x.table[hash(loadUpTo8(text, at), x.gram, x.shift)])
		lo, hi := at+1-distance, at+2-distance
		if distance == several {
			lo, hi = at-x.step+1, at+1
		}
		for i := lo; i < min(hi, starts); i++ {
			b := bucket(x, text, i)
			work--
			for _, f := range x.forms[x.starts[b]:x.starts[b+1]] {
				work -= 2 + len(f.text)/32
				if len(f.text) <= len(text)-i && string(text[i:i+len(f.text)]) == string(f.text) {
					hits = append(hits, hit{i, i + len(f.text), f.marker})
					break
				}
			}
			if work < 0 {
				if x.automaton.built.Load() || x.excess.Add(int64(workSlack-work)) >= int64(x.size) {
					return searchAll(x, text, i+1, hits)
				}
				work = workSlack
			}
		}
	}
}

// suspect returns the next place, from at on, whose gram a form may have. If there is none, it
// returns one for which no start is left.
func suspect(x *index, text []byte, at int) int {
	table, gram, shift, step := x.table, x.gram, x.shift, x.step
	for last := len(text) - 8; at <= last && table[hash(load8(text, at), gram, shift)] == 0; {
		at += step
	}
	for at-step+x.prefix < len(text) && table[hash(loadUpTo8(text, at), gram, shift)] == 0 {
		at += step
	}
	return at
}

// bucket is a hash of the first four and the last four of the prefix bytes of text[i:].
func bucket(x *index, text []byte, i int) uint64 {
	key := uint64(binary.LittleEndian.Uint32(text[i:])) | uint64(binary.LittleEndian.Uint32(text[i+x.prefix-4:]))<<32
	return key * mix >> x.toBucket
}

func load8(text []byte, i int) uint64 { return binary.LittleEndian.Uint64(text[i:]) }

// loadUpTo8 loads text[i:i+8], with zeros for what is missing at the end of text.
func loadUpTo8(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return load8(text, i)
	}
	word := uint64(0)
	for k := len(text) - 1; k >= i; k-- {
		word = word<<8 | uint64(text[k])
	}
	return word
}
