package redact

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"
)

// matcher finds the forms of the secrets of one moment. It never changes.
type matcher struct {
	markers []string  // of the ids, sorted
	indexes [3]*index // by kind of form
}

func (m *matcher) wipe() {
	for _, x := range m.indexes {
		x.wipe()
	}
}

// scratch is the memory of a scan.
type scratch struct {
	hits           []hit
	copied, joined []byte
	breaks         []lineBreak
}

// scan returns the pieces of text that markers replace and that are not covered already, from left
// to right (R2). Each kind of form is looked for in its own view of the text. If more text is to
// come, a form that begins at decided or later may be incomplete, and is left alone.
func scan(m *matcher, text []byte, covered int, more bool, s *scratch) (cuts []hit, decided int) {
	exact, hex, base64 := m.indexes[exactForm], m.indexes[hexForm], m.indexes[base64Form]
	hits := search(exact, text, s.hits[:0])
	if decided = len(text); more {
		decided = max(0, len(text)-max(1, exact.longest, hex.longest)+1)
	}
	if hex.longest > 0 {
		first := len(hits)
		s.copied = append(s.copied[:0], text...)
		joined := s.join(s.copied)
		hits = search(base64, joined, hits)
		for i := range hits[first:] {
			h := &hits[first+i]
			h.start, h.end = s.textOffset(h.start), s.textOffset(h.end-1)+1
		}
		if more { // blanks at the end may be the beginning of a break
			end := max(len(bytes.TrimRight(joined, breakBytes)), len(joined)-maxBreak)
			decided = min(decided, s.textOffset(max(0, end-base64.longest+1)))
		}
		if holdsRun(s.copied, &hexDigits, hex.prefix) {
			foldHex(s.copied)
			hits = search(hex, s.copied, hits)
		}
		if len(hits) > first {
			slices.SortFunc(hits, func(a, b hit) int {
				return cmp.Or(a.start-b.start, b.end-a.end, int(a.marker-b.marker))
			})
		}
	}
	s.hits, cuts = hits, hits[:0]
	for _, h := range hits {
		if h.end > covered && h.start < decided {
			cuts = append(cuts, hit{max(h.start, covered), h.end, h.marker})
			covered = h.end
		}
	}
	return cuts, decided
}

// rewrite appends text[from:to] with markers for the cuts.
func rewrite(dst []byte, text []byte, from, to int, cuts []hit, markers []string) []byte {
	for _, c := range cuts {
		dst = append(append(dst, text[from:c.start]...), markers[c.marker]...)
		from = c.end
	}
	return append(dst, text[min(from, to):to]...)
}

// holdsRun reports whether text has n bytes of a class in a row. It reads every nth byte, and
// around those that are of the class.
func holdsRun(text []byte, class *byteClass, n int) bool {
	for i := n - 1; i < len(text); i += n {
		from, to := i, i
		for from >= 0 && i-from < n && class.has(text[from]) {
			from--
		}
		for from < i && to < len(text) && to-from <= n && class.has(text[to]) {
			to++
		}
		if to-from > n {
			return true
		}
	}
	return false
}

// foldHex maps the digits A-F to a-f.
func foldHex(text []byte) {
	for i, b := range text {
		if b-'A' < 6 {
			text[i] = b + 'a' - 'A'
		}
	}
}

// Base64 may be broken into lines at any place. A break is a run of at most maxBreak blanks,
// carriage returns and line feeds, with at least one of these. It joins the base64 characters on
// both sides.
const (
	breakBytes = " \t\r\n"
	maxBreak   = 32
)

var base64Any = classOf(letters + digits + "+/_-")

func isBreak(b byte) bool { return strings.IndexByte(breakBytes, b) >= 0 }

// lineBreak tells where a break was taken out.
type lineBreak struct {
	at    int // in what is left
	taken int // bytes so far, with this break
}

// join returns text without the breaks, and sets s.breaks to these.
func (s *scratch) join(text []byte) []byte {
	s.joined, s.breaks = s.joined[:0], s.breaks[:0]
	done := 0
	for pos := 0; ; {
		feed := bytes.IndexByte(text[pos:], '\n')
		if feed < 0 {
			break
		}
		feed += pos
		from := feed
		for from > pos && feed-from < maxBreak && isBreak(text[from-1]) {
			from--
		}
		for pos = feed + 1; pos < len(text) && pos-from <= maxBreak && isBreak(text[pos]); {
			pos++
		}
		if pos-from <= maxBreak && from > 0 && pos < len(text) && base64Any.has(text[from-1]) && base64Any.has(text[pos]) {
			s.joined = append(s.joined, text[done:from]...)
			s.breaks = append(s.breaks, lineBreak{len(s.joined), pos - len(s.joined)})
			done = pos
		}
	}
	if done == 0 {
		return text
	}
	s.joined = append(s.joined, text[done:]...)
	return s.joined
}

// textOffset returns the offset in the text of the byte i of the joined text.
func (s *scratch) textOffset(i int) int {
	if n := sort.Search(len(s.breaks), func(n int) bool { return s.breaks[n].at > i }); n > 0 {
		return i + s.breaks[n-1].taken
	}
	return i
}
