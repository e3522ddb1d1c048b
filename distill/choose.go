package distill

import (
	"cmp"
	"context"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/text"
)

// candidate is a text that [choose] may take.
type candidate struct {
	text   string
	weight int // how many entries say it
	cost   int // in tokens
}

// choose offers the candidates, which come newest first, to take: always the one next that is
// worth most for each token it costs, until take says that there is room for none of the
// rest. take reports whether it has taken the candidate.
//
// [Extractive] says what a candidate is worth. Of two that are worth the same the newer is
// first. All of it is arithmetic of integers, so that every machine decides alike.
//
// The cost is linear in the lengths of the texts, but for the logarithm of a heap.
func choose(ctx context.Context, all []candidate, take func(i int) (taken, more bool)) error {
	terms := map[string]*term{}
	held := make([][]*term, len(all)) // by each candidate, each once
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		for word, named := range wordsOf(all[i].text) {
			t := terms[word]
			if t == nil {
				t = new(term)
				terms[word] = t
			}
			t.named = t.named || named
			if n := len(t.holders); n == 0 || t.holders[n-1] != int32(i) {
				t.holders, held[i] = append(t.holders, int32(i)), append(held[i], t)
			}
		}
	}
	worth := make([]int64, len(all)) // by now
	q := &queue{candidates: all}
	for i := range all {
		for _, t := range held[i] {
			worth[i] += t.rarity(len(all))
		}
		q.offers = append(q.offers, offer{i, worth[i]})
	}
	for i := len(all) / 2; i > 0; i-- {
		q.sink(i - 1)
	}
	for len(q.offers) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		at, last := q.offers[0].at, len(q.offers)-1
		if now := worth[at]; now != q.offers[0].worth { // something of it was taken since
			q.offers[0].worth = now
			q.sink(0)
			continue
		}
		q.offers[0] = q.offers[last]
		q.offers = q.offers[:last]
		q.sink(0)
		taken, more := take(at)
		if !more {
			return nil
		}
		if !taken {
			continue
		}
		for _, t := range held[at] {
			rarity := t.rarity(len(all))
			for _, i := range t.holders {
				worth[i] -= rarity
			}
			t.holders = nil // it is worth nothing any more
		}
	}
	return nil
}

// term is a word or a number.
type term struct {
	named   bool    // it is a number, or stands somewhere as a name
	holders []int32 // candidates
}

// rarity is what it is worth among so many candidates.
func (t *term) rarity(candidates int) int64 {
	r := logarithm(candidates+1) - logarithm(max(1, len(t.holders)))
	if t.named {
		r *= 4
	}
	return r
}

// wordsOf yields what a text is compared by: its words and codes in lower case, and the pairs
// of characters of scripts that put no blank between words. named tells numbers and other codes,
// and words that have a capital letter though no sentence begins with them.
func wordsOf(s string) func(yield func(word string, named bool) bool) {
	return func(yield func(string, bool) bool) {
		for t := range text.Tokens(s) {
			if t.Kind == text.Symbol {
				continue
			}
			first, size := utf8.DecodeRuneInString(t.Text)
			named := t.Kind == text.Code || unicode.IsUpper(first) && len(t.Text) > size && !begins(s[:t.At])
			if !yield(strings.ToLower(t.Text), named) {
				return
			}
		}
	}
}

// begins reports whether a sentence begins behind a text.
func begins(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Ps, unicode.Pi, unicode.Pf, unicode.Pd) || strings.ContainsRune(`"'*•`, r)
	})
	last, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || strings.ContainsRune(".!?:…。", last)
}

// one is the fixed point of what [logarithm] returns.
const one = 1 << 8

// logarithm is that of n to the base 2, for n of at least 1, linear between its powers.
func logarithm(n int) int64 {
	whole := bits.Len(uint(n)) - 1
	return int64(whole)*one + int64(uint(n)<<(bits.UintSize-1-whole)<<1>>(bits.UintSize-8))
}

// offer is a candidate with what it was worth when it was put where it is in the queue.
type offer struct {
	at    int
	worth int64
}

// queue is a heap of offers, the best first.
type queue struct {
	candidates []candidate
	offers     []offer
}

// sink puts an offer that may be too far in front where it belongs.
func (q *queue) sink(at int) {
	for {
		best := at
		for next := 2*at + 1; next <= 2*at+2 && next < len(q.offers); next++ {
			if q.before(q.offers[next], q.offers[best]) {
				best = next
			}
		}
		if best == at {
			return
		}
		q.offers[at], q.offers[best] = q.offers[best], q.offers[at]
		at = best
	}
}

func (q *queue) before(x, y offer) bool {
	worthX, costX := q.price(x)
	worthY, costY := q.price(y)
	return cmp.Or(cmp.Compare(worthY*costX, worthX*costY), cmp.Compare(x.at, y.at)) < 0
}

// price is what an offer is worth, and what it costs.
func (q *queue) price(o offer) (worth, cost int64) {
	c := &q.candidates[o.at]
	return o.worth * (one + logarithm(c.weight)/2), int64(min(max(c.cost, 1), 1<<20))
}
