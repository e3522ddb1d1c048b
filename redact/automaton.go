package redact

import (
	"slices"
	"sync"
	"sync/atomic"
)

// automaton is Aho and Corasick's, over the reversed forms and reading the text backwards, because
// there a state knows the longest form that starts at a place, where the usual direction knows
// those that end there. A byte of any text costs a few steps, for any forms. It
// takes 20 bytes for each byte of the forms, and is built when it is needed first.
type automaton struct {
	once  sync.Once
	built atomic.Bool
	nodes []node
	rows  [][256]int32 // of the first nodes, which are those next to the root: where each byte leads
}

// maxRows keeps the rows within a quarter of a megabyte.
const maxRows = 1 << 8

// node is a state: a suffix of some form. 0 is the empty one.
type node struct {
	child   int32 // the one that was added last, or 0
	sibling int32 // the child of the same parent that was added before, or 0
	fail    int32 // the longest proper prefix of this suffix that is a state
	best    int32 // the longest form that starts with the text read so far, or -1
	label   byte  // on the edge to this node
}

// build adds the nodes by their depth: in each round one more byte of every form, from its end.
func (a *automaton) build(x *index) {
	a.nodes = append(make([]node, 0, x.size+1), node{best: -1}) // never moved, so that no copy is left behind
	a.rows = make([][256]int32, 1, maxRows)
	states, left := make([]int32, len(x.forms)), make([]int, len(x.forms))
	for f := range left {
		left[f] = f
	}
	for depth := 1; len(left) > 0; depth++ {
		longer := left[:0]
		for _, f := range left {
			text := x.forms[f].text
			states[f] = a.extend(states[f], text[len(text)-depth])
			if len(text) > depth {
				longer = append(longer, f)
			} else {
				a.nodes[states[f]].best = int32(f)
			}
		}
		left = longer
	}
	for at := 1; at < min(maxRows, len(a.nodes)); at++ {
		row := a.rows[a.nodes[at].fail]
		for child := a.nodes[at].child; child > 0; child = a.nodes[child].sibling {
			row[a.nodes[child].label] = child
		}
		a.rows = append(a.rows, row)
	}
	a.built.Store(true)
}

// extend returns the child of a node, which it adds if it is new. All nodes above it are there.
func (a *automaton) extend(at int32, b byte) int32 {
	if child := a.child(at, b); child > 0 {
		return child
	}
	n, child := node{sibling: a.nodes[at].child, label: b}, int32(len(a.nodes))
	if at > 0 {
		n.fail = a.next(a.nodes[at].fail, b)
	} else {
		a.rows[0][b] = child
	}
	n.best = a.nodes[n.fail].best
	a.nodes[at].child = child
	a.nodes = append(a.nodes, n)
	return child
}

// child returns the child of a node, or 0.
func (a *automaton) child(at int32, b byte) int32 {
	child := a.nodes[at].child
	for child > 0 && a.nodes[child].label != b {
		child = a.nodes[child].sibling
	}
	return child
}

// next returns the state behind one more byte.
func (a *automaton) next(at int32, b byte) int32 {
	for int(at) >= len(a.rows) {
		if child := a.child(at, b); child > 0 {
			return child
		}
		at = a.nodes[at].fail
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
