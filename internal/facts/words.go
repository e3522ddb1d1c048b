package facts

import (
	"cmp"
	_ "embed"
	"strings"
	"unicode/utf8"
)

//go:embed words.txt
var wordsText string

// linesOf are the lines of a list of words.txt, word by word.
func linesOf(name string) (lines [][]string) {
	_, list, _ := strings.Cut(wordsText, "\n["+name+"]\n")
	list, _, _ = strings.Cut(list, "\n[")
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); line[0] != '#' && len(words) > 0 {
			lines = append(lines, words)
		}
	}
	return lines
}

// listed are the words of a list.
func listed(name string) map[string]bool {
	m := map[string]bool{}
	for _, line := range linesOf(name) {
		for _, w := range line {
			m[w] = true
		}
	}
	return m
}

var (
	connecting, persons = listed("connecting"), listed("persons")
	pairsOfPersons      = linesOf("persons")
	openers, elided     = listed("openers"), listed("elided")
	particles           = listed("particles")
)

// negations are words that deny, each with the first one of its kind, which stands behind a "=".
var negations = func() map[string]string {
	names := map[string]string{}
	for w := range listed("negations") {
		w, name, _ := strings.Cut(w, "=")
		names[w] = cmp.Or(name, w)
	}
	return names
}()

// irregular are words that are the same up to inflection, without another ending, each with the
// key of its line.
var irregular = func() map[string]string {
	keys := map[string]string{}
	for _, line := range linesOf("irregular") {
		for _, w := range line {
			keys[w] = "=" + line[0]
		}
	}
	return keys
}()

// endings have the marks of the lines of endings that exchange each other in inflection.
var endings = func() map[string][]string {
	marks := map[string][]string{}
	for i, line := range linesOf("inflections") {
		for _, ending := range line {
			ending = strings.TrimPrefix(ending, "-")
			marks[ending] = append(marks[ending], string(rune('0'+i)))
		}
	}
	return marks
}()

// marked are the forms of the other words that a merged text must keep, with their kinds.
var marked = func() map[string]int {
	all := map[string]int{}
	for kind, name := range map[int]string{dates: "dates", numbers: "numbers", meanings: "meanings"} {
		for w := range listed(name) {
			for _, f := range forms(w) {
				all[f] = kind
			}
		}
	}
	return all
}()

// isConnecting reports whether a word connects what others say.
func isConnecting(lower string) bool { return connecting[lower] || persons[lower] }

// isSmall reports whether a word says nothing without those beside it.
func isSmall(lower string) bool {
	return isConnecting(lower) || openers[lower] || irregular[lower] != ""
}

// spelling writes a word in lower case and without what its spellings differ in.
var spelling = strings.NewReplacer("-", "", "‐", "", "ß", "ss", "ё", "е", "\u0301", "")

// forms are the keys of a word: it and another one are the same up to inflection if they share a key.
func forms(word string) []string {
	word = spelling.Replace(strings.ToLower(word))
	keys := []string{word}
	if key, ok := irregular[word]; ok {
		keys = append(keys, key)
	}
	if len(word) > 64 {
		return keys
	}
	for stem, letters := word, utf8.RuneCountInString(word); letters >= 3; letters-- {
		for _, mark := range endings[word[len(stem):]] {
			keys = append(keys, stem+mark)
		}
		_, last := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-last]
	}
	return keys
}
