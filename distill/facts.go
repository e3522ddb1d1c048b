package distill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// facts splits a text into what can stand by itself: its lines, and the sentences
// of a line. A sentence is never cut, so that it keeps its numbers, dates, names and
// negations; where it is in doubt whether one ends, it does not.
func facts(text string, yield func(string)) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		for line != "" {
			n := sentence(line)
			if f := trim(line[:n]); f != "" {
				yield(f)
			}
			line = line[n:]
		}
	}
}

// sentence is the length of the first sentence of a line.
func sentence(line string) int {
	for i, r := range line {
		switch r {
		case '.', '!', '?':
			if ends(line, i) {
				return i + 1
			}
		case '。', '！', '？', '।', '؟', '۔':
			end := i + utf8.RuneLen(r)
			if next, n := utf8.DecodeRuneInString(line[end:]); strings.ContainsRune("」』”）", next) {
				end += n
			}
			return end
		}
	}
	return len(line)
}

// ends reports whether the mark at i ends a sentence: white space behind it, then
// something that begins one, and no abbreviation before it.
func ends(line string, i int) bool {
	rest := strings.TrimLeft(line[i+1:], " \t")
	if len(rest) == len(line)-i-1 || rest == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	if !unicode.IsLetter(first) || unicode.IsLower(first) {
		return false
	}
	if line[i] != '.' {
		return true
	}
	if c := line[max(0, i-1)]; classOf(rune(c)) == isMark {
		return true // behind a closing bracket, say
	}
	word := line[strings.LastIndexAny(line[:i], " \t(")+1 : i]
	if strings.Contains(word, ".") {
		return false // e.g. U.S. or z.B.
	}
	head, _ := utf8.DecodeRuneInString(word)
	return len(word) > 3 || len(word) > 1 && unicode.IsLower(head) || unicode.IsDigit(head) && len(word) > 2
}

// trim takes off white space and the bullet of a list.
func trim(s string) string {
	s = strings.TrimSpace(s)
	for _, bullet := range []string{"- ", "* ", "• "} {
		if rest, ok := strings.CutPrefix(s, bullet); ok {
			return strings.TrimSpace(rest)
		}
	}
	return s
}

// sameFact is equal for facts that differ in white space or a full stop only.
// Anything else, were it only the case of a letter, may be another fact.
func sameFact(s string) string {
	return strings.Join(strings.Fields(strings.TrimRight(s, ".。 ")), " ")
}
