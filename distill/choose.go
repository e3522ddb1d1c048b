package distill

import (
	"cmp"
	"context"
	"math/bits"
	"strings"

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
	numbers := map[string]int32{}
	var holders [][]int32              // of each term
	terms := make([][]int32, len(all)) // of each candidate, each once
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		for term := range termsOf(all[i].text) {
			n, known := numbers[term]
			if !known {
				n = int32(len(holders))
				numbers[term] = n
				holders = append(holders, nil)
			}
			if of := holders[n]; len(of) == 0 || of[len(of)-1] != int32(i) {
				holders[n] = append(of, int32(i))
				terms[i] = append(terms[i], n)
			}
		}
	}
	q := &queue{candidates: all, worth: make([]int64, len(all))}
	rarity := func(term int32) int64 { return logarithm(len(all)+1) - logarithm(len(holders[term])) }
	for i := range all {
		for _, term := range terms[i] {
			q.worth[i] += rarity(term)
		}
		q.offers = append(q.offers, offer{i, q.worth[i]})
	}
	for i := len(q.offers) / 2; i > 0; i-- {
		q.sink(i - 1)
	}
	covered := make([]bool, len(holders))
	for len(q.offers) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := q.offers[0]
		if now := q.worth[next.at]; now != next.worth { // something of it was taken since
			q.offers[0].worth = now
			q.sink(0)
			continue
		}
		last := len(q.offers) - 1
		q.offers[0] = q.offers[last]
		q.offers = q.offers[:last]
		q.sink(0)
		taken, more := take(next.at)
		if !more {
			return nil
		}
		if !taken {
			continue
		}
		for _, term := range terms[next.at] {
			if covered[term] {
				continue
			}
			covered[term] = true
			for _, i := range holders[term] {
				q.worth[i] -= rarity(term)
			}
		}
	}
	return nil
}

// termsOf yields what a text is compared by: its words and codes in lower case, and the pairs
// of characters of scripts that put no blank between words.
func termsOf(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for t := range text.Tokens(s) {
			if t.Kind != text.Symbol && !yield(strings.ToLower(t.Text)) {
				return
			}
		}
	}
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
	worth      []int64 // what each is worth by now
	offers     []offer
}

// price is what an offer is worth, and what it costs.
func (q *queue) price(o offer) (worth, cost int64) {
	c, n := &q.candidates[o.at], int64(len(q.candidates))
	recency := one - one/4*int64(o.at)/n
	return o.worth * recency / one * (one + logarithm(c.weight)/2), int64(min(max(c.cost, 1), 1<<22))
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
