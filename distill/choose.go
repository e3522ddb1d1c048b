package distill

import (
	"cmp"
	"container/heap"
	"context"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/internal/text"
)

// passage is what one or more sources say.
type passage struct {
	text   string
	weight int // how many entries say it
	ids    []string
	tokens int
	cost   int // in tokens, with what separates it from the next

	at      int // its place among all, of which the newest comes first
	terms   []*term
	worth   int64 // by now
	offered int64 // what it was worth when it was put where it is in the queue
}

// choose offers the passages, which come newest first, to take: always the one next that is
// worth most for each token it costs, until take says that there is room for none of the
// rest. take reports whether it has taken the passage.
//
// [Extractive] says what a passage is worth. Of two that are worth the same the newer is
// first. All of it is arithmetic of integers, so that every machine decides alike.
//
// The cost is linear in the lengths of the texts, but for the logarithm of a heap.
func choose(ctx context.Context, all []passage, take func(p *passage) (taken, more bool)) error {
	terms := map[string]*term{}
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &all[i]
		_, said := facts.CutDay(p.text) // the day tells nothing of the worth
		for word, named := range wordsOf(said) {
			t := terms[word]
			if t == nil {
				t = new(term)
				terms[word] = t
			}
			t.named = t.named || named
			if n := len(t.holders); n == 0 || t.holders[n-1] != p {
				t.holders, p.terms = append(t.holders, p), append(p.terms, t)
			}
		}
	}
	q := make(queue, len(all))
	for i := range all {
		p := &all[i]
		for _, t := range p.terms {
			p.worth += t.rarity(len(all))
		}
		p.at, p.offered, q[i] = i, p.worth, p
	}
	heap.Init(&q)
	for len(q) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := q[0]
		if p.offered != p.worth { // something of it was taken since
			p.offered = p.worth
			heap.Fix(&q, 0)
			continue
		}
		heap.Pop(&q)
		taken, more := take(p)
		if !more {
			return nil
		}
		if !taken {
			continue
		}
		for _, t := range p.terms {
			rarity := t.rarity(len(all))
			for _, holder := range t.holders {
				holder.worth -= rarity
			}
			t.holders = nil // it is worth nothing any more
		}
	}
	return nil
}

// queue is a heap of passages, the best first.
type queue []*passage

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q queue) Less(i, j int) bool {
	worthX, costX := q[i].price()
	worthY, costY := q[j].price()
	return cmp.Or(cmp.Compare(worthY*costX, worthX*costY), cmp.Compare(q[i].at, q[j].at)) < 0
}

// price is what a passage was worth when it was offered, and what it costs.
func (p *passage) price() (worth, cost int64) {
	return p.offered * (one + logarithm(p.weight)/2), int64(min(max(p.cost, 1), 1<<20))
}

// Push is not called.
func (q *queue) Push(any) {}

// Pop removes the last one.
func (q *queue) Pop() any {
	*q = (*q)[:len(*q)-1]
	return nil
}

// term is a word or a number.
type term struct {
	named   bool // it is a number, or stands somewhere as a name
	holders []*passage
}

// rarity is what it is worth among so many passages.
func (t *term) rarity(passages int) int64 {
	r := logarithm(passages+1) - logarithm(max(1, len(t.holders)))
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
