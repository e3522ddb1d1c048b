package redact

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// fallback is what a matcher does about texts that were made to resemble the
// secrets everywhere: it changes to an automaton, whose cost does not depend on
// the text. That is Aho and Corasick's, over the reversed forms and reading the
// text backwards, because there a state knows the longest form that starts at a
// place, where the usual direction knows those that end there.
type fallback struct {
	once   sync.Once
	built  atomic.Bool
	nodes  []node
	rows   [][256]nodeState // of nodes with many children: where each byte leads
	excess atomic.Int64
}

// node is a state: a suffix of some form. Its children follow each other.
type node struct {
	first int32 // child
	fail  int32
	best  int32 // the longest form that starts with the text read so far, or -1
	row   int32 // in rows, or -1
	n     uint8 // children, if there is no row
	label byte  // on the edge to this node
}

// nodeState is a node and, in the upper half, one more than its row, or 0. With that
// at hand, a byte costs one access to memory where it leads from row to row.
type nodeState uint64

// fewChildren is how many are searched one by one.
const fewChildren = 2

func (a *fallback) wipe() {
	clear(a.nodes)
	clear(a.rows)
}

// Sampling has a budget: one unit for each byte of text it has passed, and
// workSlack. Once that is spent, the automaton takes over if it exists already.
// It is built when scans have spent more beyond their budgets than it costs.
const workSlack = 4096

// overdrawn reports whether the automaton is to take over from a scan that has
// spent its budget. If not it grants some more.
func (s *scan) overdrawn() bool {
	m := s.m
	spent := workSlack - s.work
	if !m.built.Load() && m.excess.Add(int64(spent)) < int64(4*len(m.arena)) {
		s.work = workSlack
		return false
	}
	s.dense = densePool.Get().(*dense)
	return true
}

// dense is a stretch of text that the automaton has been through.
type dense struct {
	from int
	best []int32 // for the starts from from on
}

var densePool = sync.Pool{New: func() any { return new(dense) }}

// findDense is find by means of the automaton.
func (s *scan) findDense() bool {
	d := s.dense
	for s.pos < s.limit {
		if n := s.pos - d.from; n < 0 || n >= len(d.best) {
			s.m.through(d, s.text, s.pos, s.limit)
		}
		best := d.best[s.pos-d.from:]
		for i, f := range best {
			if f >= 0 {
				i += s.pos
				s.pos = i + 1
				s.queue[0], s.tail = found{i, s.m.forms[f].place}, 1
				return true
			}
		}
		s.pos += len(best)
	}
	s.close()
	return false
}

// close gives back what the scan has borrowed.
func (s *scan) close() {
	if s.dense != nil {
		s.dense.best = s.dense.best[:0]
		densePool.Put(s.dense)
		s.dense = nil
		s.limit = 0
	}
}

// through reads a stretch of text from pos on: both halves at once, since each
// access to memory has to wait for the one before it in the same half.
func (m *matcher) through(d *dense, text []byte, pos, limit int) {
	m.once.Do(m.buildAutomaton)
	n := min(limit-pos, max(1<<14, 4*m.longest))
	d.from, d.best = pos, slices.Grow(d.best[:0], n)[:n]
	half := (n + 1) / 2 // of an odd number both halves have the middle
	x, y := m.before(text, pos+half), m.before(text, pos+n)
	left, right := text[pos:][:half], text[pos+n-half:][:half]
	leftBest, rightBest := d.best[:half], d.best[n-half:]
	for i := half - 1; i >= 0; i-- {
		if row := x >> 32; row != 0 {
			x = m.rows[row-1][left[i]]
		} else {
			x = m.advance(x, left[i])
		}
		if row := y >> 32; row != 0 {
			y = m.rows[row-1][right[i]]
		} else {
			y = m.advance(y, right[i])
		}
		leftBest[i], rightBest[i] = m.nodes[uint32(x)].best, m.nodes[uint32(y)].best
	}
}

// before is the state in which the automaton comes to text[:end].
func (m *matcher) before(text []byte, end int) nodeState {
	at := m.stateOf(0)
	for i := min(len(text), end+m.longest) - 1; i >= end; i-- {
		at = m.advance(at, text[i])
	}
	return at
}

func (a *fallback) advance(at nodeState, c byte) nodeState {
	for {
		s := &a.nodes[uint32(at)]
		if s.row >= 0 {
			return a.rows[s.row][c]
		}
		for child := s.first; child < s.first+int32(s.n); child++ {
			if a.nodes[child].label == c {
				return a.stateOf(child)
			}
		}
		at = nodeState(s.fail)
	}
}

func (a *fallback) stateOf(node int32) nodeState {
	return nodeState(a.nodes[node].row+1)<<32 | nodeState(node)
}

// addRow gives a node, whose children are the last nodes, a row. The root has
// one in any case.
func (a *fallback) addRow(node int32) {
	var row [256]nodeState
	s := &a.nodes[node]
	if node != 0 {
		for c := range row {
			row[c] = a.advance(nodeState(s.fail), byte(c))
		}
	}
	for child := int(s.first); child < len(a.nodes); child++ {
		row[a.nodes[child].label] = nodeState(child)
	}
	s.row = int32(len(a.rows))
	a.rows = append(grow(a.rows, 1), row)
}

// buildAutomaton makes the nodes breadth first. A node stands for a range of the
// forms, sorted by their reverse, that have the same last bytes.
func (m *matcher) buildAutomaton() {
	order := make([]int32, len(m.forms))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int {
		n, k := int(m.forms[x].len), int(m.forms[y].len)
		for i := range min(n, k) {
			if c := cmp.Compare(m.fromEnd(x, i), m.fromEnd(y, i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(n, k)
	})

	type span struct{ lo, hi int32 }
	spans := []span{{0, int32(len(order))}}
	m.nodes = append(grow(m.nodes, len(m.forms)), node{best: -1, row: -1})
	for depth, level := 0, 0; level < len(m.nodes); depth++ {
		for next := len(m.nodes); level < next; level++ {
			lo, hi := spans[level].lo, spans[level].hi
			s := m.nodes[level]
			s.first, s.best = int32(len(m.nodes)), m.nodes[s.fail].best
			if f := order[lo]; int(m.forms[f].len) == depth {
				s.best = f
				lo++
			}
			for lo < hi {
				child := node{label: m.fromEnd(order[lo], depth), row: -1}
				end := lo
				for end < hi && m.fromEnd(order[end], depth) == child.label {
					end++
				}
				if level > 0 {
					child.fail = int32(uint32(m.advance(nodeState(s.fail), child.label)))
				}
				m.nodes = append(grow(m.nodes, 1), child)
				spans = append(spans, span{lo, end})
				lo = end
			}
			n := len(m.nodes) - int(s.first)
			s.n = uint8(min(n, fewChildren))
			m.nodes[level] = s
			if level == 0 || n > fewChildren {
				m.addRow(int32(level))
			}
		}
	}
	for r := range m.rows { // now that all rows are known
		for c, s := range m.rows[r] {
			m.rows[r][c] = m.stateOf(int32(uint32(s)))
		}
	}
	m.built.Store(true)
}

// fromEnd is byte i of a form, counted from its end.
func (m *matcher) fromEnd(f int32, i int) byte {
	p := &m.forms[f].place
	return m.arena[p.from+int(p.len)-1-i]
}
