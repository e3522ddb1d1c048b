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
	x     *index
	text  T
	limit int
	pos   int // up to here the text was looked at

	plain  []byte // a stretch without its breaks
	places []int32
	base   int // where each byte of plain is in text, less base
	cursor cursor[[]byte]
	active bool
	resume int // where the stretch goes on, if not all of it is in plain; 0 otherwise
}

func newWrapped[T textual](x *index, text T, limit int, before byte) wrapped[T] {
	w := wrapped[T]{x: x, text: text, limit: limit}
	if len(x.forms) == 0 {
		w.limit = 0
	}
	if before == '\\' && len(text) > 0 && escapes(text[0]) {
		w.pos = 1
	}
	return w
}

func escapes(b byte) bool { return b == 'n' || b == 'r' || b == 't' }

// next returns the next hit, ordered by start. Some do not go over a break.
func (w *wrapped[T]) next() (hit, bool) {
	for {
		if w.active {
			if h, ok := w.cursor.next(); ok {
				from := w.base + int(w.places[h.start])
				if from >= w.limit {
					w.active, w.resume, w.pos = false, 0, w.limit
					return hit{}, false
				}
				return hit{from, w.base + int(w.places[h.end-1]) + 1, h.id}, true
			}
			w.active = false
		}
		from := w.resume
		if from == 0 {
			var ok bool
			if from, ok = w.nextStretch(); !ok {
				return hit{}, false
			}
		}
		w.strip(from)
	}
}

// strip makes a stretch without breaks of what begins at from, or of a part of it.
func (w *wrapped[T]) strip(from int) {
	size := max(1<<14, 4*w.x.longest)
	w.plain, w.places, w.base, w.resume = w.plain[:0], w.places[:0], from, 0
	i := from
	for len(w.plain) < size {
		for ; i < len(w.text) && base64Any.has(w.text[i]) && len(w.plain) < size; i++ {
			w.plain, w.places = append(w.plain, w.text[i]), append(w.places, int32(i-from))
		}
		next := breakEnd(w.text, i)
		if next == i {
			break
		}
		i = next
	}
	w.pos = max(w.pos, i)
	if len(w.plain) < w.x.prefix {
		return
	}
	w.active = true
	limit := len(w.plain)
	if limit >= size { // starts that may have their end behind this part come with the next one
		limit -= w.x.longest - 1
		w.resume = from + int(w.places[limit])
	}
	w.cursor = newCursor(w.x, w.plain, limit)
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
