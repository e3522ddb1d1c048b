package redact

import (
	"math/bits"
	"unsafe"
)

// cut is a piece of text that a marker replaces.
type cut struct {
	from, to int
	by       place
}

// scan walks the cuts of a text from left to right (R2).
type scan struct {
	m       *matcher
	text    []byte
	limit   int // starts from here on are left alone
	covered int // the end of the last cut

	probed  []byte // the text as far as starts before limit reach
	at      int    // the next probe to be made
	busy    bool   // forms were found near each other
	last    int    // the start of the last form found
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
	place
}

func (f *found) end() int { return f.start + int(f.len) }

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

// more reports whether there is something that is not covered yet.
func (s *scan) more() bool {
	for s.head < s.tail || s.find() {
		if f := &s.queue[s.head]; f.end() > s.covered {
			return true
		}
		s.head++
	}
	return false
}

// next returns the next piece that is not covered yet.
func (s *scan) next() (cut, bool) {
	if !s.more() {
		return cut{}, false
	}
	f := &s.queue[s.head]
	s.head++
	c := cut{max(f.start, s.covered), f.end(), f.place}
	s.covered = c.to
	return c, true
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
	s.busy = s.queue[0].start-s.last < ahead*s.m.step/2
	s.last = s.queue[s.tail-1].start
	return true
}

// probe makes the next probes, and reports whether one of them hit. Where forms
// are near each other it makes some at once, without a branch on what each one
// finds.
func (s *scan) probe() bool {
	m, before := s.m, s.at
	for s.at-m.step+1 < s.limit {
		if s.busy = s.busy && s.at+(ahead-1)*m.step+8 <= len(s.probed); s.busy {
			s.near, s.hits = s.at, m.probeAhead(s.probed, s.at)
			s.at += ahead * m.step
			s.busy = s.hits != 0
		} else {
			s.near = m.probe(s.probed, s.at)
			s.at = s.near + m.step
			if s.near-m.step+1 < s.limit {
				s.hits = 1
			}
		}
		if s.hits != 0 {
			s.work += s.at - before
			return true
		}
	}
	return false
}

// verify looks for forms around the probes that hit, and adds them to the queue.
// Most have one form at one place to look at, which goes without a function call
// and, since that is no more than one for each probe, without a budget. If its cost
// is quick it is the only form of its bucket and a short one, so that the steps of
// the comparison stay within it, and within the text if that has as many bytes.
func (s *scan) verify() {
	if s.offsets != 0 {
		s.lookAround()
	}
	m, hits, tail := s.m, s.hits, s.tail
	arena, text := unsafe.Pointer(unsafe.SliceData(m.arena)), unsafe.Pointer(unsafe.SliceData(s.text))
	for hits != 0 && tail < len(s.queue) {
		at := s.near + bits.TrailingZeros64(hits)*m.step
		hits &= hits - 1
		o := m.originOf(s.probed, at)
		if o == 0 {
			continue
		}
		if o&single == 0 {
			s.suspect, s.offsets = at, o
			s.hits, s.tail = hits, tail
			s.lookAround()
			hits, tail = s.hits, s.tail
			continue
		}
		i, b := at-int(o&63), &m.slots[o&^single>>6]
		n := int(b.first.len)
		if i >= s.limit || n > len(s.text)-i || b.first.cost != quick {
			s.hits, s.tail = hits, tail
			s.look(i)
			hits, tail = s.hits, s.tail
			continue
		}
		x, y := unsafe.Add(text, i), unsafe.Add(arena, b.first.from)
		second, third := innerSteps(n)
		if differ16(x, y, 0)|differ16(x, y, second)|differ16(x, y, third)|differ16(x, y, n-16) == 0 {
			s.queue[tail] = found{i, b.first}
			tail++
		}
	}
	s.hits, s.tail = hits, tail
}

// lookAround looks at the starts that the suspect speaks for.
func (s *scan) lookAround() {
	for s.offsets != 0 && s.tail < len(s.queue) {
		offset := bits.Len64(uint64(s.offsets)) - 1
		s.offsets &^= 1 << offset
		s.look(s.suspect - offset)
	}
}

// look looks for a form at i.
func (s *scan) look(i int) {
	if i >= s.limit {
		s.hits, s.offsets = 0, 0
		return
	}
	s.work--
	b := s.m.slotAt(s.text, i)
	if b == nil {
		return
	}
	if s.work -= int(b.first.cost); s.work <= 0 && s.overdrawn() {
		s.pos, s.hits, s.offsets = i, 0, 0
		return
	}
	if p := s.m.longestOf(b, s.text[i:]); p != nil {
		s.queue[s.tail] = found{i, *p}
		s.tail++
	}
}
