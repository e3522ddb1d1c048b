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
	lines := strings.Split(plainQuotes.Replace(tokens.Compose(text)), "\n")
	for i, line := range lines {
		line = strings.TrimRightFunc(line, func(r rune) bool { return r == '\r' || isBlank(r) })
		rest := strings.TrimLeftFunc(line, isBlank)
		lines[i] = plainIndent(line[:len(line)-len(rest)]) + strings.Join(strings.FieldsFunc(rest, isBlank), " ")
	}
	return withoutStop(strings.TrimRight(strings.Join(lines, "\n"), "\n"))
}

var plainQuotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "‘", "'", "’", "'", "‚", "'", "‛", "'")

func isBlank(r rune) bool {
	return r == '\t' || unicode.Is(unicode.Zs, r)
}

// plainIndent keeps the tabs of an indentation.
func plainIndent(indent string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, indent)
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
	if len(strings.Fields(rest)) < 3 {
		return text
	}
	return rest
}
