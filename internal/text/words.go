package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terms yields the words by which a text is found, in the order of the text: in lower case, without
// accents and English endings, with the parts of identifiers and numbers.
func Terms(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for t := range Tokens(s) {
			folded := fold(t.Text)
			switch t.Kind {
			case Word:
				if !words(folded, yield) || camel(t.Text) && !parts(t.Text, folded, yield) {
					return
				}
			case Pair:
				if !yield(folded) || !signs(folded, yield) {
					return
				}
			case Symbol:
				if !yield(folded) {
					return
				}
			case Code:
				if !yield(folded) || !parts(t.Text, folded, yield) {
					return
				}
				if n := ungrouped(folded); n != "" && !yield(n) {
					return
				}
			}
		}
	}
}

// ungrouped is a number in groups of three digits, such as "12,500", without what separates them; ""
// for anything else.
func ungrouped(code string) string {
	digit := func(r rune) bool { return '0' <= r && r <= '9' }
	code = strings.TrimFunc(code, func(r rune) bool { return !digit(r) })
	groups := strings.FieldsFunc(code, func(r rune) bool { return strings.ContainsRune(",.'’", r) })
	for i, g := range groups {
		if strings.TrimFunc(g, digit) != "" || len(g) > 3 || i > 0 && len(g) < 3 {
			return ""
		}
	}
	if len(groups) < 2 {
		return ""
	}
	return strings.Join(groups, "")
}

// signs yields each Han character of a pair, since one alone can be a word.
func signs(pair string, yield func(string) bool) bool {
	for i, r := range pair {
		if size := utf8.RuneLen(r); size < len(pair) && unicode.Is(unicode.Han, r) && !yield(pair[i:i+size]) {
			return false
		}
	}
	return true
}

// words yields the term of a word, and those of the parts of a word with hyphens.
func words(word string, yield func(string) bool) bool {
	word = strings.TrimSuffix(strings.ReplaceAll(word, "’", "'"), "'s")
	if whole, _, hyphened := strings.Cut(word, "-"); hyphened && whole != "" {
		if !yield(word) {
			return false
		}
		for part := range strings.SplitSeq(word, "-") {
			if part != "" && !yield(Stem(part)) {
				return false
			}
		}
		return true
	}
	return yield(Stem(word))
}

// camel reports whether a word has a capital behind a small letter, as names in code have.
func camel(word string) bool {
	small := false
	for _, r := range word {
		if small && unicode.IsUpper(r) {
			return true
		}
		small = unicode.IsLower(r)
	}
	return false
}

// parts yields the words and numbers that an identifier, a path or an address is made of,
// unless it is all one.
func parts(code, folded string, yield func(string) bool) bool {
	start := 0
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			return 1
		case unicode.IsNumber(r):
			return 2
		}
		return 0
	}
	end := func(at int) bool {
		part := fold(code[start:at])
		if part == "" || part == folded || kind(firstRune(part)) == 0 {
			return true
		}
		return yield(Stem(part))
	}
	last, lower := 0, false
	for i, r := range code {
		k := kind(r)
		if camel := k == 1 && last == 1 && lower && unicode.IsUpper(r); k != last || camel {
			if !end(i) {
				return false
			}
			start = i
		}
		last, lower = k, unicode.IsLower(r)
	}
	return end(len(code))
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// fold is a token in lower case, without the marks that stand alone behind a letter.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				if base, ok := plain[r]; ok {
					return base
				}
				r = unicode.ToLower(r)
				if base, ok := plain[r]; ok {
					return base
				}
				return r
			}, s)
		}
	}
	return strings.ToLower(s)
}

// plain are letters with an accent that people leave out when they ask, in lower case.
var plain = func() map[rune]rune {
	m := map[rune]rune{}
	for base, accented := range map[rune]string{
		'a': "àáâãäåāăą", 'c': "çćĉċč", 'd': "ďđ", 'e': "èéêëēĕėęě", 'g': "ĝğġģ", 'h': "ĥħ", 'i': "ìíîïĩīĭįı",
		'j': "ĵ", 'k': "ķ", 'l': "ĺļľł", 'n': "ñńņň", 'o': "òóôõöøōŏő", 'r': "ŕŗř", 's': "śŝşšș", 't': "ţťț",
		'u': "ùúûüũūŭůűų", 'w': "ŵ", 'y': "ýÿŷ", 'z': "źżž", 'е': "ё",
	} {
		for _, r := range accented {
			m[r] = base
		}
	}
	return m
}()

// Asks reports whether a term is a word that questions are made of.
func Asks(term string) bool { return asking[term] }

// asking are words that questions are made of, and that say little of what is asked for: in
// English, and of German, Spanish, French, Russian and Chinese those that are no word of English.
var asking = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about after all an and any are as at be been before being but by can could did do
		does doing done for from had has have having he her him his how i if in into is it its me my of on or our she
		should so some than that the their them then there these they this those to was we were what when where which
		who whom whose why will with would you your us
		der das den dem des ein eine einen einem einer und oder ist sind wer wie wo wann warum welche welcher welches welchen
		wir ich uns unser unsere unserem mit von zu im zum zur bei aus nach auf nicht haben wird werden wurde
		el los las un una unos unas del al y o que cual cuales cuando donde quien como por para con es son fue se su sus lo le nos
		nuestro nuestra en de la
		le les une du est qui quoi ou quand comment pourquoi dans avec pas nous notre
		что кто где куда когда как какой какая какое какие какого каких сколько почему чей это и в на с у к о об от до из за по для не мы я он она они наш мой
		的 了 吗 呢 是 在 我 们 我们 什 么 什么 哪 谁 多 少 多少 怎 怎么 吗`) {
		m[Stem(w)] = true
	}
	return m
}()
