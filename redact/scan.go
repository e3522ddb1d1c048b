package redact

import "math/bits"

// cut is a piece of text that a marker replaces.
type cut struct {
	from, to int
	by       *place
}

// scan walks the cuts of a text from left to right (R2).
type scan struct {
	m       *matcher
	text    []byte
	limit   int // starts from here on are left alone
	covered int // the end of the last cut

	probed  []byte // the text as far as starts before limit reach
	at      int    // the next probe to be made
	busy    bool   // a form was found lately
	near    int    // the first of the probes made last
	hits    uint64 // a bit for each of these that hit and is left to look at
	suspect int    // the probe looked at: it speaks for the starts up to there
	offsets origin // of those starts from suspect, as far as they are left to look at

	queue      [16]found // of forms, from head to tail
	head, tail int

	work  int    // units of verification that are left before the fallback
	dense *dense // the fallback, nil while sampling
	pos   int    // the next start the fallback looks at
}

// found is the longest form at a start.
type found struct {
	start int
	by    *place
}

func newScan(m *matcher, text []byte) *scan { return newScanTo(m, text, len(text), 0) }

// newScanTo leaves alone what starts from limit on or ends before covered.
func newScanTo(m *matcher, text []byte, limit, covered int) *scan {
	limit = min(limit, len(text)-m.prefix+1)
	if len(m.forms) == 0 {
		limit = 0
	}
	return &scan{
		m: m, text: text, limit: limit, covered: covered,
		probed: text[:max(0, limit+m.prefix-1)], at: m.step - 1, work: workSlack,
	}
}

// next returns the next piece that is not covered yet.
func (s *scan) next() (cut, bool) {
	for s.head < s.tail || s.find() {
		f := &s.queue[s.head]
		s.head++
		if end := f.start + int(f.by.len); end > s.covered {
			c := cut{max(f.start, s.covered), end, f.by}
			s.covered = end
			return c, true
		}
	}
	return cut{}, false
}

// find fills the empty queue with the forms that come next, and reports whether
// there are any.
func (s *scan) find() bool {
	s.head, s.tail = 0, 0
	for s.tail == 0 {
		if s.dense != nil {
			return s.findDense()
		}
		if s.hits == 0 && s.offsets == 0 && !s.probe() {
			return false
		}
		s.verify()
	}
	s.busy = true
	return true
}

// probe makes the next probes, and reports whether there were any left to make.
// Where a form was found, others are often near, so there it makes some at once,
// without a branch on what each one finds.
func (s *scan) probe() bool {
	m, before := s.m, s.at
	if before-m.step+1 >= s.limit {
		return false
	}
	if s.busy && s.at+(ahead-1)*m.step+8 <= len(s.probed) {
		s.near, s.hits = s.at, m.probeAhead(s.probed, s.at)
		s.at += ahead * m.step
		s.busy = s.hits != 0
	} else {
		s.busy = false
	}
	if !s.busy {
		s.near, s.hits = m.probe(s.probed, s.at), 1
		s.at = s.near + m.step
	}
	s.work += s.at - before
	return s.near-m.step+1 < s.limit
}

// verify looks for forms around the probes that hit, and fills the queue.
func (s *scan) verify() {
	m := s.m
	for s.tail < len(s.queue) {
		var i int
		var b *slot
		if s.offsets != 0 {
			offset := bits.Len64(uint64(s.offsets)) - 1
			s.offsets &^= 1 << offset
			if i = s.suspect - offset; i < s.limit {
				b = m.slotAt(s.text, i)
			}
			s.work--
		} else {
			if s.hits == 0 {
				return
			}
			s.suspect = s.near + bits.TrailingZeros64(s.hits)*m.step
			s.hits &= s.hits - 1
			o := m.originOf(s.probed, s.suspect)
			if o&single == 0 {
				s.offsets = o
				continue
			}
			i = s.suspect - int(o&63)
			if at := &m.slots[o&^single>>6]; i < s.limit && at.key == m.key(s.text, i) {
				b = at
			}
			s.work--
		}
		if i >= s.limit {
			s.hits, s.offsets = 0, 0
			return
		}
		if b == nil {
			continue
		}
		if s.work -= int(b.first.cost); s.work <= 0 && s.overdrawn() {
			s.pos, s.hits, s.offsets = i, 0, 0
			return
		}
		if p := m.longestOf(b, s.text[i:]); p != nil {
			s.queue[s.tail] = found{i, p}
			s.tail++
		}
	}
}
