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
	at      int // the probe that speaks for the start at pos
}

func newScan(m *matcher, text []byte) scan {
	return scan{m: m, text: text, limit: len(text), at: m.step - 1}
}

// next returns the next piece that is not covered yet.
func (s *scan) next() (cut, bool) {
	for {
		i, f := s.find()
		if f < 0 {
			return cut{}, false
		}
		if end := i + s.m.len(f); end > s.covered {
			c := cut{max(i, s.covered), end, f}
			s.covered = end
			return c, true
		}
	}
}

// find returns the next start of a form, and the longest form there, or -1.
func (s *scan) find() (int, int32) {
	m := s.m
	for s.pos < s.limit {
		if s.pos > s.at {
			s.at += m.step
		}
		s.at = m.probe(s.text, s.at)
		s.pos = max(s.pos, s.at-m.step+1)
		for last := min(s.at+1, s.limit, len(s.text)-m.prefix+1); s.pos < last; {
			i := s.pos
			s.pos++
			if f := m.longestAt(s.text, i); f >= 0 {
				return i, f
			}
		}
		if s.pos+m.prefix > len(s.text) {
			break
		}
	}
	return 0, -1
}
