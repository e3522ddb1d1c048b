package redact

// cut is a piece of text that a marker replaces.
type cut struct {
	from, to int
	id       int32
}

// scan walks from left to right through the pieces of a text that markers replace (R2).
// It merges the hits of three sources: forms in the text as it is, hex in any case, and
// base64 that is broken into lines.
type scan[T textual] struct {
	m       *matcher
	text    T
	covered int // the end of the last cut

	exact, hex cursor[T]
	wrapped    wrapped[T]
	heads      [3]hit // the next hit of each source
	filled     [3]bool
	ended      [3]bool
}

// init leaves alone what starts from limit on or ends before covered.
func (s *scan[T]) init(m *matcher, text T, limit, covered int) {
	s.m, s.text, s.covered = m, text, covered
	s.exact.init(m.exact, text, limit)
	if m.hex != nil {
		s.hex.init(m.hex, text, limit)
		s.wrapped.init(m.base64, text, limit)
	}
}

// next returns the next piece that is not covered yet.
func (s *scan[T]) next() (cut, bool) {
	for {
		h, ok := s.nextHit()
		if !ok {
			return cut{}, false
		}
		if h.end > s.covered {
			c := cut{max(h.start, s.covered), h.end, h.id}
			s.covered = h.end
			return c, true
		}
	}
}

// nextHit returns the hits of all sources by start, and of the same start the longest
// first, then the first id.
func (s *scan[T]) nextHit() (hit, bool) {
	if s.m.hex == nil {
		return s.exact.next()
	}
	first := -1
	for i := range s.heads {
		if !s.filled[i] && !s.ended[i] {
			s.fill(i)
		}
		if s.filled[i] && (first < 0 || before(&s.heads[i], &s.heads[first])) {
			first = i
		}
	}
	if first < 0 {
		return hit{}, false
	}
	s.filled[first] = false
	return s.heads[first], true
}

func (s *scan[T]) fill(i int) {
	var ok bool
	switch i {
	case 0:
		s.heads[i], ok = s.exact.next()
	case 1:
		s.heads[i], ok = s.hex.next()
	case 2:
		s.heads[i], ok = s.wrapped.next()
	}
	s.filled[i], s.ended[i] = ok, !ok
}

func before(a, b *hit) bool {
	if a.start != b.start {
		return a.start < b.start
	}
	return a.end > b.end || a.end == b.end && a.id < b.id
}

// rewrite appends the text from where the scan stands, with all further cuts replaced,
// as far as the last of them.
func (s *scan[T]) rewrite(dst []byte) []byte {
	done := s.covered
	for c, ok := s.next(); ok; c, ok = s.next() {
		dst = append(append(dst, s.text[done:c.from]...), s.m.markers[c.id]...)
		done = c.to
	}
	return dst
}
