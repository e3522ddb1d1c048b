package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tokens "github.com/openwop/agentmemory/internal/text"
)

// Form returns the canonical form of a text: two entries whose texts have the same form say
// the same (C8). It changes four things and nothing else:
//
//   - A letter and the marks after it become the one character that Unicode composes
//     them to: letters of the Latin, Greek, Cyrillic and Arabic scripts, Kana and Hangul.
//   - A run of blanks between two words of a line becomes one blank. Blanks at the end of
//     a line and blank lines at the end of the text go. What indents a line stays.
//   - Typographic quotation marks, apostrophes and spaces become those of ASCII.
//   - One full stop at the end of the text goes if it stands after a letter and the text
//     has three words or more, which are what blanks and line ends separate.
func Form(text string) string {
	lines := strings.Split(plain.Replace(tokens.Compose(text)), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		rest := strings.TrimLeft(line, " \t")
		if strings.Contains(rest, "  ") || strings.Contains(rest, "\t") {
			line = line[:len(line)-len(rest)] + strings.Join(strings.FieldsFunc(rest, isBlank), " ")
		}
		lines[i] = line
	}
	return withoutStop(strings.TrimRight(strings.Join(lines, "\n"), "\n"))
}

var plain = strings.NewReplacer(
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "‘", "'", "’", "'", "‚", "'", "‛", "'",
	"\u00a0", " ", "\u1680", " ", "\u2000", " ", "\u2001", " ", "\u2002", " ", "\u2003", " ", "\u2004", " ", "\u2005", " ", "\u2006", " ",
	"\u2007", " ", "\u2008", " ", "\u2009", " ", "\u200a", " ", "\u202f", " ", "\u205f", " ", "\u3000", " ",
)

func isBlank(r rune) bool { return r == '\t' || r == ' ' }

// withoutStop drops the full stop at the end of a text that is in form otherwise.
func withoutStop(text string) string {
	rest := strings.TrimSuffix(text, ".")
	last, _ := utf8.DecodeLastRuneInString(rest)
	if rest != text && (unicode.IsLetter(last) || unicode.IsMark(last)) && len(strings.Fields(rest)) >= 3 {
		return rest
	}
	return text
}
