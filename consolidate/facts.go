package consolidate

import (
	"fmt"
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

// reading is a text with what the guard compares. Words and numbers have their forms as keys; what
// else a text has is a key with a mark before it that no word has.
type reading struct {
	form   string
	tokens []text.Token
	at     map[string]span
	facts  []fact
	words  []word // and numbers
	units  []pair
	rows   []string // of characters without blanks
}

// Marks of keys.
const (
	asWritten = "\x00written " // a word with its capitals
	anyNumber = "\x00unit "    // what stands after some number
)

// span is where a key stands first and last in a text, in tokens, and whether it does in lower
// case.
type span struct {
	first, last int
	lower       bool
}

// fact is one thing that a merged text may not change.
type fact struct {
	kind int
	keys []string // a text that has one of them says it too
	bare []string // one that has one of these and none of the keys denies it
	lax  bool     // it need not be in a source
}

// word is a word or a number of a text.
type word struct {
	text    string // in lower case
	token   int
	forms   []string
	capital bool // in the middle of a sentence, or at its start
	starts  bool // a sentence
}

// pair is a number and what stands after it.
type pair struct{ number, unit string }

func (p pair) key() string { return anyNumber + p.number + " " + p.unit }

// read takes the facts of a text. Its cost is near-linear in the text.
func read(content string) *reading {
	r := &reading{form: form(content), at: map[string]span{}}
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
			r.addIdentifier(t.Text)
		}
	}
	for field := range strings.FieldsSeq(r.form) {
		if field == "." || field == ".." { // directories, which are no tokens
			r.addIdentifier(field)
		}
	}
	if strings.ContainsAny(r.form, "?？") {
		r.addExact(meanings, "?")
	}
	for _, q := range quoting {
		for _, found := range q.FindAllStringSubmatch(r.form, -1) {
			r.addExact(quotations, strings.TrimSpace(found[1]))
		}
	}
	return r
}

// quoting are the ways to quote. Each is one expression of its own: then a mark that is
// never closed makes one pass over the text and no more.
var quoting = func() (all []*regexp.Regexp) {
	for _, marks := range []string{`""`, "``", "«»", "»«", "‹›", "「」", "『』"} {
		_, size := utf8.DecodeRuneInString(marks)
		all = append(all, regexp.MustCompile(fmt.Sprintf("%s([^%[2]s]*)%[2]s", marks[:size], marks[size:])))
	}
	return append(all, regexp.MustCompile(`(?:^|[\s(\[{=])'([^']*)'`))
}()

// place notes that keys stand at a token.
func (r *reading) place(token int, keys ...string) {
	for _, k := range keys {
		s, known := r.at[k]
		if !known {
			s.first = token
		}
		s.last = token
		r.at[k] = s
	}
}

func (r *reading) addFact(f fact) {
	r.facts = append(r.facts, f)
	if !f.lax {
		r.place(0, f.keys...)
	}
}

// addExact adds a fact that every text writes alike.
func (r *reading) addExact(kind int, s string) {
	r.addFact(fact{kind: kind, keys: []string{exactKey(kind, s)}})
}

func exactKey(kind int, s string) string { return fmt.Sprint("\x00", kind, " ", s) }

func (r *reading) addIdentifier(s string) {
	bare := strings.ToLower(strings.TrimFunc(s, func(c rune) bool { return !unicode.IsLetter(c) }))
	r.addFact(fact{kind: identifiers, keys: []string{exactKey(identifiers, s)}, bare: []string{bare}})
}

// addMarked adds a word that must be kept, if it is one.
func (r *reading) addMarked(forms []string) {
	if kind, ok := markedKind(forms); ok {
		r.addFact(fact{kind: kind, keys: forms, lax: true})
	}
}

func markedKind(forms []string) (int, bool) {
	for _, f := range forms {
		if kind, ok := marked[f]; ok {
			return kind, true
		}
	}
	return 0, false
}

// between is what stands between a token and the next.
func (r *reading) between(i int) string {
	end := r.tokens[i].At + len(r.tokens[i].Text)
	return r.form[end:max(end, r.tokens[i+1].At)]
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

func (r *reading) endsBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if r.ends(i) {
			return true
		}
	}
	return false
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
		if before := r.tokens[i-1]; before.Kind == text.Symbol || before.Kind == text.Word && isAllCapitals(before.Text) {
			number = before.Text + " " + number
		}
	}
	if r.adjoins(i) {
		next := r.tokens[i+1].Text
		switch first, size := utf8.DecodeRuneInString(next); {
		case isContent(first):
			number += " " + next[:size]
		case r.tokens[i+1].Kind != text.Pair && !strings.ContainsFunc(next, unicode.IsNumber):
			r.addUnit(pair{number, next})
		}
	}
	kind := numbers
	rest := strings.TrimLeftFunc(t.Text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) })
	if first, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(first) {
		kind = identifiers
	}
	r.addExact(kind, number)
	r.words = append(r.words, word{text: number, token: i, forms: []string{number}})
	r.place(i, number)
}

