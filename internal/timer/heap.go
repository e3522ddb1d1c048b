package timer

// heap is a heap by key, four children to each, so that a way down reads few cache
// lines. Items know their position in it.
type heap []spot

const children = 4

func push[T any](x *Index[T], s spot) {
	x.near = append(x.near, spot{})
	up(x, len(x.near)-1, s)
}

// remove takes out what stands at a position.
func remove[T any](x *Index[T], at int) {
	last := len(x.near) - 1
	moved := x.near[last]
	x.near = x.near[:last]
	switch {
	case at == last:
	case at > 0 && moved.key < x.near[(at-1)/children].key:
		up(x, at, moved)
	default:
		down(x, at, moved)
	}
}

// up puts s at the position at or above.
func up[T any](x *Index[T], at int, s spot) {
	h := x.near
	for at > 0 {
		parent := (at - 1) / children
		if h[parent].key <= s.key {
			break
		}
		h[at] = h[parent]
		x.at[h[at].item] = ^int32(at)
		at = parent
	}
	h[at] = s
	x.at[s.item] = ^int32(at)
}

// down puts s at the position at or below.
func down[T any](x *Index[T], at int, s spot) {
	h := x.near
	for {
		child := at*children + 1
		if child >= len(h) {
			break
		}
		for c := child + 1; c < min(at*children+1+children, len(h)); c++ {
			if h[c].key < h[child].key {
				child = c
			}
		}
		if s.key <= h[child].key {
			break
		}
		h[at] = h[child]
		x.at[h[at].item] = ^int32(at)
		at = child
	}
	h[at] = s
	x.at[s.item] = ^int32(at)
}
