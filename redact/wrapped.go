package redact

import "strings"

// maxBreak is how many bytes a line break within base64 may have, with the blanks
// around it.
const maxBreak = 32

// Base64 may be broken into lines at any place. A break is a run of at most maxBreak
// bytes out of blanks and line ends, or the JSON escapes of these, that holds a line
// feed. It joins the base64 characters on both sides. A character of an escape is never
// one of base64: where a backslash stands before n, r or t, these belong together.

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

func (w *wrapped[T]) init(x *index, text T, limit int, before byte) {
	w.x, w.text, w.limit = x, text, min(limit, len(text)-x.prefix)
	if before == '\\' && len(text) > 0 && escapes(text[0]) {
		w.pos = 1
	}
}

func escapes(b byte) bool { return b == 'n' || b == 'r' || b == 't' }

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
		i := nextLineEnd(w.text, w.pos)
		if i < 0 {
			break
		}
		first := i
		for first > w.pos && i-first < maxBreak && strings.IndexByte(" \t\r", w.text[first-1]) >= 0 {
			first--
		}
		end := breakEnd(w.text, first)
		from := first
		for end > first && from > w.pos && first-from < w.x.longest && base64Any.has(w.text[from-1]) {
			from--
		}
		if from < first {
			return from, from < w.limit
		}
		if w.pos = max(end, i+1); end == first && w.text[i] == '\\' {
			w.pos = i + 2
		}
	}
	return 0, false
}

// nextLineEnd returns where the next line feed or escape is from i on, or -1.
func nextLineEnd[T textual](text T, i int) int {
	const (
		ones    = 0x0101010101010101
		feeds   = '\n' * ones
		slashes = '\\' * ones
	)
	for {
		for ; i+8 <= len(text); i += 8 { // while none of eight bytes is either
			word := load8(text, i)
			f, s := word^feeds, word^slashes
			if ((f-ones)&^f|(s-ones)&^s)&(ones<<7) != 0 {
				break
			}
		}
		for end := min(i+8, len(text)); i < end; i++ {
			if text[i] == '\n' || text[i] == '\\' && i+1 < len(text) && escapes(text[i+1]) {
				return i
			}
		}
		if i == len(text) {
			return -1
		}
	}
}

// breakEnd returns the end of the break at text[i:] if base64 goes on behind it, and i if
// not.
func breakEnd[T textual](text T, i int) int {
	end, fed := i, false
	for end < len(text) && end-i <= maxBreak {
		switch b := text[end]; {
		case b == '\n':
			fed = true
			end++
		case b == ' ' || b == '\t' || b == '\r':
			end++
		case b == '\\' && end+1 < len(text) && escapes(text[end+1]):
			fed = fed || text[end+1] == 'n'
			end += 2
		default:
			if fed && base64Any.has(b) {
				return end
			}
			return i
		}
	}
	return i
}

// undecided returns where the base64 begins, at the end of a text that goes on, of which
// a form may be that is broken into lines and not complete yet; len(text) if there is none.
func (m *matcher) undecided(text []byte) int {
	if m.base64 == nil {
		return len(text)
	}
	i, chars, gap, broken := len(text), 0, 0, false
	fed := true // what the text ends with may be half a break
	for i > 0 && chars < m.base64.longest-1 && gap <= maxBreak {
		switch b := text[i-1]; {
		case i > 1 && text[i-2] == '\\' && escapes(b):
			gap, fed = gap+2, fed || b == 'n'
			i -= 2
		case strings.IndexByte(" \t\r\n", b) >= 0 || b == '\\' && i == len(text):
			gap, fed = gap+1, fed || b == '\n'
			i--
		case base64Any.has(b) && (gap == 0 || fed):
			chars, broken = chars+1, broken || gap > 0
			gap, fed = 0, false
			i--
		default:
			gap += maxBreak + 1 // stop
			i -= maxBreak + 1
		}
	}
	if !broken {
		return len(text)
	}
	return i + gap
}
