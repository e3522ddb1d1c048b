package consolidate

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/text"
)

// The kinds of facts that a merged text may not change (C8), in the order in which a
// reason names them.
const (
	numbers = iota
	dates
	names
	denials
	quotations
	identifiers
	meanings
	orders
	kinds
)

var kindNames = [kinds]string{"numbers", "dates", "names", "negations", "quotations", "identifiers", "words", "order of the words"}

// fact is one thing that a merged text may not change.
type fact struct {
	kind int
	text string
}

// word is a word or a number of a text.
type word struct {
	text    string // in lower case
	token   int
	forms   []string
	capital bool // in the middle of a sentence, or at its start
	starts  bool // a sentence
}

// span is where a number or a form of a word stands first and last in a text.
type span struct{ first, last int }

// pair is a number and what stands after it.
type pair struct{ number, unit string }

// reading is a text with what the guard compares.
type reading struct {
	form    string
	tokens  []text.Token
	facts   map[fact]bool // numbers, quotations and identifiers, as they stand
	bare    map[string]fact
	words   []word          // and numbers
	at      map[string]span // of numbers and forms of words
	lower   words           // the forms of words in lower case
	written words           // words as they stand
	guarded map[fact]bool   // dates, number words and the like that the text has
	denials map[string]denial
	denied  words // the keys of its denials
	units   map[pair]bool
	unit    words    // what stands after a number
	rows    []string // of characters without blanks
	chars   words    // pairs of them, and each
}

// denial is a negation.
type denial struct {
	keys []string // the negation with a form of a word beside it
	of   []string // the forms of the word that it denies
}

func newReading() *reading {
	return &reading{
		facts: map[fact]bool{}, bare: map[string]fact{}, at: map[string]span{}, lower: words{}, written: words{}, guarded: map[fact]bool{},
		denials: map[string]denial{}, denied: words{}, units: map[pair]bool{}, unit: words{}, chars: words{},
	}
}

// read takes the facts of a text. Its cost is near-linear in the text.
func read(content string) *reading {
	r := newReading()
	r.form = form(content)
	r.tokens = slices.Collect(text.Tokens(r.form))
	for i, t := range r.tokens {
		switch {
		case t.Kind == text.Word:
			r.readWord(i)
		case t.Kind == text.Pair:
			if i == 0 || !r.overlaps(i-1) {
				r.readRow(i)
			}
		case t.Kind == text.Code && strings.ContainsFunc(t.Text, unicode.IsNumber):
			r.readNumber(i)
		// A dash or a bullet between words says nothing, and neither does emphasis.
		case t.Kind == text.Code || strings.Trim(t.Text, "*•_#") != "" && t.Text != "-" && t.Text != "–":
			r.identifier(t.Text)
		}
	}
	for field := range strings.FieldsSeq(r.form) {
		if field == "." || field == ".." { // directories, which are no tokens
			r.identifier(field)
		}
	}
	if strings.ContainsAny(r.form, "?？") {
		r.facts[fact{meanings, "?"}] = true
	}
	for _, q := range quoting {
		for _, found := range q.FindAllStringSubmatch(r.form, -1) {
			r.facts[fact{quotations, strings.TrimSpace(found[1])}] = true
		}
	}
	return r
}

func (r *reading) identifier(s string) {
	f := fact{identifiers, s}
	r.facts[f] = true
	bare := strings.ToLower(strings.TrimFunc(s, func(c rune) bool { return !unicode.IsLetter(c) }))
	if bare != "" {
		r.bare[bare] = f
	}
}

// between is what stands between a token and the next.
func (r *reading) between(i int) string {
	return r.form[r.tokens[i].At+len(r.tokens[i].Text) : max(r.tokens[i].At+len(r.tokens[i].Text), r.tokens[i+1].At)]
}

// overlaps reports whether a token and the next are of one row of characters without blanks.
func (r *reading) overlaps(i int) bool {
	return i+1 < len(r.tokens) && r.tokens[i+1].Kind == text.Pair && r.tokens[i].Kind == text.Pair &&
		r.tokens[i+1].At < r.tokens[i].At+len(r.tokens[i].Text)
}

// ends reports whether a sentence ends after a token.
func (r *reading) ends(i int) bool {
	return i+1 >= len(r.tokens) || strings.ContainsAny(r.between(i), ".!?;:\n。！？")
}

// adjoins reports whether nothing but blanks stands between a token and the next.
func (r *reading) adjoins(i int) bool {
	return i >= 0 && i+1 < len(r.tokens) && strings.Trim(r.between(i), " \t") == ""
}

// readNumber adds what has a digit, with the sign or operator and the currency before it and
// what may be its unit.
func (r *reading) readNumber(i int) {
	t := r.tokens[i]
	number, end := t.Text, t.At+len(t.Text)
	if t.At > 0 && r.form[t.At-1] == '(' && end < len(r.form) && r.form[end] == ')' {
		number = "(" + number + ")" // a negative amount
	}
	if r.adjoins(i - 1) {
		if before := r.tokens[i-1]; before.Kind == text.Symbol || before.Kind == text.Word && allCapitals(before.Text) {
			number = before.Text + " " + number
		}
	}
	if r.adjoins(i) {
		next := r.tokens[i+1].Text
		switch first, size := utf8.DecodeRuneInString(next); {
		case isContent(first):
			number += " " + next[:size]
		case r.tokens[i+1].Kind != text.Pair && !strings.ContainsFunc(next, unicode.IsNumber):
			r.units[pair{number, next}] = true
			r.unit[next] = true
		}
	}
	kind := numbers
	if first := strings.IndexFunc(t.Text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }); unicode.IsLetter(runeAt(t.Text, first)) {
		kind = identifiers
	}
	r.facts[fact{kind, number}] = true
	w := word{text: number, token: i, forms: []string{number}}
	r.words = append(r.words, w)
	r.place(w)
}

