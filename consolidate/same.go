package consolidate

import (
	"slices"
	"strings"
)

// sameFact reports whether two notes say the same: the same words in the same order,
// in canonical form, but for one change of a closed list in each sentence. Whatever
// is not on that list makes two facts of them, be it a single word. How says what
// was changed.
func sameFact(a, b note) (how string, ok bool) {
	if len(a) != len(b) {
		return sameWords(a, b)
	}
	for i := range a {
		change, ok := sameSentence(a[i], b[i])
		if !ok {
			return sameWords(a, b)
		}
		if change != "" {
			how = change
		}
	}
	return how, true
}

// sameWords compares notes whose full stops differ.
func sameWords(a, b note) (string, bool) {
	if a.words() != b.words() {
		return "", false
	}
	var left []string
	for t := range a.each {
		left = append(left, t.text)
	}
	i := 0
	for t := range b.each {
		if left[i] != t.text {
			return "", false
		}
		i++
	}
	return "", asks(a) == asks(b)
}

func asks(n note) (count int) {
	for _, s := range n {
		if s.question {
			count++
		}
	}
	return count
}

func sameSentence(x, y sentence) (how string, ok bool) {
	if x.question != y.question {
		return "", false
	}
	a, b := owners(x.tokens), owners(y.tokens)
	if equalWords(a, b) {
		return "", true
	}
	if slip(a, b) {
		return "a slip of spelling", true
	}
	if joined(a, b) || joined(b, a) {
		return "an \"and\"", true
	}
	if slices.ContainsFunc(a, func(t token) bool { return ordering[t.text] }) {
		return "", false
	}
	if onlyMoved(a, b) {
		return "the place of a word", true
	}
	c := cut(a, b)
	switch {
	case c.onAt():
		return "a preposition", true
	case c.compound() || c.flip().compound():
		return "a compound", true
	case c.listed():
		return "the order of a list", true
	case c.moved():
		return "the order of phrases", true
	}
	return "", false
}

func equalWords(a, b []token) bool {
	return slices.EqualFunc(a, b, func(x, y token) bool { return x.text == y.text })
}

// owners turns "the shop of Kestrel" into "Kestrel's shop", unless the noun is one of
// doing: the sale of Kestrel is not Kestrel's.
func owners(in []token) []token {
	for i := 1; i < len(in)-1; i++ {
		if in[i].text != "of" {
			continue
		}
		end := i + 1
		for end < len(in) && (in[end].name || in[end].text == "and" && end+1 < len(in) && in[end+1].name) {
			end++
			if in[end-1].stop {
				break
			}
		}
		from := i - 1
		for from > 0 && i-from < 3 && !in[from].head {
			from--
		}
		owned := in[from:i]
		if end == i+1 || !in[from].head || deed(in[i-1].text) ||
			slices.ContainsFunc(owned, func(t token) bool {
				return t.kind != plain && t.kind != number && t.kind != date || t.stop || prepositions[t.text]
			}) ||
			slices.ContainsFunc(in[i+1:end], func(t token) bool { return t.kind == date }) {
			continue
		}
		out := slices.Clone(in[:from])
		out = append(out, in[i+1:end]...)
		out[len(out)-1].stop = false
		out = append(out, token{text: "'s"})
		out = append(out, owned...)
		out[len(out)-1].stop = in[end-1].stop
		in = append(out, in[end:]...)
	}
	return in
}

func deed(noun string) bool {
	for _, ending := range []string{"tion", "sion", "ment", "ance", "ence", "ing", "al", "ee"} {
		if strings.HasSuffix(noun, ending) {
			return true
		}
	}
	return deeds[noun]
}

var deeds = set(`purchase sale audit support visit transfer delivery choice fear love loss defeat win order request
	report review call check search help care price cost debt claim threat attack complaint mention picture photo story
	memory knowledge use control release test study survey count change move search supply view praise criticism sue`)

