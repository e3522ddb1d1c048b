package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is, as far as that decides whether two notes say the same.
type kind uint8

const (
	plain  kind = iota
	number      // has a digit and no letter
	ident       // letters and digits, an address, a path, a redaction marker
	quoted      // what stood between quotation marks, as it was
	unit        // of measure or currency
	date        // a month, a weekday, a word such as "tomorrow"
	negation
	quantifier
)

// token is a word in canonical form.
type token struct {
	text string
	kind kind
	name bool // begins with a capital where no sentence does, or has several
	head bool // "the" stood before it
	stop bool // a comma or the like follows
}

// sentence is a row of tokens.
type sentence struct {
	tokens   []token
	question bool
}

// note is a text as the planner compares it.
type note []sentence

// words counts the tokens of a note.
func (n note) words() (count int) {
	for _, s := range n {
		count += len(s.tokens)
	}
	return count
}

// each yields every token of a note.
func (n note) each(yield func(*token) bool) {
	for i := range n {
		for k := range n[i].tokens {
			if !yield(&n[i].tokens[k]) {
				return
			}
		}
	}
}

// reader takes a text apart.
type reader struct {
	note    note
	current sentence
	start   bool // at the first word of a sentence
	as      bool // words as they stand: no synonyms, nothing dropped
}

// parse reads a text: sentences of canonical tokens, without articles and filler.
func parse(text string) note { return read(text, false) }

// equalText is a text but for case, punctuation, spacing and the forms of numbers and
// contractions. Texts are equal after normalisation if theirs are.
func equalText(text string) string {
	var b strings.Builder
	for _, s := range read(text, true) {
		for _, t := range s.tokens {
			b.WriteString(t.text)
			b.WriteByte(0)
		}
		if s.question {
			b.WriteByte('?')
		}
	}
	if b.Len() == 0 {
		return text
	}
	return b.String()
}

func read(text string, as bool) note {
	r := &reader{start: true, as: as}
	if strings.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 {
		text = tidy.Replace(text)
	}
	for text != "" {
		if n := letterRun(text); n > 0 {
			r.letters(text[:n], strings.ToLower(text[:n]))
			text = text[n:]
			continue
		}
		c, size := utf8.DecodeRuneInString(text)
		if unicode.IsSpace(c) {
			if c == '\n' {
				r.end(false)
			}
			text = text[size:]
			continue
		}
		if closers := quotes[c]; closers != "" {
			if end := strings.IndexAny(text[size:], closers); end > 0 {
				r.add(token{text: text[size : size+end], kind: quoted})
				_, closing := utf8.DecodeRuneInString(text[size+end:])
				text = text[size+end+closing:]
				continue
			}
			text = text[size:]
			continue
		}
		if strings.HasPrefix(text, "[REDACTED:") {
			if end := strings.IndexByte(text, ']'); end > 0 {
				r.add(token{text: text[:end+1], kind: ident})
				text = text[end+1:]
				continue
			}
		}
		end := strings.IndexFunc(text, func(c rune) bool { return unicode.IsSpace(c) || quotes[c] != "" })
		if end <= 0 {
			end = len(text)
		}
		r.chunk(text[:end])
		text = text[end:]
	}
	r.end(false)
	return r.note
}

// tidy unifies the forms of apostrophes, dashes and spaces.
var tidy = strings.NewReplacer("\u2019", "'", "\u2018", "'", "\u02bc", "'", "\u2212", "-", "\u2010", "-", "\u2011", "-",
	"\u2013", "-", "\u2014", " - ", "\u00a0", " ", "\u202f", " ", "\u2009", " ", "\u00ad", "", "\ufeff", "", "\u200b", "")

// quotes are opening quotation marks, with what may close them.
var quotes = map[rune]string{'"': "\"\u201d", '\u201c': "\u201d\u201c\"", '\u201e': "\u201c\u201d\"", '\u00ab': "\u00bb",
	'\u00bb': "\u00ab", '`': "`", '\u300c': "\u300d"}

const (
	enders = ".!?\u2026\u3002\uff01\uff1f"
	stops  = ",;:()[]{}/|*_~'\u3001\uff0c\u00bf\u00a1"
)

// letterRun is the length of a word of ASCII letters that ends at a space: most words
// are, and need no closer look.
func letterRun(text string) int {
	n := 0
	for n < len(text) && (text[n]|0x20) >= 'a' && (text[n]|0x20) <= 'z' {
		n++
	}
	if n == 0 || n == len(text) || text[n] != ' ' || contracted[text[n-1]|0x20] && contractions[strings.ToLower(text[:n])] != nil {
		return 0
	}
	return n
}

// contracted are the last letters of contractions without an apostrophe: "cannot".
var contracted = [256]bool{'t': true}

func (r *reader) add(t token) { r.current.tokens = append(r.current.tokens, t); r.start = false }

// end closes a sentence, if there is one.
func (r *reader) end(question bool) {
	r.start = true
	if len(r.current.tokens) == 0 {
		if question && len(r.note) > 0 {
			r.note[len(r.note)-1].question = true
		}
		return
	}
	r.current.question = question
	if !r.as {
		r.current.tokens = canonical(r.current.tokens)
	}
	if len(r.current.tokens) > 0 {
		r.note = append(r.note, r.current)
	}
	r.current = sentence{}
}

// pause marks that a comma or the like follows.
func (r *reader) pause() {
	if n := len(r.current.tokens); n > 0 {
		r.current.tokens[n-1].stop = true
	}
}

