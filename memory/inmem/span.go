package inmem

// span is the versions from one to before another.
type span struct{ from, to uint64 }

type spans []span

func (ss spans) contain(v uint64) bool {
	for _, s := range ss {
		if s.from <= v && v < s.to {
			return true
		}
	}
	return false
}
