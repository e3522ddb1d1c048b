package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terms returns the words by which a text is found, in the order of the text: in lower case, without
// accents and English endings, with the parts of identifiers and numbers.
func Terms(s string) (terms []string) {
	for t := range Tokens(s) {
		folded := fold(t.Text)
		switch t.Kind {
		case Word:
			terms = appendWord(terms, folded)
			if camel(t.Text) {
				terms = appendParts(terms, t.Text, folded)
			}
		case Pair:
			terms = append(terms, folded)
			for _, r := range folded { // one Han character alone can be a word
				if utf8.RuneLen(r) < len(folded) && unicode.Is(unicode.Han, r) {
					terms = append(terms, string(r))
				}
			}
		case Symbol:
			terms = append(terms, folded)
		case Code:
			terms = appendParts(append(terms, folded), t.Text, folded)
			if n := ungrouped(folded); n != "" {
				terms = append(terms, n)
			}
		}
	}
	return terms
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

// appendWord appends the term of a word, and those of the parts of a word with hyphens.
func appendWord(terms []string, word string) []string {
	word = strings.TrimSuffix(strings.ReplaceAll(word, "’", "'"), "'s")
	whole, _, hyphened := strings.Cut(word, "-")
	if !hyphened || whole == "" {
		return append(terms, Stem(word))
	}
	terms = append(terms, word)
	for part := range strings.SplitSeq(word, "-") {
		if part != "" {
			terms = append(terms, Stem(part))
		}
	}
	return terms
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

// appendParts appends the words and numbers that an identifier, a path or an address is made of,
// unless it is all one.
func appendParts(terms []string, code, folded string) []string {
	kind := func(r rune) Kind {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			return Word
		case unicode.IsNumber(r):
			return Code
		}
		return Symbol
	}
	start, last, lower := 0, Symbol, false
	end := func(at int) {
		if part := fold(code[start:at]); last != Symbol && part != "" && part != folded {
			terms = append(terms, Stem(part))
		}
		start = at
	}
	for i, r := range code {
		k := kind(r)
		if camel := k == Word && last == Word && lower && unicode.IsUpper(r); k != last || camel {
			end(i)
		}
		last, lower = k, unicode.IsLower(r)
	}
	end(len(code))
	return terms
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