// slip reports whether two rows differ in one long word, and there by two letters
// exchanged or one doubled.
func slip(a, b []token) bool {
	if len(a) != len(b) {
		return false
	}
	at := -1
	for i := range a {
		if a[i].text == b[i].text {
			continue
		}
		if at >= 0 {
			return false
		}
		at = i
	}
	x, y := a[at], b[at]
	return x.kind == plain && y.kind == plain && !x.name && !y.name && misspelt(x.text, y.text)
}

// misspelt compares words. Short ones are left out: too many are a slip away from
// another word.
func misspelt(x, y string) bool {
	if len(x) > len(y) {
		x, y = y, x
	}
	const long = 8
	if len(x) < long || x[0] != y[0] || len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	if len(x) == len(y) {
		return i > 0 && i+1 < len(x)-1 && x[i] == y[i+1] && x[i+1] == y[i] && x[i+2:] == y[i+2:]
	}
	// A doubled consonant at the start of an ending makes another word: scraped, scrapped.
	return i > 0 && y[i] == y[i-1] && x[i:] == y[i+1:] && !strings.HasPrefix(x[i:], "e") && !strings.HasPrefix(x[i:], "i")
}

// joined reports whether b is a without an "and" after a comma.
func joined(a, b []token) bool {
	if len(a) != len(b)+1 {
		return false
	}
	for i := 1; i < len(a)-1; i++ {
		if a[i].text == "and" {
			if b[i-1].stop && equalWords(a[:i], b[:i]) && equalWords(a[i+1:], b[i:]) {
				return true
			}
		}
	}
	return false
}

// onlyMoved reports whether two rows differ only in where their one "only" stands, in
// places where it means the same: before the verb, after an auxiliary, or at the end.
// "Only Lena approves" is another thing.
func onlyMoved(a, b []token) bool {
	at := func(row []token) int { return slices.IndexFunc(row, func(t token) bool { return t.text == "only" }) }
	i, k := at(a), at(b)
	if i <= 0 || k <= 0 || i == k {
		return false
	}
	without := func(row []token, i int) []token { return slices.Delete(slices.Clone(row), i, i+1) }
	restA, restB := without(a, i), without(b, k)
	if at(restA) >= 0 || !equalWords(restA, restB) {
		return false
	}
	if i > k {
		a, i, k = b, k, i
	}
	// The earlier one stands before the verb or after an auxiliary, the later one at
	// the end or where the phrase that the verb governs begins.
	if auxiliaries[a[i-1].text] {
		return k == len(restA) || prepositions[restA[k].text]
	}
	subject := true
	for _, t := range a[:i] {
		subject = subject && (t.name || t.text == "'s" || t.text == "and")
	}
	// A name at the start of a sentence does not look like one.
	subject = subject || i == 1 || a[0].kind == plain && func() bool {
		for _, t := range a[1:i] {
			if !t.name {
				return false
			}
		}
		return true
	}()
	return subject && k == len(restA)
}

// difference is two rows with what differs between them.
type difference struct {
	before, a, b, after []token
}

func cut(a, b []token) difference {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i].text == b[i].text {
		i++
	}
	k := 0
	for k < n-i && a[len(a)-1-k].text == b[len(b)-1-k].text {
		k++
	}
	return difference{before: a[:i], a: a[i : len(a)-k], b: b[i : len(b)-k], after: a[len(a)-k:]}
}

func (d difference) flip() difference { d.a, d.b = d.b, d.a; return d }

// onAt: "no network on the quay", "no network at the quay".
func (d difference) onAt() bool {
	if len(d.a) != 1 || len(d.b) != 1 || len(d.after) == 0 || len(d.before) < 2 {
		return false
	}
	x, y := d.a[0].text, d.b[0].text
	next := d.after[0]
	return (x == "on" && y == "at" || x == "at" && y == "on") && next.kind == plain && !next.name && !deed(next.text)
}

