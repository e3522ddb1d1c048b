package distill

// The kinds of pieces. A kind that depends on length has a weight for each, up to a
// longest one.
const (
	maxWord = 20
	maxRun  = 12

	spaced      = 0                     // lower-case or capitalised, behind a space
	foreign     = spaced + maxWord + 1  // the same, on a line that has letters like é
	bare        = foreign + maxWord + 1 // behind anything else
	caps        = bare + maxWord + 1    // capitals only
	capitals    = caps + maxRun + 1     // the same, behind a space
	mixed       = capitals + maxRun + 1 // several capitals, then lower case
	random      = mixed + maxRun + 1    // within what looks like a code, and no word
	accented    = random + maxWord + 1  // Latin with letters beyond ASCII
	cyrillic    = accented + maxWord + 1
	arabic      = cyrillic + maxWord + 1
	hangul      = arabic + maxRun + 1
	punct       = hangul + maxRun + 1
	blanks      = punct + maxRun + 1
	digits      = blanks + maxRun + 1 // a group of three
	blankDigits = digits + 1          // a space before digits
	joined      = blankDigits + 1     // one mark before a letter
	newline     = joined + 1
	newlineMark = newline + 1 // behind punctuation
	hanRun      = newlineMark + 1
	han         = hanRun + 1
	kanaRun     = han + 1 // a run of Han and kana, once there was kana
	kanaHan     = kanaRun + 1
	hiragana    = kanaHan + 1
	katakana    = hiragana + 1
	wideMark    = katakana + 1 // punctuation of two or three bytes
	other2      = wideMark + 1
	other3      = other2 + 1
	other4      = other3 + 1
	pieces      = other4 + 1
)

// Classes of bytes: what ASCII is, the ranges of second and third bytes that tell
// scripts apart, and the first bytes of longer characters.
const (
	cMark = iota
	cLower
	cUpper
	cDigit
	cBlank
	cNewline
	cTail // the first class of later bytes; tails has the ranges
	cLead = cTail + 14
)

var (
	tails = [14]byte{0x80, 0x81, 0x82, 0x83, 0x84, 0x8c, 0x8d, 0x9b, 0x9c, 0x9f, 0xa0, 0xb0, 0xbc, 0xbe}
	leads = [...]byte{0xc0, 0xc3, 0xcb, 0xd0, 0xd4, 0xd8, 0xd9, 0xdc, 0xe0, 0xe2, 0xe3, 0xe4, 0xea, 0xeb, 0xed, 0xee, 0xef, 0xf0}
)

const classes = cLead + len(leads)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = cLower
		case 'A' <= c && c <= 'Z':
			t[c] = cUpper
		case '0' <= c && c <= '9':
			t[c] = cDigit
		case c == ' ' || c == '\t':
			t[c] = cBlank
		case c == '\n' || c == '\r':
			t[c] = cNewline
		case c >= 0xc0:
			t[c] = cLead + last(leads[:], byte(c))
		case c >= 0x80:
			t[c] = cTail + last(tails[:], byte(c))
		}
	}
	return t
}()

// last is the range that c falls into.
func last(from []byte, c byte) uint8 {
	n := 0
	for k, f := range from {
		if f <= c {
			n = k
		}
	}
	return uint8(n)
}

// Kinds of states: what the last piece is.
const (
	atStart = iota // of a text or a line
	inBlank
	inMark
	inDigits
	inWord
	inRun // of a script that has a weight by length
	inHan // of Han and kana
	elsewhere
)

// Modes: what the line has shown.
const (
	plain = iota
	european
	japanese
)

// state is all that the splitting remembers.
type state struct {
	kind uint8
	base uint8 // of a word or a run: where its weights are
	n    uint8 // its length so far
	// Of a word: only capitals yet; behind a space.
	upper, space bool
	// How many pieces of letters and digits stand together, and whether digits are
	// among them other than at the start.
	row    uint8
	code   bool
	mode   uint8
	lead   uint8 // the first byte's class, where later bytes decide
	middle bool  // and the second byte was 0x82
	skip   uint8 // later bytes that say nothing
}

