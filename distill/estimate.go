package distill

import (
	_ "embed"
	"math/bits"
)

// Estimator is the default [Tokenizer]: it estimates what o200k_base counts, without
// its vocabulary, in one pass that allocates nothing.
//
// It splits text as that tokenizer does before merging, and adds up three weights for each piece:
// of its shape and length, of what the words before it tell of its language, and of its last
// letters. The weights were fitted to exact counts of one half of some 4,000 files of 46 kinds of
// code, data and prose in 25 languages; on the other half no kind is off by more than 10 %, and
// few by more than 5 %. A short text, and one in a script that it has not seen (Armenian, Georgian,
// Ethiopic, Tibetan), may be further off. README.md of this package has the figures of each kind,
// and the commands. For exact counts and for other models the host plugs in its own Tokenizer, as
// examples/tokenizer does.
type Estimator struct{}

// Name is the tokenizer that is estimated, and the version of the weights.
func (Estimator) Name() string { return "o200k_base~3" }

// Count estimates the number of tokens; it is 0 for the empty text only.
func (Estimator) Count(text string) int {
	if text == "" {
		return 0
	}
	total := 0
	split(text, func(p piece) {
		for _, slot := range p {
			total += weight(slot)
		}
	})
	return max(1, (total+unit/2)/unit)
}

const (
	unit      = 1 << 10 // what a weight of one token is
	slotBits  = 12
	slotCount = 3 << slotBits // a third of them for each weight of a piece
)

// weights are made by TestCalibrate: two bytes for each slot, the lower first.
//
//go:embed weights.bin
var weights string

func weight(slot int) int {
	return int(int16(uint16(weights[2*slot]) | uint16(weights[2*slot+1])<<8))
}

// piece is where the three weights of a piece are.
type piece [3]int

// slot is where a weight of one of the three kinds is, for features that are small numbers.
func slot(kind int, features ...uint32) int {
	h := uint32(0)
	for _, x := range features {
		h = (h ^ x) * 0x9e3779b1
	}
	return kind<<slotBits | int(h>>(32-slotBits))
}

// level is about how many times a number doubles.
func level(n int) uint32 { return uint32(bits.Len(uint(n))) }