// compound: "the warehouse in Paterna", "the Paterna warehouse".
func (d difference) compound() bool {
	i := slices.IndexFunc(d.a, func(t token) bool { return t.text == "in" })
	if i < 1 || i > 3 || len(d.b) != len(d.a)-1 {
		return false
	}
	noun, place := d.a[:i], d.a[i+1:]
	if len(place) < 1 || len(place) > 2 || !equalWords(slices.Concat(place, noun), d.b) {
		return false
	}
	named := func(ts []token) bool {
		return !slices.ContainsFunc(ts, func(t token) bool { return !t.name && t.kind != date })
	}
	return (named(place) || named(d.b[:len(place)])) && !slices.ContainsFunc(noun, meaningful)
}

// meaningful are words whose place in a sentence matters.
func meaningful(t token) bool {
	return t.kind != plain || prepositions[t.text] || auxiliaries[t.text] || subordinators[t.text] || t.text == "'s" || t.text == "and" || t.text == "or"
}

// listed: "frames and lenses", "lenses and frames".
func (d difference) listed() bool {
	if len(d.a) != len(d.b) || len(d.a) < 3 || len(d.a) > 5 {
		return false
	}
	if n := len(d.before); n > 0 && d.before[n-1].text == "between" {
		return false
	}
	for i := 1; i < len(d.a)-1; i++ {
		w := d.a[i].text
		if w != "and" && w != "or" {
			continue
		}
		u, v := d.a[:i], d.a[i+1:]
		if !equalWords(d.b, slices.Concat(v, d.a[i:i+1], u)) {
			continue
		}
		odd := func(t token) bool { return meaningful(t) && t.kind != date }
		if slices.ContainsFunc(u, odd) || slices.ContainsFunc(v, odd) || len(u) > 2 || len(v) > 2 {
			return false
		}
		if len(d.before) == 0 || len(d.after) == 0 {
			return true
		}
		return prepositions[d.after[0].text] || d.a[len(d.a)-1].stop
	}
	return false
}

// moved: a phrase stands elsewhere. Two phrases change places only if one of them is
// about time, so that neither can belong to the noun before the other; a clause or
// phrase goes to the front of the whole sentence and back.
func (d difference) moved() bool {
	if len(d.a) != len(d.b) {
		return false
	}
	if len(d.after) > 0 && !begins(d.after[0]) && !auxiliaries[d.after[0].text] && d.after[0].text != "and" {
		return false
	}
	for i := 1; i < len(d.a); i++ {
		u, v := d.a[:i], d.a[i:]
		if !equalWords(d.b, slices.Concat(v, u)) {
			continue
		}
		if adverb(u, d) || adverb(v, d) {
			return true
		}
		if begins(u[0]) && begins(v[0]) && (timed(u) || timed(v)) {
			return true
		}
		if len(d.before) > 0 {
			continue
		}
		// In d.a the front is u, in d.b it is v: one of them is the phrase.
		return fronted(u) && (u[i-1].stop || timed(u)) || fronted(v) && (d.b[len(v)-1].stop || timed(v))
	}
	return false
}

func begins(t token) bool {
	return prepositions[t.text] && t.text != "of" || rhythms[t.text] || clock(t)
}

var rhythms = set("daily nightly hourly weekly monthly quarterly yearly")

func fronted(row []token) bool { return begins(row[0]) || subordinators[row[0].text] }

func timed(row []token) bool {
	return slices.ContainsFunc(row, func(t token) bool {
		return t.kind == date || clock(t) || t.kind == unit && spans[t.text] || t.text == "day" || t.text == "week" || t.text == "month"
	})
}

var spans = set("minutes seconds hours days weeks months years")

// adverb: a single adverb changed its place, where nothing else depends on places.
func adverb(row []token, d difference) bool {
	if len(row) != 1 || !floating[row[0].text] {
		return false
	}
	for _, part := range [][]token{d.before, d.a, d.after} {
		for _, t := range part {
			if t.kind == negation || t.kind == quantifier && t.text != row[0].text {
				return false
			}
		}
	}
	return true
}