// chunk reads what stands between two spaces.
func (r *reader) chunk(c string) {
	front := strings.TrimLeft(c, enders+stops)
	if len(front) < len(c) {
		r.pause()
	}
	body := strings.TrimRight(front, enders+stops)
	tail := front[len(body):]
	switch {
	case body == "" || body == "-":
		r.pause()
		tail = c
	case strings.HasSuffix(body, "s") && strings.HasPrefix(tail, "'"):
		r.word(body)
		r.add(token{text: "'s"})
	default:
		r.word(body)
	}
	switch {
	case strings.ContainsAny(tail, "?\uff1f"):
		r.end(true)
	case tail == "." && (abbreviations[strings.ToLower(body)] || utf8.RuneCountInString(body) == 1 && unicode.IsUpper([]rune(body)[0])):
	case strings.ContainsAny(tail, enders):
		r.end(false)
	case strings.ContainsAny(tail, stops):
		r.pause()
	}
}

// word reads a chunk without the punctuation around it.
func (r *reader) word(w string) {
	lower := strings.ToLower(w)
	switch {
	case strings.ContainsFunc(w, unicode.IsDigit):
		r.figure(w, lower)
		return
	case strings.ContainsAny(w, "@\\_=<>#+^") || strings.Contains(w, "://") || strings.Contains(strings.Trim(w, "."), "."):
		r.add(token{text: lower, kind: ident})
		return
	}
	if parts, ok := contractions[lower]; ok {
		for _, p := range parts {
			r.letters(p, p)
		}
		return
	}
	for _, ending := range endings {
		if base, ok := cutSuffix(w, ending.suffix); ok && base != "" {
			r.word(base)
			r.letters(ending.word, ending.word)
			return
		}
	}
	if base, ok := strings.CutSuffix(w, "%"); ok && base != "" {
		r.word(base)
		r.add(token{text: "%", kind: unit})
		return
	}
	if compound, ok := compounds[lower]; ok {
		r.letters(compound, compound)
		return
	}
	parts := strings.Split(w, "-")
	for _, part := range parts {
		if part == "" || strings.HasPrefix(lower, "-") || strings.HasSuffix(lower, "-") {
			r.add(token{text: lower, kind: ident})
			return
		}
	}
	for _, part := range parts {
		r.letters(part, strings.ToLower(part))
	}
}

// cutSuffix cuts an ASCII suffix off, without regard to case.
func cutSuffix(w, suffix string) (string, bool) {
	at := len(w) - len(suffix)
	if at < 0 || !strings.EqualFold(w[at:], suffix) {
		return w, false
	}
	return w[:at], true
}

// letters adds a word without digits.
func (r *reader) letters(w, lower string) {
	first, size := utf8.DecodeRuneInString(w)
	shouted := len(w) > size && unicode.IsUpper(first) && strings.ToUpper(w) == w
	t := token{text: lower, name: unicode.IsUpper(first) && !r.start || shouted}
	if r.current.tokens == nil {
		r.current.tokens = make([]token, 0, 16)
	}
	if shouted && ambiguous[lower] {
		t.text = w // "US" is not "us"
	}
	if unicode.IsUpper(first) && lower == "may" && !shouted {
		t.text = "May"
	}
	r.add(t)
}

// figure reads a word with a digit in it.
func (r *reader) figure(w, lower string) {
	// A sign of its own belongs to the number; a currency is a unit.
	sign := ""
	if rest, ok := strings.CutPrefix(lower, "-"); ok {
		sign, lower = "-", rest
	}
	for _, c := range currencies {
		if rest, ok := strings.CutPrefix(lower, c); ok && rest != "" {
			r.figures(sign + rest)
			r.add(token{text: currency(c), kind: unit})
			return
		}
	}
	for _, c := range currencies {
		if rest, ok := strings.CutSuffix(lower, c); ok && rest != "" {
			r.figures(sign + rest)
			r.add(token{text: currency(c), kind: unit})
			return
		}
	}
	if base, ok := cutSuffix(w, "'s"); ok {
		r.figure(base, strings.ToLower(base))
		r.add(token{text: "'s"})
		return
	}
	at := strings.LastIndexFunc(lower, unicode.IsDigit)
	digits, rest := lower[:at+1], lower[at+1:]
	if u, ok := units[strings.TrimPrefix(rest, "-")]; ok && isFigure(digits) {
		r.figures(sign + digits)
		r.add(token{text: u, kind: unit})
		return
	}
	if isFigure(lower) {
		r.figures(sign + lower)
		return
	}
	t := token{text: sign + lower, kind: ident}
	if strings.ToUpper(w) != w && strings.ContainsFunc(w[1:], unicode.IsUpper) {
		t.text = w // its case may matter
	}
	r.add(t)
}

// figures adds a number in canonical form.
func (r *reader) figures(s string) {
	if !isFigure(strings.TrimPrefix(s, "-")) {
		r.add(token{text: s, kind: ident})
		return
	}
	if len(s) == 4 && s[1] == ':' {
		s = "0" + s
	}
	r.add(token{text: thousands(s), kind: number})
}

func isFigure(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.IsDigit(c) && !strings.ContainsRune(".,:-/'", c)
	})
}

// thousands drops the commas of an English number such as 50,000.
func thousands(s string) string {
	groups := strings.Split(s, ",")
	if len(groups) == 1 || len(strings.TrimPrefix(groups[0], "-")) > 3 || groups[0] == "0" {
		return s
	}
	for _, g := range groups[1:] {
		if len(g) != 3 || strings.ContainsFunc(g, func(c rune) bool { return !unicode.IsDigit(c) }) {
			return s
		}
	}
	return strings.Join(groups, "")
}
