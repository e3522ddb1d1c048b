package redact

import "math/bits"

// cut is a piece of text that a marker replaces.
type cut struct {
	from, to int
	by       place
}

// scan walks the cuts of a text from left to right (R2).
type scan struct {
	m       *matcher
	text    []byte
	pos     int // the next start to look at
	limit   int // starts from here on are left alone
	covered int // the end of the last cut

	probed  []byte // the text as far as starts before limit reach
	at      int    // the probe that speaks for the starts around pos
	offsets uint64 // of those starts from at, as far as they are left to look at
	busy    bool   // a form was found lately
	near    int    // the first of some probes that were made ahead
	hits    uint64 // a bit for each of these that hit and is left to look at

	work  int    // units of verification that are left before the fallback
	dense *dense // the fallback, nil while sampling
}

func newScan(m *matcher, text []byte) scan {
	s := scan{m: m, text: text, limit: len(text)}
	s.from(0)
	return s
}

// from makes the scan go on at pos.
func (s *scan) from(pos int) {
	s.pos, s.at, s.offsets, s.hits = pos, pos-1, 0, 0
	s.limit = min(s.limit, len(s.text)-s.m.prefix+1)
	if len(s.m.forms) == 0 {
		s.limit = 0
	}
	s.work = workSlack
	s.probed = s.text[:max(0, s.limit+s.m.prefix-1)]
}

// next returns the next piece that is not covered yet.
func (s *scan) next() (cut, bool) {
	for {
		i, by, ok := s.find()
		if !ok {
			return cut{}, false
		}
		if end := i + int(by.len); end > s.covered {
			c := cut{max(i, s.covered), end, by}
			s.covered = end
			return c, true
		}
	}
}

// find returns the next start of a form, and the longest form there.
func (s *scan) find() (int, place, bool) {
	m := s.m
	if s.dense != nil {
		return s.findDense()
	}
	if s.pos >= s.limit {
		return 0, place{}, false
	}
	for {
		for s.offsets != 0 {
			offset := 63 - bits.LeadingZeros64(s.offsets)
			s.offsets &^= 1 << offset
			i := s.at - offset
			if i >= s.limit {
				break
			}
			b := m.slotAt(s.text, i)
			if b == nil {
				continue
			}
			s.pos = i + 1
			if s.work -= int(b.first.cost); s.work <= 0 && s.overdrawn() {
				s.pos = i
				return s.findDense()
			}
			if p, ok := m.longestOf(b, s.text[i:]); ok {
				s.busy = true
				return i, p, true
			}
		}
		before := s.at
		s.at = s.probe(before + m.step)
		s.pos = s.at - m.step + 1
		if s.pos >= s.limit {
			return 0, place{}, false
		}
		s.work += s.at - before
		s.offsets = m.offsetsOf(s.probed, s.at) & (1<<m.step - 1)
		s.work -= bits.OnesCount64(s.offsets)
	}
}

// probe returns the next probe from at on that hits. Where a form was found,
// others are often near, so there it makes some probes ahead, without a branch on
// what each one finds.
func (s *scan) probe(at int) int {
	if s.hits == 0 {
		if !s.busy || at+(ahead-1)*s.m.step+8 > len(s.probed) {
			return s.m.probe(s.probed, at)
		}
		s.near, s.hits = at, s.m.probeAhead(s.probed, at)
		if s.hits == 0 {
			s.busy = false
			return s.m.probe(s.probed, at+ahead*s.m.step)
		}
	}
	n := bits.TrailingZeros64(s.hits)
	s.hits &= s.hits - 1
	return s.near + n*s.m.step
}
