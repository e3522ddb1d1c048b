package redact

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// automaton is Aho and Corasick's, over the reversed forms and reading the text backwards, because
// there a state knows the longest form that starts at a place, where the usual direction knows
// those that end there. A byte of text costs a few steps, whatever the text and the forms are. It
// takes 16 bytes for each byte of the forms, and is built when it is needed first.
type automaton struct {
	once  sync.Once
	built atomic.Bool
	nodes []node
	rows  [][256]int32 // of the first nodes, which are those next to the root: where each byte leads
}

// maxRows keeps the rows within a quarter of a megabyte.
const maxRows = 1 << 8

// node is a state: a suffix of some form. Its children follow each other.
type node struct {
	child int32 // the first one
	fail  int32 // the longest proper prefix of this suffix that is a state
	best  int32 // the longest form that starts with the text read so far, or -1
	n     uint16
	label byte // on the edge to this node
}

// build makes the nodes breadth first. A node stands for a range of the forms, sorted by their
// reverse, that have the same last bytes.
func (a *automaton) build(x *index) {
	forms := x.forms
	order := make([]int32, len(forms))
	for i := range order {
		order[i] = int32(i)
	}
	fromEnd := func(f int32, i int) byte { return forms[f].text[len(forms[f].text)-1-i] }
	slices.SortFunc(order, func(f, g int32) int {
		n, k := len(forms[f].text), len(forms[g].text)
		for i := range min(n, k) {
			if c := cmp.Compare(fromEnd(f, i), fromEnd(g, i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(n, k)
	})

	type span struct{ lo, hi int32 }
	level := []span{{0, int32(len(order))}}
	a.nodes = append(make([]node, 0, x.size+1), node{best: -1}) // never moved, so that no copy is left behind
	for depth, at := 0, int32(0); len(level) > 0; depth++ {
		var below []span
		for _, s := range level {
			n := a.nodes[at]
			n.child, n.best = int32(len(a.nodes)), a.nodes[n.fail].best
			if len(forms[order[s.lo]].text) == depth {
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
				a.nodes = append(a.nodes, child)
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
		for child := n.child; child < n.child+int32(n.n); child++ {
			if a.nodes[child].label == b {
				return child
			}
		}
		at = n.fail
	}
	return a.rows[at][b]
}

// searchAll appends the hits in text[from:], ordered by start, by the automaton.
func searchAll(x *index, text []byte, from int, hits []hit) []hit {
	a := &x.automaton
	a.once.Do(func() { a.build(x) })
	first, at, rows, nodes := len(hits), int32(0), a.rows, a.nodes
	for i := len(text) - 1; i >= from; i-- {
		if int(at) < len(rows) {
			at = rows[at][text[i]]
		} else {
			at = a.next(at, text[i])
		}
		if f := nodes[at].best; f >= 0 {
			hits = append(hits, hit{i, i + len(x.forms[f].text), x.forms[f].marker})
		}
	}
	slices.Reverse(hits[first:])
	return hits
}
