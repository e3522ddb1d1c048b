package facts

import (
	"fmt"
	"regexp"
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

var kindNames = [kinds]string{"numbers", "dates", "names", "negations", "quotations", "identifiers", "words", "the order of the words"}

// reading is a text with what the guard compares. Words and numbers have their forms as keys; what
// else a text has is a key with a mark before it that no word has.
type reading struct {
	form   string
	tokens []token
	at     map[string]span
	facts  []fact
	words  []word   // and numbers
	rows   []string // of characters without blanks
}

// token is a token of a text with the number of its sentence. It adjoins the one before it if
// nothing but blanks stands between them.
type token struct {
	text.Token
	sentence int
	adjoins  bool
}

// asWritten marks the key of a word with its capitals.
const asWritten = "\x00written "

// span is where a key stands first and last in a text, in tokens.
type span struct{ first, last int }

// fact is one thing that a merged text may not change.
type fact struct {
	kind int
	keys []string // a text that has one of them says it too
	bare []string // one that has one of these and none of the keys denies it
	lax  bool     // it need not be in a source
}

// word is a word or a number of a text.
type word struct {
	text     string // in lower case
	sentence int
	forms    []string
	capital  bool   // in the middle of a sentence, or at its start
	starts   bool   // a sentence
	unit     string // the word after a number, which may be its unit
}

// unitKey is the key of a unit after some number, or of one after a number.
func unitKey(unit string) string { return "\x00unit " + unit }

// spelledOut separates negations from the words that they are contracted with.
var spelledOut = strings.NewReplacer("can't", "can not", "Can't", "Can not", "cannot", "can not", "Cannot", "Can not", "n't", " not")

// read takes the facts of a text. Its cost is near-linear in the text.
func read(content string) *reading {
	r := &reading{form: spelledOut.Replace(Form(content)), at: map[string]span{}}
	r.readTokens()
	for i, t := range r.tokens {
		switch {
		case t.Kind == text.Word:
			r.readWord(i)
		case t.Kind == text.Pair:
		case t.Kind == text.Code && strings.ContainsFunc(t.Text, unicode.IsNumber):
			r.readNumber(i)
		// A dash or a bullet between words says nothing, and neither does emphasis.
		case t.Kind == text.Code || strings.Trim(t.Text, "*•_#") != "" && t.Text != "-" && t.Text != "–":
			r.addIdentifier(t.Text)
		}
	}
	for _, row := range r.rows {
		r.readRow([]rune(row))
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

// readTokens takes the tokens of the text. Pairs of characters that overlap are of one row.
func (r *reading) readTokens() {
	sentence, start, end := 0, 0, 0 // of the last token, or row
	for t := range text.Tokens(r.form) {
		between := r.form[min(end, t.At):t.At]
		if strings.ContainsAny(between, ".!?;:\n。！？") {
			sentence++
		}
		if t.Kind == text.Pair && t.At < end {
			r.rows[len(r.rows)-1] = r.form[start : t.At+len(t.Text)]
		} else if start = t.At; t.Kind == text.Pair {
			r.rows = append(r.rows, t.Text)
		}
		end = t.At + len(t.Text)
		t.Text = strings.TrimSuffix(t.Text, "'s")
		r.tokens = append(r.tokens, token{t, sentence, strings.Trim(between, " \t") == ""})
	}
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

// noteAt notes that keys occur at a token.
func (r *reading) noteAt(token int, keys ...string) {
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
		r.noteAt(0, f.keys...)
	}
}

// addExact adds a fact that every text writes alike.
func (r *reading) addExact(kind int, s string, bare ...string) {
	r.addFact(fact{kind: kind, keys: []string{fmt.Sprint("\x00", kind, " ", s)}, bare: bare})
}

func (r *reading) addIdentifier(s string) {
	r.addExact(identifiers, s, strings.ToLower(strings.TrimFunc(s, func(c rune) bool { return !unicode.IsLetter(c) })))
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

// readNumber adds what has a digit, with the sign or operator and the currency before it and
// what may be its unit.
func (r *reading) readNumber(i int) {
	t := r.tokens[i]
	number, unit, end := t.Text, "", t.At+len(t.Text)
	if t.At > 0 && r.form[t.At-1] == '(' && end < len(r.form) && r.form[end] == ')' {
		number = "(" + number + ")" // a negative amount
	}
	if i > 0 && t.adjoins {
		if before := r.tokens[i-1]; before.Kind == text.Symbol || before.Kind == text.Word && isAllCapitals(before.Text) {
			number = before.Text + " " + number
		}
	}
	if i+1 < len(r.tokens) && r.tokens[i+1].adjoins {
		next := r.tokens[i+1]
		first, size := utf8.DecodeRuneInString(next.Text)
		if isContent(first) {
			number += " " + next.Text[:size]
		} else if next.Kind == text.Word && negations[strings.ToLower(next.Text)] == "" && !strings.Contains(next.Text, "'") {
			unit = next.Text
			r.addUnit(number, unit)
		}
	}
	r.addExact(numbers, number)
	r.words = append(r.words, word{text: number, sentence: t.sentence, forms: []string{number}, unit: unit})
	r.noteAt(i, number)
}

// addUnit adds what may be the unit of a number. A merged text must have it too, but not beside
// the number.
func (r *reading) addUnit(number, unit string) {
	r.noteAt(0, unitKey(unit), unitKey(number+" "+unit))
	if len(unit) > 1 && isConnecting(strings.ToLower(unit)) {
		return
	}
	keys := []string{asWritten + unit}
	if utf8.RuneCountInString(unit) > 3 { // MB is not Mb
		keys = append(keys, forms(unit)...)
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

// readWord adds a word, and the one that is elided before it.
func (r *reading) readWord(i int) {
	w := r.tokens[i].Text
	if head, rest, ok := strings.Cut(w, "'"); ok && elided[strings.ToLower(head)] {
		r.addWord(i, head)
		w = rest
	}
	r.addWord(i, w)
}

func (r *reading) addWord(i int, written string) {
	lower := strings.ToLower(written)
	if negation := negations[lower]; negation != "" {
		after, before := r.beside(i, 1), r.beside(i, -1)
		if after == "" {
			after = before
		}
		r.addDenial(negation, after, before)
		return
	}
	first, size := utf8.DecodeRuneInString(written)
	if strings.ContainsFunc(written[size:], unicode.IsUpper) && !isAllCapitals(written) {
		r.addIdentifier(written)
	}
	sentence := r.tokens[i].sentence
	w := word{text: lower, sentence: sentence, forms: forms(lower), capital: unicode.IsUpper(first), starts: i == 0 || r.tokens[i-1].sentence < sentence}
	r.words = append(r.words, w)
	r.noteAt(i, w.forms...)
	r.noteAt(i, asWritten+written)
	r.addMarked(w.forms)
}

// addDenial adds a negation of a word, which may stand beside another.
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
	for k := i + step; k >= 0 && k < len(r.tokens) && k != i+far*step && r.tokens[k].sentence == r.tokens[i].sentence; k += step {
		lower := strings.ToLower(r.tokens[k].Text)
		if r.tokens[k].Kind != text.Symbol && negations[lower] == "" && !isSmall(lower) {
			return lower
		}
	}
	return ""
}

// numerals are numbers in characters, each with the character that it counts.
var numerals = regexp.MustCompile(`[〇零一二三四五六七八九十百千万億亿兆両两半\pN]+[\p{Han}\p{Katakana}]?`)

// readRow adds a row of characters without blanks: its pairs, and numerals, negations and dates
// in it.
func (r *reading) readRow(row []rune) {
	content := ""
	for k, c := range row {
		if isContent(c) {
			content = string(c)
		}
		for n := 1; n <= 3 && k+n <= len(row); n++ {
			part := string(row[k : k+n])
			r.noteAt(0, part)
			r.addMarked([]string{part})
			if negations[part] != "" {
				r.addDenial(part, content, content)
			}
		}
	}
	for _, n := range numerals.FindAllString(string(row), -1) {
		r.addExact(numbers, n)
	}
}
