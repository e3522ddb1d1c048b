package timer

// heap is a heap of nodes by key, four children to each, so that a way down reads
// few cache lines. Nodes know their position in it.
type heap []spot

type spot struct {
	key  uint64
	node int32
}

const children = 4

func (h *heap) push(nodes []node, i int32) {
	*h = append(*h, spot{})
	h.up(nodes, len(*h)-1, spot{nodes[i].key, i})
	nodes[i].slot = inHeap
}

// remove takes out the node at position p.
func (h *heap) remove(nodes []node, p int32) {
	last := len(*h) - 1
	moved := (*h)[last]
	*h = (*h)[:last]
	switch at := int(p); {
	case at == last:
	case at > 0 && moved.key < (*h)[(at-1)/children].key:
		h.up(nodes, at, moved)
	default:
		h.down(nodes, at, moved)
	}
}

// up puts s at the position at or above.
func (h *heap) up(nodes []node, at int, s spot) {
	for at > 0 {
		parent := (at - 1) / children
		if (*h)[parent].key <= s.key {
			break
		}
		h.set(nodes, at, (*h)[parent])
		at = parent
	}
	h.set(nodes, at, s)
}

// down puts s at the position at or below.
func (h *heap) down(nodes []node, at int, s spot) {
	n := len(*h)
	for {
		child := at*children + 1
		if child >= n {
			break
		}
		for c := child + 1; c < min(at*children+1+children, n); c++ {
			if (*h)[c].key < (*h)[child].key {
				child = c
			}
		}
		if s.key <= (*h)[child].key {
			break
		}
		h.set(nodes, at, (*h)[child])
		at = child
	}
	h.set(nodes, at, s)
}

func (h *heap) set(nodes []node, at int, s spot) {
	(*h)[at] = s
	nodes[s.node].prev = int32(at)
}
