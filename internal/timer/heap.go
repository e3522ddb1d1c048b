package timer

// heap is a heap by key, four children to each, so that a way down reads few cache
// lines.
type heap []spot

const children = 4

func (h *heap) push(s spot) {
	*h = append(*h, s)
	list, at := *h, len(*h)-1
	for at > 0 {
		parent := (at - 1) / children
		if list[parent].key <= s.key {
			break
		}
		list[at] = list[parent]
		at = parent
	}
	list[at] = s
}

// pop takes the earliest off.
func (h *heap) pop() spot {
	list := *h
	top, s := list[0], list[len(list)-1]
	list = list[:len(list)-1]
	*h = list
	if len(list) == 0 {
		return top
	}
	at := 0
	for {
		child := at*children + 1
		if child >= len(list) {
			break
		}
		for c := child + 1; c < min(at*children+1+children, len(list)); c++ {
			if list[c].key < list[child].key {
				child = c
			}
		}
		if s.key <= list[child].key {
			break
		}
		list[at] = list[child]
		at = child
	}
	list[at] = s
	return top
}
