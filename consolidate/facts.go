package consolidate

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/text"
)

// The kinds of facts that a merged text may not change (C8), in the order in which a
// reason names them.
var factKinds = [...]string{"numbers", "dates", "names", "negations", "quotations", "identifiers"}

const (
	numbers = iota
	dates
	names
	negations
	quotations
	identifiers
)

// fact is one thing that a merged text may not change.
type fact struct {
	kind int
	text string
}

// reading is a text with its guarded facts.
type reading struct {
	form     string
	tokens   []text.Token
	language *language // nil: none of the list
	facts    map[fact]bool
	words    words             // in lower case
	bare     map[string][]fact // the negations and identifiers by the word in them
}

// changedFact compares a merged text with the texts that it is to stand for, and says which
// rule it breaks; "" if none. Every fact of every source must be in it, and no other. No
// source may have the bare word of a negation or identifier without that: "closed" where
// the merged text has "not closed", "ok" where it has "!ok". If it is none of the sources
// in canonical form, all of them and itself must be in one of the [languages], since names
// and negations are known in these only. It errs to refusing.
func changedFact(merged string, sources []string) string {
	m := read(merged)
	all := make([]*reading, len(sources))
	known, said, verbatim := map[fact]bool{}, words{}, false
	for i, s := range sources {
		all[i] = read(s)
		maps.Copy(known, all[i].facts)
		maps.Copy(said, all[i].words)
		verbatim = verbatim || all[i].form == m.form
	}
	changed := len(factKinds)
	for f := range known {
		// A name may stand at the start of a sentence in one text only.
		if !m.facts[f] && !(f.kind == names && m.words[f.text]) {
			changed = min(changed, f.kind)
		}
	}
	for f := range m.facts {
		if !known[f] && !(f.kind == names && said[f.text]) {
			changed = min(changed, f.kind)
		}
	}
	for _, s := range all {
		if !verbatim && (m.language == nil || s.language != m.language) {
			return "the merged text is none of the texts, and the language is none that is known"
		}
		for w := range s.words {
			for _, f := range m.bare[w] {
				if !s.facts[f] {
					changed = min(changed, f.kind)
					break
				}
			}
		}
	}
	if changed < len(factKinds) {
		return "the merged text changes the " + factKinds[changed]
	}
	return ""
}

// read takes the facts of a text. Its cost is linear in the text.
func read(content string) *reading {
	r := &reading{form: form(content), facts: map[fact]bool{}, words: words{}, bare: map[string][]fact{}}
	r.tokens = slices.Collect(text.Tokens(r.form))
	r.language = languageOf(r.tokens)
	for i, t := range r.tokens {
		switch t.Kind {
		case text.Code:
			if strings.ContainsFunc(t.Text, unicode.IsNumber) {
				r.number(i)
			} else {
				r.add(identifiers, t.Text)
			}
		case text.Symbol:
			// A dash or a bullet between words says nothing, and neither does emphasis.
			if strings.Trim(t.Text, "*•_#") != "" && t.Text != "-" && t.Text != "–" {
				r.add(identifiers, t.Text)
			}
		case text.Word:
			r.word(i)
		case text.Pair:
			if n := numeral(t.Text); n != "" {
				r.add(numbers, n)
			}
		}
	}
	for field := range strings.FieldsSeq(r.form) {
		if field == "." || field == ".." { // directories, which are no tokens
			r.add(identifiers, field)
		}
	}
	r.quoted()
	return r
}

func (r *reading) add(kind int, s string) {
	f := fact{kind, s}
	if r.facts[f] {
		return
	}
	r.facts[f] = true
	bare := ""
	switch kind {
	case negations:
		_, bare, _ = strings.Cut(s, " ")
	case identifiers:
		bare = strings.ToLower(strings.TrimFunc(s, func(c rune) bool { return !unicode.IsLetter(c) }))
	}
	if bare != "" {
		r.bare[bare] = append(r.bare[bare], f)
	}
}

// numeral are the characters of a pair that are a number, such as "五".
func numeral(pair string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("〇零一二三四五六七八九十百千万億亿兆両两半", c) || unicode.IsNumber(c) {
			return c
		}
		return -1
	}, pair)
}

