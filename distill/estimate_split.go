package distill

import (
	"unicode"
	"unicode/utf8"
)

// The kinds of pieces. A kind that depends on length has a weight for each, up to a
// longest one.
const (
	maxWord      = 20
	maxRun       = 12
	latinClasses = 8

	// Latin words in lower case or capitalised, by the class of their part; behind a space,
	// and with a letter beyond ASCII.
	spaced   = 0
	accented = spaced + latinClasses*(maxWord+1)
	// Of every class.
	bare     = accented + latinClasses*(maxWord+1) // behind anything but a space
	random   = bare + maxWord + 1                  // within what looks like a code, and no word
	caps     = random + maxWord + 1                // capitals only
	capitals = caps + maxRun + 1                   // the same, behind a space
	mixed    = capitals + maxRun + 1               // several capitals, then lower case
	// Words of other scripts.
	scripts = mixed + maxRun + 1
	// Everything else.
	blanks      = scripts + scriptCount*(maxRun+1)
	tabs        = blanks + maxRun + 1
	punct       = tabs + maxRun + 1
	punctSame   = punct + maxRun + 1 // one mark again and again
	digits      = punctSame + maxRun + 1
	blankDigits = digits + 4      // a space before digits
	joined      = blankDigits + 1 // one mark before a letter
	newline     = joined + 1
	newlines    = newline + 1  // several
	newlineMark = newlines + 1 // behind punctuation
	hanRun      = newlineMark + 1
	han         = hanRun + 1
	kanaRun     = han + 1 // a run of Han and kana in a part that has kana
	kanaHan     = kanaRun + 1
	hiragana    = kanaHan + 1
	katakana    = hiragana + 1
	wideMark    = katakana + 1 // punctuation and symbols of two or three bytes
	other2      = wideMark + 1
	other3      = other2 + 1
	other4      = other3 + 1
	pieces      = other4 + 1
)

// Scripts that have a weight by the length of their words.
const (
	greek = iota
	cyrillic
	ukrainian // Cyrillic in a part with letters that Russian does not have
	hebrew
	arabic
	persian // Arabic in a part with letters that Arabic does not have
	indic
	thai
	hangul
	scriptCount
)

// Classes of characters; those of scripts are inScript and the script.
const (
	isSpace = iota
	isDigit
	isMark
	isLower // of Latin
	isUpper
	isHan
	isHiragana
	isKatakana
	isWideMark
	isOther
	inScript
)

// ranges are where classes begin beyond ASCII.
var ranges = [...]struct {
	from  rune
	class int
}{
	{0x80, isWideMark}, {0xc0, isLower}, {0xd7, isWideMark}, {0xd8, isLower}, {0xf7, isWideMark}, {0xf8, isLower}, {0x250, isOther},
	{0x300, isLower}, {0x370, inScript + greek}, {0x400, inScript + cyrillic}, {0x530, isOther}, {0x590, inScript + hebrew},
	{0x600, inScript + arabic}, {0x60c, isWideMark}, {0x60d, inScript + arabic}, {0x61b, isWideMark}, {0x620, inScript + arabic},
	{0x660, isOther}, {0x66a, inScript + arabic}, {0x6f0, isOther}, {0x6fa, inScript + arabic}, {0x780, isOther},
	{0x900, inScript + indic}, {0xe00, inScript + thai}, {0xf00, isOther}, {0x1100, inScript + hangul}, {0x1200, isOther},
	{0x1e00, isLower}, {0x1f00, inScript + greek}, {0x2000, isWideMark}, {0x2c00, isOther}, {0x3000, isWideMark},
	{0x3041, isHiragana}, {0x30a0, isKatakana}, {0x3100, isOther}, {0x3400, isHan}, {0xa000, isOther},
	{0xac00, inScript + hangul}, {0xd7b0, isOther}, {0xff00, isWideMark}, {0xfff0, isOther},
}

// classOf is the class of a character.
func classOf(r rune) int {
	switch {
	case 'a' <= r && r <= 'z':
		return isLower
	case 'A' <= r && r <= 'Z':
		return isUpper
	case '0' <= r && r <= '9':
		return isDigit
	case r == ' ' || r >= '\t' && r <= '\r':
		return isSpace
	case r < utf8.RuneSelf:
		return isMark
	}
	class := isOther
	for i := 0; i < len(ranges) && ranges[i].from <= r; i++ {
		class = ranges[i].class
	}
	if class == isLower && unicode.IsUpper(r) {
		return isUpper
	}
	return class
}

// splitter goes through a part of a text.
type splitter struct {
	add  func(piece int)
	text string
	at   int
	// What the part as a whole is like.
	latin                    int // the class of its Latin words
	kana, ukrainian, persian bool
	// What the last piece was, and whether the words and digits that stand together by now
	// look like a code: how many they are, and digits among them other than at the start.
	last int
	row  int
	code bool
}

