package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind tells what a [Token] is made of.
type Kind uint8

const (
	// Word is letters and their marks, with hyphens and apostrophes between letters.
	Word Kind = iota
	// Code has a digit or a symbol in it: a number with its sign, a date, a version, a
	// path, an address, a flag, an identifier. It is kept whole.
	Code
	// Pair is two neighbouring characters of a script that puts no blank between words,
	// such as Han, Kana or Thai, or one such character that stands alone. The pairs of a
	// row overlap.
	Pair
	// Symbol has neither letter nor digit, such as "!=" or "…".
	Symbol
)

// Token is a part of a text.
type Token struct {
	// Text is as it stands in the text, in its own case.
	Text string
	Kind Kind
	// At is the offset of its first byte.
	At int
}

// Tokens yields the tokens of a text in their order. Blanks, quotation marks, long
// dashes and the punctuation of East Asian scripts separate tokens. Sentence
// punctuation and brackets around a token do not belong to it: "(see v1.2)." holds
// "see" and "v1.2". A bracket that a token opens itself stays, as in "f(x)".
// What is nothing but such punctuation is no token.
//
// The cost is linear in the bytes of any text.
func Tokens(s string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for at := 0; at < len(s); {
			r, size := utf8.DecodeRuneInString(s[at:])
			switch {
			case separates(r):
				at += size
			case unspaced(r):
				end := runOf(s, at, unspaced)
				if !pairs(s, at, end, yield) {
					return
				}
				at = end
			default:
				end := runOf(s, at, func(r rune) bool { return !separates(r) && !unspaced(r) })
				if t := trimmed(s, at, end); t.Text != "" && !yield(t) {
					return
				}
				at = end
			}
		}
	}
}

func runOf(s string, at int, in func(rune) bool) int {
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if !in(r) {
			break
		}
		at += size
	}
	return at
}

// pairs yields the overlapping pairs of a row of characters.
func pairs(s string, at, end int, yield func(Token) bool) bool {
	_, size := utf8.DecodeRuneInString(s[at:end])
	if at+size == end {
		return yield(Token{s[at:end], Pair, at})
	}
	for at+size < end {
		_, next := utf8.DecodeRuneInString(s[at+size : end])
		if !yield(Token{s[at : at+size+next], Pair, at}) {
			return false
		}
		at, size = at+size, next
	}
	return true
}

// trimmed is the token in s[at:end], which holds no separator; it has no text if there
// is nothing but sentence punctuation and brackets.
func trimmed(s string, at, end int) Token {
	whole := s[at:end]
	t := strings.TrimLeft(whole, "([{'¿¡")
	cut := ".,;:!?'"
	if !strings.ContainsAny(t, "([{") {
		cut += ")]}"
	}
	start := end - len(t)
	t = strings.TrimRight(t, cut)
	kind := kindOf(t)
	if t != "" && kind == Symbol {
		return Token{whole, Symbol, at}
	}
	return Token{t, kind, start}
}

func kindOf(t string) Kind {
	kind, some := Word, false
	inLetters := false // the character before is a letter
	for i, r := range t {
		letter := r < utf8.RuneSelf && ('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsMark(r))
		switch {
		case letter:
			some = true
		case (r == '-' || r == '\'' || r == '’' || r == '‐') && inLetters && i+utf8.RuneLen(r) < len(t):
		default:
			kind = Code
			some = some || unicode.IsNumber(r)
		}
		inLetters = letter
	}
	if !some {
		return Symbol
	}
	return kind
}

// separates reports whether a character stands between tokens.
func separates(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == '"' || r == '`' || r == 0x7f
	}
	switch r {
	case '—', '―', '…', '“', '”', '„', '‟', '«', '»', '‹', '›', '‘', '‚', '‛':
		return true
	}
	return unicode.IsSpace(r) || r >= 0x3001 && r <= 0x303f && unicode.IsPunct(r) || r >= 0xff01 && r <= 0xff65 && strings.ContainsRune("！（），．：；？［］｛｝｡｢｣､･", r)
}

// unspaced reports whether a character is a letter or mark of a script that puts no
// blank between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r == 'ー'
}