// step is the state after one more byte. add is told of the pieces that the byte
// makes, or takes back.
func (st state) step(c uint8, add func(piece int, sign int32)) state {
	if c >= cTail && c < cLead {
		return st.tail(c-cTail, add)
	}
	st.lead, st.middle, st.skip = 0, false, 0
	if c >= cLead {
		return st.first(leads[c-cLead], add)
	}
	if st.mode == japanese {
		st.mode = plain
	}
	switch c {
	case cLower, cUpper:
		return st.letter(c == cUpper, add)
	case cDigit:
		return st.digit(add)
	case cBlank:
		n := uint8(1)
		if st.kind == inBlank {
			n = min(st.n+1, maxRun)
			if st.n > 1 {
				add(blanks+int(st.n), -1)
			}
			add(blanks+int(n), 1)
		}
		return state{kind: inBlank, n: n, mode: st.mode}
	case cNewline:
		switch st.kind {
		case atStart: // one more
		case inMark:
			add(newlineMark, 1)
		default:
			add(newline, 1)
		}
		return state{kind: atStart}
	}
	n := uint8(1)
	if st.kind == inMark {
		n = min(st.n+1, maxRun)
		add(punct+int(st.n), -1)
	}
	add(punct+int(n), 1)
	return state{kind: inMark, n: n, mode: st.mode}
}

// letter is one of ASCII.
func (st state) letter(upper bool, add func(int, int32)) state {
	if st.kind == inWord && (st.upper || !upper || st.base == accented) {
		next := st
		next.n++
		next.upper = st.upper && upper
		switch {
		case st.base == accented || st.base == random:
		case st.upper && !upper && st.n == 1:
			next.base = st.plainBase()
		case st.upper && !upper:
			next.base = mixed
		}
		if !next.upper {
			next.space = false
		}
		next.n = min(next.n, longest(next.base))
		add(int(st.base)+int(st.n), -1)
		add(int(next.base)+int(next.n), 1)
		return next
	}
	next := state{kind: inWord, n: 1, upper: upper, space: st.kind == inBlank, mode: st.mode}
	if st.kind == inWord || st.kind == inDigits {
		next.row, next.code = min(st.row+1, 4), st.code
	}
	if st.kind == inMark && st.n == 1 {
		add(punct+1, -1)
		add(joined, 1)
	}
	switch {
	case next.row == 4 || next.code:
		next.base, next.row, next.code = random, 4, true
	case upper && next.space:
		next.base = capitals
	case upper:
		next.base = caps
	default:
		next.base = next.plainBase()
		next.space = false
	}
	add(int(next.base)+1, 1)
	return next
}

// plainBase is where the weights of a word in lower case are.
func (st state) plainBase() uint8 {
	switch {
	case !st.space:
		return bare
	case st.mode == european:
		return foreign
	}
	return spaced
}

func longest(base uint8) uint8 {
	switch base {
	case caps, capitals, mixed, arabic, hangul:
		return maxRun
	}
	return maxWord
}

func (st state) digit(add func(int, int32)) state {
	if st.kind == inDigits {
		st.n = st.n%3 + 1
		if st.n == 1 {
			add(digits, 1)
		}
		return st
	}
	next := state{kind: inDigits, n: 1, mode: st.mode}
	if st.kind == inWord {
		next.row, next.code = 4, true
	}
	if st.kind == inBlank {
		add(blankDigits, 1)
	}
	add(digits, 1)
	return next
}

// run adds a character to a run of a script, or begins one.
func (st state) run(base uint8, add func(int, int32)) state {
	n := uint8(1)
	if (st.kind == inRun || st.kind == inWord) && st.base == base {
		n = min(st.n+1, longest(base))
		add(int(base)+int(st.n), -1)
	}
	add(int(base)+int(n), 1)
	return state{kind: inRun, base: base, n: n}
}
