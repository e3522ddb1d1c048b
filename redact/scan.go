package redact

// cut is a piece of text that a marker replaces.
type cut struct {
	from, to int
	form     int32
}

// scan walks the cuts of a text from left to right (R2).
type scan struct {
	m       *matcher
	text    []byte
	pos     int // the next start to look at
	limit   int // starts from here on are left alone
	covered int // the end of the last cut
}

func (s *scan) next() (cut, bool) {
	for s.pos < s.limit {
		i := s.pos
		s.pos++
		f := s.m.longestAt(s.text, i)
		if f < 0 {
			continue
		}
		end := i + s.m.len(f)
		if end <= s.covered {
			continue
		}
		c := cut{max(i, s.covered), end, f}
		s.covered = end
		return c, true
	}
	return cut{}, false
}
