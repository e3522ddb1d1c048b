package consolidate

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
)

// sets are many sets of 64-bit tokens, one after another in one slice.
type sets struct {
	tokens []uint64
	start  []uint32 // of each set; one more than there are sets
}

func (s *sets) of(i int) []uint64 { return s.tokens[s.start[i]:s.start[i+1]] }
func (s *sets) len() int          { return len(s.start) - 1 }

// tokenBits are the bits of a token that stay when its rarity is put above them.
const tokenBits = 48

// posting says that a set has a token among its rarest.
type posting struct {
	token uint64
	set   uint32
}

// join finds the pairs of sets whose Jaccard similarity is at least threshold, by an
// exact prefix filter: two such sets share one of their rarest tokens, so that only
// sets which do are compared. Rarity is what makes it quick where texts share
// boilerplate: by any other order the boilerplate would be what sets are found by.
//
// It rewrites the tokens. A token that more than widest sets have among their rarest
// finds no pairs, which bounds the work; 0 sets no bound and makes the join exact.
func join(ctx context.Context, s *sets, threshold float64, workers, widest int) ([]Pair, error) {
	s.rank(workers)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Each worker takes the tokens of one residue class, whole postings lists of them.
	found := make([][]Pair, workers)
	parallel(workers, func(w int) {
		found[w] = s.probe(ctx, s.postings(threshold, uint64(w), uint64(workers)), threshold, widest)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if workers == 1 {
		return found[0], nil
	}
	return slices.Concat(found...), nil
}

// rank replaces each token by one that sorts by rarity first, and sorts the sets.
func (s *sets) rank(workers int) {
	// Counters are shared by tokens of equal low bits: counts are upper bounds, and
	// any order that is the same for all sets keeps the join exact.
	cells := 1 << bits.Len(uint(max(len(s.tokens), 1)))
	counts := make([]uint16, cells)
	mask := uint64(cells - 1)
	each := (uint64(cells) + uint64(workers) - 1) / uint64(workers)
	parallel(workers, func(w int) {
		// Each worker counts in a range of its own, so that no counter is shared.
		from, to := uint64(w)*each, min(uint64(w+1)*each, uint64(cells))
		for _, t := range s.tokens {
			if c := t & mask; c >= from && c < to && counts[c] != 1<<16-1 {
				counts[c]++
			}
		}
	})
	n := s.len()
	parallel(workers, func(w int) {
		for i := w * n / workers; i < (w+1)*n/workers; i++ {
			set := s.of(i)
			for k, t := range set {
				set[k] = uint64(counts[t&mask])<<tokenBits | t>>(64-tokenBits)
			}
			slices.Sort(set)
		}
	})
}

// prefix is how many of the rarest tokens of a set of n one must look at: a set that
// is similar enough and shares none of them cannot be.
func prefix(n int, threshold float64) int { return n - ceil(threshold*float64(n)) + 1 }

// ceil rounds up, but not because of a rounding error.
func ceil(x float64) int {
	n := int(x)
	if x-float64(n) > 1e-9 {
		n++
	}
	return n
}

// postings are the rarest tokens of every set that some other set may have too, in
// order, of one residue class.
func (s *sets) postings(threshold float64, class, classes uint64) []posting {
	wanted := func(t uint64) bool { return t>>tokenBits > 1 && (classes == 1 || t%classes == class) }
	n := 0
	for i := range s.len() {
		set := s.of(i)
		for _, t := range set[:min(len(set), prefix(len(set), threshold))] {
			if wanted(t) {
				n++
			}
		}
	}
	list := make([]posting, 0, n)
	for i := range s.len() {
		set := s.of(i)
		for _, t := range set[:min(len(set), prefix(len(set), threshold))] {
			if wanted(t) {
				list = append(list, posting{t, uint32(i)})
			}
		}
	}
	slices.SortFunc(list, func(a, b posting) int {
		if a.token != b.token {
			return cmp.Compare(a.token, b.token)
		}
		return cmp.Compare(a.set, b.set)
	})
	return list
}

// probe compares the sets that share a posting.
func (s *sets) probe(ctx context.Context, list []posting, threshold float64, widest int) []Pair {
	var found []Pair
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].token == list[0].token {
			n++
		}
		group := list[:n]
		list = list[n:]
		if n == 1 || (widest > 0 && n > widest) {
			continue
		}
		if n > 64 && ctx.Err() != nil {
			return nil
		}
		for i := range group {
			for k := i + 1; k < n; k++ {
				a, b := group[i].set, group[k].set
				if a == b {
					continue
				}
				// Two sets may meet at several tokens; the first of them counts.
				if j := jaccard(s.of(int(a)), s.of(int(b)), group[0].token, threshold); j >= threshold {
					found = append(found, Pair{A: int(a), B: int(b), Similarity: j})
				}
			}
		}
	}
	return found
}

// jaccard is the similarity of two sorted sets that meet at the token first; 0 if it
// is certain to be below the threshold, or if they meet before.
func jaccard(a, b []uint64, first uint64, threshold float64) float64 {
	if float64(min(len(a), len(b))) < threshold*float64(max(len(a), len(b)))-1e-9 {
		return 0
	}
	need := ceil(threshold * float64(len(a)+len(b)) / (1 + threshold))
	common, i, k := 0, 0, 0
	for i < len(a) && k < len(b) {
		switch {
		case a[i] < b[k]:
			i++
		case a[i] > b[k]:
			k++
		default:
			if common == 0 && a[i] != first {
				return 0
			}
			common++
			i++
			k++
			continue
		}
		if common+min(len(a)-i, len(b)-k) < need {
			return 0
		}
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// parallel runs f for each of n workers and waits.
func parallel(n int, f func(worker int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() { f(w) })
	}
	wg.Wait()
}