// addUnit adds what may be the unit of a number. A merged text must have it too, but not beside
// the number if it is a word.
func (r *reading) addUnit(u pair) {
	r.units = append(r.units, u)
	r.place(0, anyNumber+u.unit, u.key())
	if len(u.unit) > 1 && isConnecting(strings.ToLower(u.unit)) {
		return
	}
	keys := []string{u.key(), asWritten + u.unit}
	if utf8.RuneCountInString(u.unit) > 3 { // MB is not Mb
		keys = append(keys, forms(u.unit)...)
	}
	r.addFact(fact{kind: numbers, keys: keys, lax: true})
}

func isAllCapitals(s string) bool {
	return utf8.RuneCountInString(s) > 1 && strings.ToUpper(s) == s && strings.ToLower(s) != s
}

// isContent reports whether a character of a script without blanks carries meaning by itself.
func isContent(c rune) bool {
	return unicode.Is(unicode.Han, c) || unicode.Is(unicode.Katakana, c)
}

// readWord adds a word, and what it is contracted with.
func (r *reading) readWord(i int) {
	w := strings.TrimSuffix(r.tokens[i].Text, "'s")
	if head, rest, ok := strings.Cut(w, "'"); ok && elided[strings.ToLower(head)] {
		r.addWord(i, head)
		w = rest
	}
	lower := strings.ToLower(w)
	positive, contracted := strings.CutSuffix(lower, "n't")
	if contracted || lower == "cannot" {
		r.deny(i, "not")
		w = positive
		if positive == "ca" || !contracted {
			w = "can"
		}
	}
	r.addWord(i, w)
}

func (r *reading) addWord(i int, written string) {
	lower := strings.ToLower(written)
	if negation := negationOf(lower); negation != "" {
		r.deny(i, negation)
		return
	}
	if lower == "" { // before "n't" that stands alone
		return
	}
	first, size := utf8.DecodeRuneInString(written)
	if strings.ContainsFunc(written[size:], unicode.IsUpper) && !isAllCapitals(written) {
		r.addIdentifier(written)
	}
	w := word{text: lower, token: i, forms: forms(lower), capital: unicode.IsUpper(first), starts: i == 0 || r.ends(i-1)}
	r.words = append(r.words, w)
	r.place(i, w.forms...)
	r.place(i, asWritten+written)
	if !w.capital {
		for _, f := range w.forms {
			s := r.at[f]
			s.lower = true
			r.at[f] = s
		}
	}
	r.addMarked(w.forms)
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

// deny adds a negation with the words beside it.
func (r *reading) deny(i int, negation string) {
	after, before := r.beside(i, 1), r.beside(i, -1)
	if after == "" {
		after = before
	}
	r.addDenial(negation, after, before)
}

func (r *reading) addDenial(negation, denied, beside string) {
	d := fact{kind: denials, bare: forms(denied)}
	for _, f := range d.bare {
		d.keys = append(d.keys, "\x00"+negation+" "+f)
	}
	for _, f := range forms(beside) {
		d.keys = append(d.keys, "\x00"+f+" "+negation)
	}
	r.addFact(d)
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

// readRow adds a row of characters without blanks: its pairs, and numerals, negations and dates
// in it.
func (r *reading) readRow(i int) {
	end := i
	for r.overlaps(end) {
		end++
	}
	row := r.form[r.tokens[i].At : r.tokens[end].At+len(r.tokens[end].Text)]
	r.rows = append(r.rows, row)
	chars := []rune(row)
	content, numeral := "", ""
	for k, c := range chars {
		if isContent(c) {
			content = string(c)
		}
		for n := 1; n <= 3 && k+n <= len(chars); n++ {
			part := string(chars[k : k+n])
			r.place(i, part)
			r.addMarked([]string{part})
			if negations[part] {
				r.addDenial(part, content, content)
			}
		}
		if isNumeral(c) {
			numeral += string(c)
			if k+1 < len(chars) && isNumeral(chars[k+1]) {
				continue
			}
			if k+1 < len(chars) && isContent(chars[k+1]) {
				numeral += string(chars[k+1])
			}
			r.addExact(numbers, numeral)
			numeral = ""
		}
	}
}

func isNumeral(c rune) bool {
	return strings.ContainsRune("〇零一二三四五六七八九十百千万億亿兆両两半", c) || unicode.IsNumber(c)
}
