package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestWord is how many letters a word of English can have. The rules look at letters
// recursively, and so must not be given a text of any length.
const longestWord = 64

// Stem takes the endings of English off a word in lower case: of plurals, of verbs, and
// some by which one kind of word is made from another. Off a word in Cyrillic letters it takes those of
// Russian cases and verbs. A word with anything else than the
// letters a to z, or with less than four of them or more than longestWord, stays as it is.
// What is left need not be a word; what matters is that the forms of one word have the same
// stem.
func Stem(w string) string {
	if len(w) < 4 || len(w) > longestWord {
		return w
	}
	if r, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Cyrillic, r) {
		return russian(w)
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	w = plural(w)
	w = verb(w)
	w = derived(w)
	if strings.HasSuffix(w, "e") && len(w) > 3 {
		w = w[:len(w)-1]
	} else if strings.HasSuffix(w, "y") && len(w) > 3 && !isVowel(w, len(w)-2) {
		w = w[:len(w)-1] + "i"
	}
	return w
}

// russianEndings are those of nouns, adjectives and verbs, the longer before the shorter.
var russianEndings = strings.Fields(`иями ами ями ией иям иях ого его ому ему ыми ими ает яет ают яют аем яем ать ять ить еть
	ах ях ов ев ей ой ий ый ая яя ое ее ые ие ым им ом ем ам ям ую юю ых их ия ии ию ья ье ью ет ют ит ят ут
	а я о е у ю ы и ь й`)

// russian takes one ending off a word, and before that the mark of a reflexive verb, unless less than three
// letters are left.
func russian(w string) string {
	w = strings.TrimSuffix(strings.TrimSuffix(w, "ся"), "сь")
	for _, ending := range russianEndings {
		if base, found := strings.CutSuffix(w, ending); found && utf8.RuneCountInString(base) >= 3 {
			return base
		}
	}
	return w
}

func plural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		return w[:len(w)-1]
	}
	return w
}

func verb(w string) string {
	for _, ending := range [...]string{"ing", "ed"} {
		base, found := strings.CutSuffix(w, ending)
		if !found {
			continue
		}
		if !hasVowel(base) || len(base) < 3 {
			return w
		}
		n := len(base)
		if base[n-1] == base[n-2] && !isVowel(base, n-1) && !strings.ContainsRune("lsz", rune(base[n-1])) {
			return base[:n-1] // planned, running
		}
		return base
	}
	return w
}

// endings that make one kind of word from another, longest first, with what they leave.
var endings = [...][2]string{
	{"ization", "ize"}, {"isation", "ize"}, {"ational", "ate"}, {"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"},
	{"ation", "ate"}, {"ition", "it"}, {"ment", ""}, {"ness", ""}, {"ally", "al"}, {"ously", "ous"}, {"ibly", "ible"}, {"ably", "able"},
	{"ily", "y"}, {"ly", ""}, {"ise", "ize"},
}

func derived(w string) string {
	for _, e := range endings {
		if base, found := strings.CutSuffix(w, e[0]); found {
			if len(base) >= 3 && hasVowel(base) {
				return base + e[1]
			}
			return w
		}
	}
	return w
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if isVowel(w, i) {
			return true
		}
	}
	return false
}

// isVowel tells whether the i-th letter is a vowel; y is one behind a consonant.
func isVowel(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !isVowel(w, i-1)
	}
	return false
}
