package redact

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// automaton is Aho and Corasick's, over the reversed forms and reading the text
// backwards, because there a state knows the longest form that starts at a place, where
// the usual direction knows those that end there. A byte of text costs a few steps,
// whatever the text and the forms are. It takes 16 bytes for each byte of the forms, and
// is built when it is needed first.
type automaton struct {
	once  sync.Once
	built atomic.Bool
	nodes []node
	rows  [][256]int32 // of the first nodes, which are those next to the root: where each byte leads
}

// maxRows keeps the rows within a quarter of a megabyte.
const maxRows = 1 << 8

// node is a state: a suffix of some form. Its children follow each other, sorted by
// their labels.
type node struct {
	child int32 // the first one
	fail  int32 // the longest proper prefix of this suffix that is a state
	best  int32 // the longest form that starts with the text read so far, or -1
	n     uint16
	label byte // on the edge to this node
}

// build makes the nodes breadth first. A node stands for a range of the forms, sorted by
// their reverse, that have the same last bytes.
func (a *automaton) build(x *index) {
	fromEnd := func(f int32, i int) byte {
		p := &x.forms[f]
		return x.arena[p.from+p.len-1-i]
	}
	order := make([]int32, len(x.forms))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(f, g int32) int {
		n, k := x.forms[f].len, x.forms[g].len
		for i := range min(n, k) {
			if c := cmp.Compare(fromEnd(f, i), fromEnd(g, i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(n, k)
	})

	type span struct{ lo, hi int32 }
	level := []span{{0, int32(len(order))}}
	a.nodes = append(a.nodes, node{best: -1})
	for depth, at := 0, int32(0); len(level) > 0; depth++ {
		var below []span
		for _, s := range level {
			n := a.nodes[at]
			n.child, n.best = int32(len(a.nodes)), a.nodes[n.fail].best
			if x.forms[order[s.lo]].len == depth {
				n.best = order[s.lo]
				s.lo++
			}
			for s.lo < s.hi {
				child := node{label: fromEnd(order[s.lo], depth), best: -1}
				end := s.lo
				for end < s.hi && fromEnd(order[end], depth) == child.label {
					end++
				}
				if at > 0 {
					child.fail = a.next(n.fail, child.label)
				}
				a.nodes = append(grow(a.nodes, 1), child)
				below = append(below, span{s.lo, end})
				s.lo = end
				n.n++
			}
			a.nodes[at] = n
			if at < maxRows {
				a.addRow(n)
			}
			at++
		}
		level = below
	}
	a.built.Store(true)
}

// addRow adds the row of a node whose children are there.
func (a *automaton) addRow(n node) {
	var row [256]int32
	if len(a.rows) > 0 {
		row = a.rows[n.fail]
	}
	for child := n.child; child < n.child+int32(n.n); child++ {
		row[a.nodes[child].label] = child
	}
	a.rows = append(a.rows, row)
}

// next returns the state behind one more byte.
func (a *automaton) next(at int32, b byte) int32 {
	for int(at) >= len(a.rows) {
		n := &a.nodes[at]
		lo, hi := n.child, n.child+int32(n.n)
		for hi-lo > 4 {
			if mid := (lo + hi) / 2; a.nodes[mid].label <= b {
				lo = mid
			} else {
				hi = mid
			}
		}
		for ; lo < hi; lo++ {
			if a.nodes[lo].label == b {
				return lo
			}
		}
		at = n.fail
	}
	return a.rows[at][b]
}

// through returns the longest form at each start in a stretch of the text from pos on.
func through[T textual](c *cursor[T], pos int) []int32 {
	x, a := c.x, &c.x.automaton
	a.once.Do(func() { a.build(x) })
	n := min(c.limit-pos, max(1<<12, 4*x.longest))
	best := slices.Grow(c.best[:0], n)[:n]
	at, rows, nodes, stretch := int32(0), a.rows, a.nodes, c.text[pos:]
	for i := min(len(stretch), n+x.longest) - 1; i >= n; i-- {
		at = a.next(at, x.folded(stretch[i]))
	}
	for i := n - 1; i >= 0; i-- {
		if b := x.folded(stretch[i]); int(at) < len(rows) {
			at = rows[at][b]
		} else {
			at = a.next(at, b)
		}
		best[i] = nodes[at].best
	}
	return best
}
