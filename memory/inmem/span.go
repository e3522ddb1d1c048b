package inmem

import "slices"

// span is the versions from one to before another.
type span struct{ from, to uint64 }

// spans are apart from each other and ascend.
type spans []span

func (ss spans) contain(v uint64) bool {
	_, found := slices.BinarySearchFunc(ss, v, func(s span, v uint64) int {
		switch {
		case s.to <= v:
			return -1
		case s.from > v:
			return 1
		}
		return 0
	})
	return found
}

// with returns the union of ss and s.
func (ss spans) with(s span) spans {
	if s.from >= s.to {
		return ss
	}
	i := 0
	for i < len(ss) && ss[i].to < s.from {
		i++
	}
	j := i
	for j < len(ss) && ss[j].from <= s.to {
		s.from, s.to = min(s.from, ss[j].from), max(s.to, ss[j].to)
		j++
	}
	return slices.Replace(ss, i, j, s)
}

// since returns what of ss can concern versions from v on.
func (ss spans) since(v uint64) spans {
	return slices.DeleteFunc(ss, func(s span) bool { return s.to <= v })
}
