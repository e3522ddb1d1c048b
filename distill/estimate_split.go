package distill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Classes of characters.
const (
	space = iota
	newline
	digit
	mark  // also symbols
	lower // also letters of scripts that have no case
	upper
	wide // a letter that is a piece by itself
)

func classOf(r rune) int {
	switch {
	case 'a' <= r && r <= 'z':
		return lower
	case 'A' <= r && r <= 'Z':
		return upper
	case '0' <= r && r <= '9':
		return digit
	case r == '\n' || r == '\r':
		return newline
	case r == ' ' || r == '\t':
		return space
	case r < 0xc0, r >= 0x2000 && r < 0x2c00, r >= 0x3000 && r < 0x3041, r >= 0xff00 && r < 0xff66, r >= 0x1f000 && r < 0x20000:
		return mark
	case r >= 0xe00 && r < 0x1e00, r >= 0x2c00 && r < 0xac00, r > 0xd7ff: // Thai, Han, kana
		return wide
	case r < 0xac00 && unicode.IsUpper(r):
		return upper
	}
	return lower
}

// splitter remembers what is behind it in a text.
type splitter struct {
	last   int    // the class of the last piece
	accent uint32 // of the last word that had letters beyond ASCII: which ones
	dense  int    // how many words have had such letters of late
}

// split tells add of the pieces of a text.
func split(text string, add func(piece)) {
	for s := (splitter{}); text != ""; {
		n, p := s.next(text)
		add(p)
		text = text[n:]
	}
}

// next is the first piece of a text, and its length.
func (s *splitter) next(text string) (int, piece) {
	r, n := utf8.DecodeRuneInString(text)
	class, before := classOf(r), s.last
	if class == space || class == mark { // one belongs to a word behind it
		after, _ := utf8.DecodeRuneInString(text[n:])
		if c := classOf(after); c == lower || c == upper {
			length, p := s.word(text[n:], 8+class)
			return n + length, p
		}
	}
	s.last = class
	shape := uint32(class)
	switch class {
	case lower, upper:
		return s.word(text, before)
	case wide:
		if shape = 0x100 + uint32(r>>8); r >= 0x4e00 && r < 0xa000 {
			shape = 0x100
		} else if r >= 0x3040 && r < 0x3100 {
			shape = 0x100 + uint32(r>>5)
		}
	case digit:
		n = run(text[:min(3, len(text))], func(r rune) bool { return classOf(r) == digit })
	case mark:
		n = run(text, func(r rune) bool { return classOf(r) == mark })
		if r >= utf8.RuneSelf {
			shape = 20
		}
		if end := run(text[n:], func(r rune) bool { return classOf(r) == newline }); end > 0 {
			n += end
			shape++
		}
	default:
		s.last = space
		n = run(text, func(r rune) bool { return classOf(r) <= newline })
		if end := strings.LastIndexAny(text[:n], "\r\n"); end >= 0 {
			n, shape = end+1, newline
		} else if n > 1 && n < len(text) {
			n-- // the last one joins what follows
		}
	}
	return n, pieceOf(shape, before, n, 0, 0)
}

// run is how long a text begins with characters that are in.
func run(text string, in func(rune) bool) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !in(r) }); n >= 0 {
		return n
	}
	return len(text)
}

// word is the word that a text begins with: capital letters, then others.
func (s *splitter) word(text string, before int) (int, piece) {
	n, runes, capitals, highest, tail := len(text), 0, 0, rune(0), uint32(0)
	for i, r := range text {
		if class := classOf(r); class == upper && capitals == runes {
			capitals++
		} else if class != lower {
			n = i
			break
		}
		runes++
		highest = max(highest, r)
		tail = tail<<8 ^ uint32(r)
	}
	s.last = lower
	s.dense -= s.dense / 32
	if highest >= utf8.RuneSelf {
		s.accent = uint32(min(highest, 0x2000) >> 4)
		s.dense += 256
	}
	shape, language := uint32(16), s.accent<<4|level(s.dense>>6)
	switch {
	case capitals == runes:
		shape = 18
	case capitals > 1:
		shape = 17
	}
	switch {
	case s.dense < 64:
		language = 0
	case highest >= 0x370 && highest>>8 != 0x1e: // the script says it
		language = s.accent
	}
	if tail = tail&0xffff<<4 | uint32(min(runes, 12)/3); highest >= 0x600 {
		tail = 0
	}
	return n, pieceOf(shape, before, runes, language, tail)
}

// pieceOf is a piece of a shape and length, by the class before it, by its language, and by how it
// ends.
func pieceOf(shape uint32, before, length int, language, tail uint32) piece {
	long := uint32(min(length, 24))
	return piece{slot(0, 7, shape, uint32(before), long), slot(1, 9, shape, language, long), slot(2, 11, tail)}
}
