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
	case r < utf8.RuneSelf || !unicode.In(r, unicode.L, unicode.M):
		return mark
	case unicode.IsUpper(r):
		return upper
	case r >= 0xe00 && r < 0x1e00 || r >= 0x2000 && r < 0xac00 || r > 0xd7ff: // Thai, Han, kana
		return wide
	}
	return lower
}

// splitter remembers what is behind it in a text.
type splitter struct {
	last   int    // the class of the last piece
	row    int    // words and digits that stand together by now, as in a code
	accent uint32 // of the last word that had letters beyond ASCII: which ones
	dense  int    // how many words have had such letters of late
	kana   int    // more than 0 if there was kana among the last characters
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
			s.row = 0
			length, p := s.word(text[n:], 8+class)
			return n + length, p
		}
	}
	s.last = class
	shape, detail := uint32(class), uint32(0)
	switch class {
	case lower, upper:
		if before != lower && before != digit {
			s.row = 0
		}
		return s.word(text, before)
	case wide:
		if shape = 0x100 + uint32(r>>8); r >= 0x4e00 && r < 0xa000 {
			shape = 0x100
		} else if r >= 0x3040 && r < 0x3100 {
			s.kana, shape = 32, 0x100+uint32(r>>5)
		}
		if s.kana > 0 { // it is Japanese
			s.kana--
			detail = 1
		}
	case digit:
		s.row++
		n = run(text[:min(3, len(text))], func(r rune) bool { return classOf(r) == digit })
	case mark:
		n = run(text, func(r rune) bool { return classOf(r) == mark })
		if strings.Trim(text[:n], text[:1]) == "" { // one mark again and again
			detail = 1
		}
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
		if text[0] == '\t' {
			shape += 32
		}
	}
	return n, pieceOf(shape, before, n, detail, 0)
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
	s.row++
	s.dense -= s.dense / 32
	if highest >= utf8.RuneSelf {
		s.accent = uint32(highest >> 4)
		s.dense += 256
	}
	shape, language := uint32(16), s.accent<<4|level(s.dense>>6)
	switch {
	case capitals == runes:
		shape = 18
	case capitals > 1:
		shape = 17
	}
	if s.row > 3 {
		shape += 8 // as in a code
	}
	switch {
	case s.dense < 64:
		language = 0
	case highest >= 0x370 && highest < 0x1e00: // the script says it
		language = s.accent
	}
	if tail = tail&0xffff<<4 | uint32(min(runes, 12)/3); highest >= 0x530 {
		tail = 0
	}
	return n, pieceOf(shape, before, runes, language, tail)
}

// pieceOf is a piece of a shape and length, by the class before it, by its language or another
// detail, and by how it ends.
func pieceOf(shape uint32, before, length int, detail, tail uint32) piece {
	long := uint32(min(length, 24))
	return piece{slot(0, 7, shape, uint32(before), long), slot(1, 9, shape&^8, detail, long), slot(2, 11, tail)}
}
