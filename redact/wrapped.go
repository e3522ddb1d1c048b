package redact

import "strings"

// maxBreak is how many bytes a line break within base64 may have, with the blanks
// around it.
const maxBreak = 32

// Base64 may be broken into lines at any place. A break is a run of at most maxBreak
// blanks, carriage returns and line feeds, with at least one of these. It joins the base64
// characters on both sides.
const breakBytes = " \t\r\n"

// wrapped finds the base64 forms that go over line breaks. It takes the breaks out of
// stretches of text in which base64 characters are joined, and looks for forms in what
// is left.
type wrapped[T textual] struct {
	x       *index
	text    T
	limit   int
	pos     int      // up to here the text was looked at
	stretch *stretch // that is being looked at, nil before the first
}

// stretch is joined base64, or a part of it.
type stretch struct {
	plain  []byte  // without breaks
	places []int32 // where each byte of plain is in the text, less base
	base   int
	cursor cursor[[]byte]
	resume int // where the stretch goes on, if not all of it is in plain; 0 otherwise
}

func (w *wrapped[T]) init(x *index, text T, limit int) {
	w.x, w.text, w.limit = x, text, min(limit, len(text)-x.prefix)
}

// next returns the next hit, ordered by start. Some do not go over a break.
func (w *wrapped[T]) next() (hit, bool) {
	for {
		from := 0
		if s := w.stretch; s != nil {
			if h, ok := s.cursor.next(); ok {
				h.start, h.end = s.base+int(s.places[h.start]), s.base+int(s.places[h.end-1])+1
				return h, h.start < w.limit
			}
			from = s.resume
		}
		if from == 0 {
			var ok bool
			if from, ok = w.nextStretch(); !ok {
				return hit{}, false
			}
		}
		w.strip(from)
	}
}

// strip makes a stretch of what begins at from.
func (w *wrapped[T]) strip(from int) {
	if w.stretch == nil {
		w.stretch = new(stretch)
	}
	s, size := w.stretch, max(1<<12, 4*w.x.longest)
	s.plain, s.places, s.base, s.resume = s.plain[:0], s.places[:0], from, 0
	i := from
	for len(s.plain) < size {
		for ; i < len(w.text) && base64Any.has(w.text[i]) && len(s.plain) < size; i++ {
			s.plain, s.places = append(s.plain, w.text[i]), append(s.places, int32(i-from))
		}
		next := breakEnd(w.text, i)
		if next == i {
			break
		}
		i = next
	}
	w.pos = max(w.pos, i)
	limit := len(s.plain)
	if limit >= size { // starts that may have their end behind this part come with the next one
		limit -= w.x.longest - 1
		s.resume = from + int(s.places[limit])
	}
	s.cursor = cursor[[]byte]{best: s.cursor.best}
	s.cursor.init(w.x, s.plain, limit)
}

// nextStretch returns where the next stretch begins: base64 with a break behind it.
func (w *wrapped[T]) nextStretch() (int, bool) {
	for w.pos < w.limit {
		i := nextLineFeed(w.text, w.pos)
		if i < 0 {
			break
		}
		first := i
		for first > w.pos && i-first < maxBreak && isBreak(w.text[first-1]) {
			first--
		}
		end, from := breakEnd(w.text, first), first
		for end > first && from > w.pos && first-from < w.x.longest && base64Any.has(w.text[from-1]) {
			from--
		}
		if from < first {
			return from, from < w.limit
		}
		w.pos = max(end, i+1)
	}
	return 0, false
}

func isBreak(b byte) bool { return strings.IndexByte(breakBytes, b) >= 0 }

// nextLineFeed returns where the next line feed is from i on, or -1.
func nextLineFeed[T textual](text T, i int) int {
	const ones, feeds = 0x0101010101010101, 0x0a0a0a0a0a0a0a0a
	for ; i+8 <= len(text); i += 8 { // while none of eight bytes is one
		if word := load8(text, i) ^ feeds; (word-ones)&^word&(ones<<7) != 0 {
			break
		}
	}
	for ; i < len(text); i++ {
		if text[i] == '\n' {
			return i
		}
	}
	return -1
}

// breakEnd returns the end of the break at text[i:] if base64 goes on behind it, and i if
// not.
func breakEnd[T textual](text T, i int) int {
	end, fed := i, false
	for end < len(text) && end-i <= maxBreak && isBreak(text[end]) {
		fed = fed || text[end] == '\n'
		end++
	}
	if fed && end-i <= maxBreak && end < len(text) && base64Any.has(text[end]) {
		return end
	}
	return i
}

// undecided returns where the base64 begins, at the end of a text that goes on, of which
// a form may be that is broken into lines and not complete yet; len(text) if there is none.
func (m *matcher) undecided(text []byte) int {
	if m.base64 == nil {
		return len(text)
	}
	first, gap, broken := len(text), 0, false // first: of the base64 characters
	fed := true                               // what the text ends with may be half a break
	for i, chars := len(text)-1, 0; i >= 0 && chars < m.base64.longest-1 && gap <= maxBreak; i-- {
		b := text[i]
		switch {
		case isBreak(b):
			gap, fed = gap+1, fed || b == '\n'
			continue
		case !base64Any.has(b) || gap > 0 && !fed:
			i = 0 // no more of it
			continue
		}
		chars, broken = chars+1, broken || gap > 0
		first, gap, fed = i, 0, false
	}
	if !broken {
		return len(text)
	}
	return first
}
