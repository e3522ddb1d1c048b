package distill

import (
	"strings"
	"sync"
)

// Estimator is the default [Tokenizer]: it estimates what o200k_base counts, without
// its vocabulary, in one pass that allocates nothing.
//
// It splits text as that tokenizer does before merging (letters by script and case,
// digits in threes, punctuation, white space) and adds up a weight for the kind and
// the length of each piece. The weights were fitted to exact counts; README.md says to
// what, and how far they are off on what they were not fitted to. For other models
// the host plugs in its own Tokenizer, as examples/tokenizer does.
type Estimator struct{}

// Name is the tokenizer that is estimated, and the version of the weights.
func (Estimator) Name() string { return "o200k_base~1" }

// Count estimates the number of tokens; it is 0 for the empty text only.
func (Estimator) Count(text string) int {
	if text == "" {
		return 0
	}
	return max(1, (counter().estimate(text)+unit/2)/unit)
}

// unit is what a weight of one token is.
const unit = 1 << 10

// automaton adds up weights byte by byte. An entry has where the next state's entries
// begin in its upper half and what the byte adds in its lower. Looking both up at
// once, without a branch, is what makes it fast; any 16 bits are an index.
type automaton struct{ table [1 << 16]uint32 }

var counter = sync.OnceValue(func() *automaton { return compile(&weights) })

// lanes is how many parts of a long text are gone through side by side, since each
// look-up has to wait for the one before it.
const (
	lanes   = 4
	minLane = 64
)

func (a *automaton) estimate(s string) int {
	total := 0
	for len(s) >= lanes*2*minLane {
		part := min(len(s), 1<<16) / lanes
		var at [lanes + 1]int
		for k := 1; k <= lanes; k++ {
			// A line end leaves the automaton as it began, whatever came before.
			from := min(len(s), at[k-1]+part/2)
			n := strings.IndexByte(s[from:min(len(s), from+2*part)], '\n')
			if n < 0 {
				return total + a.one(s)
			}
			at[k] = from + n + 1
		}
		total += a.side(s[:at[1]], s[at[1]:at[2]], s[at[2]:at[3]], s[at[3]:at[4]])
		s = s[at[4]:]
	}
	return total + a.one(s)
}

// one goes through a text.
func (a *automaton) one(s string) int { return a.from(0, s) }

// from goes on at a state.
func (a *automaton) from(state uint16, s string) (total int) {
	for i := range len(s) {
		e := a.table[state+uint16(class[s[i]])]
		total += int(int16(e))
		state = uint16(e >> 16)
	}
	return total
}

// side goes through four texts at once.
func (a *automaton) side(w, x, y, z string) int {
	n := min(len(w), len(x), len(y), len(z))
	var p, q, r, s uint16
	total := 0
	w1, x1, y1, z1 := w[:n], x[:n], y[:n], z[:n]
	for i := range n {
		e, f := a.table[p+uint16(class[w1[i]])], a.table[q+uint16(class[x1[i]])]
		g, h := a.table[r+uint16(class[y1[i]])], a.table[s+uint16(class[z1[i]])]
		total += int(int16(e)) + int(int16(f)) + int(int16(g)) + int(int16(h))
		p, q, r, s = uint16(e>>16), uint16(f>>16), uint16(g>>16), uint16(h>>16)
	}
	return total + a.from(p, w[n:]) + a.from(q, x[n:]) + a.from(r, y[n:]) + a.from(s, z[n:])
}

// compile makes the automaton of weights. Its first state is that of a text's start.
func compile(w *[pieces]int32) *automaton {
	numbers := map[state]int{}
	var all []state
	number := func(st state) uint32 {
		n, known := numbers[st]
		if !known {
			n = len(all)
			numbers[st] = n
			all = append(all, st)
		}
		return uint32(n * classes)
	}
	number(state{})
	a := new(automaton)
	for k := 0; k < len(all); k++ {
		for c := range uint8(classes) {
			var sum int32
			next := all[k].step(c, func(piece int, sign int32) { sum += sign * w[piece] })
			a.table[k*classes+int(c)] = number(next)<<16 | uint32(uint16(int16(sum)))
		}
	}
	return a
}