// detectLanguage sets what the letters of the text say of its language.
func (s *splitter) detectLanguage() {
	var ascii, narrow, finnish, wide, vietnamese int
	for _, r := range s.text {
		switch {
		case r < utf8.RuneSelf:
			if c := r | 0x20; 'a' <= c && c <= 'z' {
				ascii++
			}
		case r >= 0xc0 && r < 0x100:
			narrow++
			if c := r | 0x20; c == 'ä' || c == 'ö' {
				finnish++
			}
		case r >= 0x100 && r < 0x250:
			wide++
		case r >= 0x1ea0 && r < 0x1f00:
			vietnamese++
		case r == 0x454 || r == 0x456 || r == 0x457 || r == 0x491:
			s.ukrainian = true
		case r == 0x67e || r == 0x686 || r == 0x6a9 || r == 0x6af || r == 0x6cc:
			s.persian = true
		case r >= 0x3041 && r < 0x3100:
			s.kana = true
		}
	}
	all := ascii + narrow + wide + vietnamese
	share := func(n, perMille int) bool { return 1000*n > perMille*all }
	switch {
	case share(vietnamese, 20):
		s.latin = 7
	case share(wide, 5) && share(narrow+wide, 60):
		s.latin = 6
	case share(wide, 5):
		s.latin = 5
	case share(finnish, 15) && 10*finnish >= 9*narrow:
		s.latin = 4
	case share(narrow, 40):
		s.latin = 3
	case share(narrow, 15):
		s.latin = 2
	case share(narrow, 3):
		s.latin = 1
	}
}

// next is the class of the next character and its length; -1 at the end.
func (s *splitter) next() (class, size int) {
	if s.at >= len(s.text) {
		return -1, 0
	}
	r, n := utf8.DecodeRuneInString(s.text[s.at:])
	return classOf(r), n
}

// run goes over characters of a class and returns how many they are.
func (s *splitter) run(class int) (n int) {
	for c, size := s.next(); c == class; c, size = s.next() {
		s.at += size
		n++
	}
	return n
}

// long is a piece of a length, in several if it is longer than the longest that has a weight.
func (s *splitter) long(base, n, longest int) {
	for ; n > longest; n -= longest {
		s.add(base + longest)
	}
	s.add(base + n)
}

// same is one character again and again, of which up to 64 cost no more than maxRun.
func (s *splitter) same(base, n int) {
	for ; n > 64; n -= 64 {
		s.add(base + maxRun)
	}
	s.add(base + min(n, maxRun))
}

func (s *splitter) split() {
	s.last = isSpace
	for s.at < len(s.text) {
		class, size := s.next()
		switch {
		case class == isSpace:
			s.space()
		case class == isDigit:
			s.digits()
		case class == isMark:
			s.marks()
		case class == isLower || class == isUpper:
			s.word()
			class = isLower
		case class >= inScript:
			script := class - inScript
			if script == cyrillic && s.ukrainian || script == arabic && s.persian {
				script++
			}
			s.long(scripts+script*(maxRun+1), s.run(class), maxRun)
		case class == isHan || class == isHiragana || class == isKatakana:
			s.ideograph(class, size)
			class = isHan
		case class == isWideMark:
			s.add(wideMark)
			s.at += size
		default:
			s.add(other2 + max(size-2, 0))
			s.at += size
		}
		s.last = class
	}
}

// space is a run of white space. What ends in the last line end of it is one piece, or
// belongs to the punctuation before it.
func (s *splitter) space() {
	from, lines, indent := s.at, 0, s.at
	for c, _ := s.next(); c == isSpace; c, _ = s.next() {
		s.at++
		if s.text[s.at-1] == '\n' {
			lines++
			indent = s.at
		}
	}
	switch {
	case lines > 0 && s.last == isMark && (s.text[from] == '\n' || s.text[from] == '\r'):
		s.add(newlineMark)
	case lines > 1:
		s.add(newlines)
	case lines == 1:
		s.add(newline)
	}
	n := s.at - indent
	if c, _ := s.next(); n > 0 && c == isDigit {
		s.add(blankDigits)
		n--
	}
	if n > 0 && s.text[indent] == '\t' {
		s.same(tabs, n)
	} else if n > 0 {
		s.same(blanks, n)
	}
}

func (s *splitter) digits() {
	if s.last == isLower {
		s.code = true
	} else {
		s.row, s.code = 0, false
	}
	for n := s.run(isDigit); n > 0; n -= 3 {
		s.add(digits + min(n, 3))
	}
}

func (s *splitter) marks() {
	first, same, n := s.text[s.at], true, 0
	for c, _ := s.next(); c == isMark; c, _ = s.next() {
		same = same && s.text[s.at] == first
		s.at++
		n++
	}
	switch c, _ := s.next(); {
	case n == 1 && (c == isLower || c == isUpper || c >= inScript):
		s.add(joined)
	case n > 1 && same:
		s.same(punctSame, n)
	default:
		s.long(punct, n, maxRun)
	}
}

// word is one of Latin: capitals, then small letters.
func (s *splitter) word() {
	from := s.at
	upper := s.run(isUpper)
	n := upper + s.run(isLower)
	if s.last == isLower || s.last == isDigit {
		s.row++
	} else {
		s.row, s.code = 0, false
	}
	behindSpace := s.last == isSpace && from > 0
	switch {
	case s.code || s.row > 3:
		s.long(random, n, maxWord)
	case s.at-from > n:
		s.long(accented+s.latin*(maxWord+1), n, maxWord)
	case upper > 1 && n > upper:
		s.long(mixed, n, maxRun)
	case upper == n && behindSpace:
		s.long(capitals, n, maxRun)
	case upper == n:
		s.long(caps, n, maxRun)
	case behindSpace:
		s.long(spaced+s.latin*(maxWord+1), n, maxWord)
	default:
		s.long(bare, n, maxWord)
	}
}

// ideograph is a character of Han or kana. Where there is kana, it is Japanese.
func (s *splitter) ideograph(class, size int) {
	s.at += size
	if s.last != isHan && s.kana {
		s.add(kanaRun)
	} else if s.last != isHan {
		s.add(hanRun)
	}
	switch {
	case class == isHiragana:
		s.add(hiragana)
	case class == isKatakana:
		s.add(katakana)
	case s.kana:
		s.add(kanaHan)
	default:
		s.add(han)
	}
}