// number adds what has a digit, with the sign or operator and the currency before it and
// the unit after it.
func (r *reading) number(i int) {
	t := r.tokens[i]
	fact := t.Text
	end := t.At + len(t.Text)
	if t.At > 0 && r.form[t.At-1] == '(' && end < len(r.form) && r.form[end] == ')' {
		fact = "(" + fact + ")" // a negative amount
	}
	if i > 0 && r.apart(i-1, i) {
		if before := r.tokens[i-1]; before.Kind == text.Symbol || before.Kind == text.Word && allCaps(before.Text) {
			fact = before.Text + " " + fact
		}
	}
	if i+1 < len(r.tokens) && r.apart(i, i+1) {
		next := r.tokens[i+1]
		lower := strings.ToLower(next.Text)
		switch {
		case next.Kind == text.Pair:
			_, size := utf8.DecodeRuneInString(next.Text)
			fact += " " + next.Text[:size]
		case strings.Contains(t.Text, ":"): // a time of day
			if halves[lower] {
				fact += " " + lower
			}
		case next.Kind != text.Word || !r.isSmall(lower):
			fact += " " + next.Text
		}
	}
	if strings.ContainsFunc(fact, unicode.IsLetter) && !startsNumber(t.Text) {
		r.add(identifiers, fact)
	} else {
		r.add(numbers, fact)
	}
}

// halves follow a time of day and belong to it.
var halves = set("am pm a.m p.m uhr")

// startsNumber reports whether the first letter or digit is a digit.
func startsNumber(s string) bool {
	for _, c := range s {
		if unicode.IsNumber(c) || unicode.IsLetter(c) {
			return unicode.IsNumber(c)
		}
	}
	return false
}

// apart reports whether nothing but blanks stands between a token and the next.
func (r *reading) apart(i, k int) bool {
	return strings.Trim(r.form[r.tokens[i].At+len(r.tokens[i].Text):r.tokens[k].At], " \t") == ""
}

func (r *reading) isSmall(lower string) bool {
	return r.language != nil && (r.language.tells[lower] || r.language.small[lower])
}

func allCaps(s string) bool {
	return utf8.RuneCountInString(s) > 1 && strings.ToUpper(s) == s && strings.ToLower(s) != s
}

// word adds what a word may be: a name, an identifier, a date, a number or a negation.
func (r *reading) word(i int) {
	w := r.tokens[i].Text
	w = strings.TrimSuffix(w, "'s")
	lower := strings.ToLower(w)
	r.words[lower] = true
	if l := r.language; l != nil {
		switch {
		case l.dates[lower]:
			r.add(dates, lower)
		case l.numbers[lower]:
			r.add(numbers, lower)
		}
		if deny := l.denies(lower); deny != "" {
			r.add(negations, deny+" "+r.denied(i))
			return
		}
		if r.isSmall(lower) {
			return
		}
	}
	first, size := utf8.DecodeRuneInString(w)
	switch {
	case strings.ContainsFunc(w[size:], unicode.IsUpper):
		r.add(identifiers, w)
	case unicode.IsUpper(first):
		r.add(names, lower)
	}
}

// denies is the negation that a word is or ends with.
func (l *language) denies(lower string) string {
	switch {
	case l.negations[lower]:
		if lower == "cannot" {
			return "not"
		}
		return lower
	case l.name == "English" && strings.HasSuffix(lower, "n't"):
		return "not"
	case l.name == "French" && strings.HasPrefix(lower, "n'"):
		return "ne"
	}
	return ""
}

// denied is the word that a negation is about: the next of its sentence that is neither
// small nor a negation, or else the last before it.
func (r *reading) denied(i int) string {
	content := func(k int) string {
		t := r.tokens[k]
		lower := strings.ToLower(t.Text)
		if t.Kind == text.Symbol || r.isSmall(lower) || r.language.denies(lower) != "" {
			return ""
		}
		return lower
	}
	ends := func(k int) bool {
		return strings.ContainsAny(r.form[r.tokens[k].At+len(r.tokens[k].Text):r.tokens[k+1].At], ".!?;,\n")
	}
	const far = 16 // more small words in a row are no sentence
	for k := i; k+1 < len(r.tokens) && k < i+far && !ends(k); k++ {
		if w := content(k + 1); w != "" {
			return w
		}
	}
	for k := i - 1; k >= 0 && k > i-far && !ends(k); k-- {
		if w := content(k); w != "" {
			return w
		}
	}
	return ""
}

// quoting are the ways to quote. Each is one expression of its own: then a mark that is
// never closed makes one pass over the text and no more.
var quoting = []*regexp.Regexp{
	regexp.MustCompile(`"([^"]*)"`),
	regexp.MustCompile("`([^`]*)`"),
	regexp.MustCompile(`«([^»]*)»`),
	regexp.MustCompile(`»([^«]*)«`),
	regexp.MustCompile(`‹([^›]*)›`),
	regexp.MustCompile(`「([^」]*)」`),
	regexp.MustCompile(`『([^』]*)』`),
	regexp.MustCompile(`(?:^|[\s(\[{=])'([^']*)'`),
}

// quoted adds what stands between quotation marks.
func (r *reading) quoted() {
	for _, q := range quoting {
		for _, found := range q.FindAllStringSubmatch(r.form, -1) {
			r.add(quotations, strings.TrimSpace(found[1]))
		}
	}
}
