package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tokens "github.com/openwop/agentmemory/internal/text"
)

// form is the canonical form of a text: two entries whose texts have the same form say
// the same (C8). It changes four things and nothing else:
//
//   - A letter and the marks after it become the one character that Unicode composes
//     them to: letters of the Latin, Greek, Cyrillic and Arabic scripts, Kana and Hangul.
//   - A run of blanks between two words of a line becomes one blank. Blanks at the end of
//     a line and blank lines at the end of the text go. What indents a line stays.
//   - Typographic quotation marks, apostrophes and spaces become those of ASCII.
//   - One full stop at the end of the text goes if it stands after a letter and the text
//     has three words or more, which are what blanks and line ends separate.
func form(text string) string {
	text = tokens.Compose(text)
	var b strings.Builder
	b.Grow(len(text))
	indent := true
	for i := 0; i < len(text); {
		if end := runOfBlanks(text, i); end > i {
			run := text[i:end]
			switch {
			case end == len(text) || text[end] == '\n':
			case indent:
				for _, r := range run {
					b.WriteRune(plainBlank(r))
				}
			case strings.Contains(run, "\r"):
				b.WriteByte('\r')
			default:
				b.WriteByte(' ')
			}
			i = end
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError {
			b.WriteString(text[i : i+size])
		} else {
			b.WriteRune(plainQuote(r))
		}
		indent = r == '\n'
		i += size
	}
	return withoutStop(strings.TrimRight(b.String(), "\n"))
}

// withoutStop drops the full stop at the end of a text that is in form otherwise.
func withoutStop(text string) string {
	rest, stop := strings.CutSuffix(text, ".")
	if !stop {
		return text
	}
	if r, _ := utf8.DecodeLastRuneInString(rest); !unicode.IsLetter(r) && !unicode.IsMark(r) {
		return text
	}
	words := 0
	for range strings.FieldsSeq(rest) {
		if words++; words == 3 {
			return rest
		}
	}
	return text
}

// runOfBlanks is where the blanks that begin at i end. A carriage return is one of them.
func runOfBlanks(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r != ' ' && r != '\t' && r != '\r' && (r < utf8.RuneSelf || !unicode.Is(unicode.Zs, r)) {
			break
		}
		i += size
	}
	return i
}

// plainBlank is a blank of the indentation.
func plainBlank(r rune) rune {
	if r == '\t' || r == '\r' {
		return r
	}
	return ' '
}

func plainQuote(r rune) rune {
	switch r {
	case '“', '”', '„', '‟':
		return '"'
	case '‘', '’', '‚', '‛':
		return '\''
	}
	return r
}
