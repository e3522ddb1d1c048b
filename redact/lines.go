package redact

import (
	"bytes"
	"sort"
	"strings"
)

// Base64 may be broken into lines at any place. A break is a run of at most maxBreak
// blanks, carriage returns and line feeds, with at least one of these. It joins the base64
// characters on both sides.
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

// join sets s.joined to text without the breaks, and s.breaks to these. Without any it
// leaves s.joined empty.
func (s *scratch) join(text []byte) {
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
	if done > 0 {
		s.joined = append(s.joined, text[done:]...)
	}
}

// place returns where the byte i of the joined text is in the text.
func (s *scratch) place(i int) int {
	if n := sort.Search(len(s.breaks), func(n int) bool { return s.breaks[n].at > i }); n > 0 {
		return i + s.breaks[n-1].taken
	}
	return i
}

// joinedLen returns the length of the joined text without what may be, at the end of a text
// that goes on, the beginning of a break.
func (s *scratch) joinedLen(text []byte) int {
	blanks := 0
	for blanks <= maxBreak && blanks < len(text) && isBreak(text[len(text)-1-blanks]) {
		blanks++
	}
	n := len(text) - blanks
	if blanks > maxBreak {
		n = len(text)
	}
	if len(s.breaks) > 0 {
		n -= s.breaks[len(s.breaks)-1].taken
	}
	return n
}