func runeAt(s string, at int) rune {
	c, _ := utf8.DecodeRuneInString(s[at:])
	return c
}

func allCapitals(s string) bool {
	return utf8.RuneCountInString(s) > 1 && strings.ToUpper(s) == s && strings.ToLower(s) != s
}

// isContent reports whether a character of a script without blanks carries meaning by itself.
func isContent(c rune) bool {
	return unicode.Is(unicode.Han, c) || unicode.Is(unicode.Katakana, c)
}

func (r *reading) place(w word) {
	for _, f := range w.forms {
		s, known := r.at[f]
		if !known {
			s.first = w.token
		}
		s.last = w.token
		r.at[f] = s
	}
}

// readWord adds a word, and what it is contracted with.
func (r *reading) readWord(i int) {
	w := strings.TrimSuffix(r.tokens[i].Text, "'s")
	if head, rest, ok := strings.Cut(w, "'"); ok && elided[strings.ToLower(head)] {
		r.addWord(i, head)
		w = rest
	}
	lower := strings.ToLower(w)
	if positive, ok := strings.CutSuffix(lower, "n't"); ok {
		r.deny(i, "not")
		w = positive
		if positive == "ca" {
			w = "can"
		}
	} else if lower == "cannot" {
		r.deny(i, "not")
		w = "can"
	}
	r.addWord(i, w)
}

// elided are the words that stand before an apostrophe in French.
var elided = set("l d n s c j m t qu")

func (r *reading) addWord(i int, written string) {
	lower := strings.ToLower(written)
	if negation := negationOf(lower); negation != "" {
		r.deny(i, negation)
		return
	}
	first, size := utf8.DecodeRuneInString(written)
	if strings.ContainsFunc(written[size:], unicode.IsUpper) && !allCapitals(written) {
		r.identifier(written)
	}
	w := word{text: lower, token: i, forms: forms(lower), capital: unicode.IsUpper(first), starts: i == 0 || r.ends(i-1)}
	r.words = append(r.words, w)
	r.written[written] = true
	r.place(w)
	if !w.capital {
		for _, f := range w.forms {
			r.lower[f] = true
		}
	}
	if kind, ok := guardedKind(w.forms); ok {
		r.guarded[fact{kind, lower}] = true
	}
}

// negationOf is the negation that a word is, "" if none.
func negationOf(lower string) string {
	switch {
	case lower == "no":
		return "not"
	case lower == "n":
		return "ne"
	case strings.HasPrefix(lower, "kein") && len(lower) <= len("keinen"):
		return "kein"
	case negations[lower]:
		return lower
	}
	return ""
}

func guardedKind(forms []string) (int, bool) {
	for _, f := range forms {
		if kind, ok := marked[f]; ok {
			return kind, true
		}
	}
	return 0, false
}

// deny adds a negation with the words beside it.
func (r *reading) deny(i int, negation string) {
	after, before := r.beside(i, 1), r.beside(i, -1)
	if after == "" {
		after = before
	}
	r.addDenial(negation, after, before)
}

func (r *reading) addDenial(negation, denied, beside string) {
	name := negation + " " + denied + " " + beside
	if _, known := r.denials[name]; known {
		return
	}
	d := denial{of: forms(denied)}
	for _, f := range d.of {
		d.keys = append(d.keys, negation+" "+f)
	}
	for _, f := range forms(beside) {
		d.keys = append(d.keys, f+" "+negation)
	}
	for _, key := range d.keys {
		r.denied[key] = true
	}
	r.denials[name] = d
}

// beside is the nearest word of the sentence, before or after a token, that is neither a
// connecting word nor a negation; "" if there is none.
func (r *reading) beside(i, step int) string {
	const far = 16 // more small words in a row are no sentence
	for k := i + step; k >= 0 && k < len(r.tokens) && k != i+far*step && !r.ends(min(k, k-step)); k += step {
		lower := strings.ToLower(strings.TrimSuffix(r.tokens[k].Text, "'s"))
		if r.tokens[k].Kind != text.Symbol && negationOf(lower) == "" && !isSmall(lower) {
			return lower
		}
	}
	return ""
}

// readRow adds a row of characters without blanks: numerals, negations and dates in it.
func (r *reading) readRow(i int) {
	end := i
	for r.overlaps(end) {
		end++
	}
	row := r.form[r.tokens[i].At : r.tokens[end].At+len(r.tokens[end].Text)]
	r.rows = append(r.rows, row)
	chars := []rune(row)
	content := ""
	for k := 0; k < len(chars); k++ {
		r.chars[string(chars[k])] = true
		if k > 0 {
			r.chars[string(chars[k-1:k+1])] = true
		}
		if isContent(chars[k]) {
			content = string(chars[k])
		}
		for n := 1; n <= 3 && k+n <= len(chars); n++ {
			part := string(chars[k : k+n])
			if kind, ok := marked[part]; ok {
				r.guarded[fact{kind, part}] = true
			}
			if negations[part] {
				r.addDenial(part, content, content)
			}
		}
	}
	for k := 0; k < len(chars); k++ {
		n := k
		for n < len(chars) && isNumeral(chars[n]) {
			n++
		}
		if n > k {
			if n < len(chars) && isContent(chars[n]) {
				n++
			}
			r.facts[fact{numbers, string(chars[k:n])}] = true
			k = n - 1
		}
	}
}

func isNumeral(c rune) bool {
	return strings.ContainsRune("〇零一二三四五六七八九十百千万億亿兆両两半", c) || unicode.IsNumber(c)
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
