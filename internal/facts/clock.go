package facts

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/openwop/agentmemory/internal/text"
)

// clock is a line with what its words say of time. The words are those of English.
type clock struct{ tokens []clockToken }

// clockToken is a token with its number of the sentence. It adjoins the one before it if only blanks are between them.
type clockToken struct {
	text.Token
	lower    string
	sentence int
	adjoins  bool
}

func readClock(line string) *clock {
	c, sentence, end := &clock{tokens: make([]clockToken, 0, len(line)/5+1)}, 0, 0
	for t := range text.Tokens(line) {
		between := line[min(end, t.At):t.At]
		if strings.ContainsAny(between, ".!?;。！？") {
			sentence++
		}
		end = t.At + len(t.Text)
		adjoins := strings.TrimSpace(between) == ""
		for _, t := range plainTokens(t) {
			lower := strings.TrimSuffix(strings.ToLower(t.Text), "'s")
			c.tokens = append(c.tokens, clockToken{t, lower, sentence, adjoins})
		}
	}
	return c
}

// plainTokens are the words of a token such as "**tomorrow**", "Mon/Wed" or "due:today", or the token without marks
// around it if it is made of more than letters.
func plainTokens(t text.Token) (words []text.Token) {
	if t.Kind != text.Code {
		return []text.Token{t}
	}
	const marks = "*_~#@"
	plain := strings.Trim(t.Text, marks)
	isOther := func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune(marks+"/,:='", r) }
	if plain == "" || strings.ContainsFunc(plain, isOther) {
		return []text.Token{{Kind: t.Kind, Text: cmp.Or(plain, t.Text), At: t.At}}
	}
	for word := range strings.FieldsFuncSeq(plain, func(r rune) bool { return strings.ContainsRune(marks+"/,:=", r) }) {
		words = append(words, text.Token{Kind: text.Word, Text: word, At: t.At})
	}
	return words
}

// at is the token so many behind the i-th in its sentence, in lower case; "" if there is none.
func (c *clock) at(i, step int) string {
	k := i + step
	if k < 0 || k >= len(c.tokens) || c.tokens[k].sentence != c.tokens[i].sentence {
		return ""
	}
	return c.tokens[k].lower
}

// begins reports whether the i-th token begins a sentence.
func (c *clock) begins(i int) bool { return i == 0 || c.tokens[i-1].sentence < c.tokens[i].sentence }

// ends reports whether nothing that the i-th token counts stands behind it.
func (c *clock) ends(i int) bool {
	next := c.at(i, 1)
	return next == "" || !c.tokens[i+1].adjoins || oneOf(next, "and but so or too")
}

// oneOf reports whether a word is one of some.
func oneOf(word, words string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}

var (
	states, nouns            = listed("states"), listed("nouns")
	quantities               = listed("quantities")
	units, periods           = listed("units"), listed("periods")
	amounts, fillers, behind = listed("amounts"), listed("fillers"), listed("behind")

	// relative has the dates of other languages too, as they may stand in an English text.
	relative = func() map[string]bool {
		all := listed("relative")
		for w := range listed("dates") {
			if _, isMonth := months[w]; !isMonth && !isEnglishWord(w) {
				all[w] = true
			}
		}
		return all
	}()

	number   = numeric(`\d{1,4}[½¼¾]?`)
	short    = numeric(`\d{1,4}(?:min|hrs?|[smhdwy])`) // "3d", "48h"
	ordinal  = numeric(`\d{1,2}(?:st|nd|rd|th)?`)
	year     = numeric(`(?:19|20)\d\d`)
	wholeDay = numeric(`(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:t[\d:.]+z?)?`)
	dayMonth = numeric(`\d{1,2}/\d{1,2}`)
	age      = numeric(`\d+(?:yo|y/o)`)
)

// numeric reports whether a whole token, which begins with a digit, matches a pattern.
func numeric(pattern string) func(token string) bool {
	expression := regexp.MustCompile("^(?:" + pattern + ")$")
	return func(token string) bool {
		return token != "" && token[0] >= '0' && token[0] <= '9' && expression.MatchString(token)
	}
}

// isRelative reports whether the line says something relative to its day.
func (c *clock) isRelative() bool {
	for i := range c.tokens {
		if c.isRelativeWord(i) || c.isSpan(i) || c.isAge(i) || c.isState(i) || c.isOpenDay(i) {
			return true
		}
	}
	return false
}

// isRelativeWord finds "tomorrow", "next Friday", "this week", "end of the month" and "the other day".
func (c *clock) isRelativeWord(i int) bool {
	word, next := c.tokens[i].lower, c.at(i, 1)
	switch word {
	case "next":
		return !oneOf(next, "to door")
	case "last":
		return !oneOf(next, "name names") && !c.recurs(i+1)
	case "this", "these", "past", "coming", "previous", "following":
		return isPeriod(next) || isPeriod(c.at(i, 2))
	case "weekend":
		return !oneOf(c.at(i, -1), "every each per a")
	case "day", "week", "month", "quarter", "year":
		return c.at(i, -1) == "the" && c.at(i, -2) == "of" && word != "day" || c.at(i, -1) == "of" && c.at(i, -2) == "end"
	case "moment", "present":
		return oneOf(c.at(i, -1), "at") || c.at(i, -1) == "the" && c.at(i, -2) == "at"
	case "far":
		return c.at(i, -1) == "so"
	case "date":
		return c.at(i, -1) == "to" && c.at(i, -2) != "up"
	case "being":
		return c.at(i, -1) == "time"
	case "further":
		return c.at(i, -1) == "until" && next == "notice"
	case "while":
		return c.at(i, -1) == "a" && next == "back"
	case "other":
		return next == "day"
	case "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties", "teens":
		return oneOf(c.at(i, -1), "my your his her their our")
	}
	return relative[word]
}

func isPeriod(word string) bool {
	_, isMonth := months[word]
	return units[word] || periods[word] || isMonth || isWeekday(word)
}

// isSpan finds "in three days", "has lived here for a year" and "two weeks left".
func (c *clock) isSpan(i int) bool {
	word := c.tokens[i].lower
	if short(word) && behind[c.at(i, 1)] {
		return true
	}
	if isAmount(word) && (units[c.at(i, 1)] || units[c.at(i, 2)]) {
		k := 2
		if !units[c.at(i, 1)] {
			k = 3
		}
		if oneOf(c.at(i, k), "is are") {
			k++
		}
		if after := c.at(i, k); behind[after] || after == "to" && c.at(i, k+1) == "go" {
			return true
		}
	}
	switch word {
	case "in", "since", "been":
		return c.spanEnd(i) > 0
	case "within":
		end := c.spanEnd(i)
		return end > 0 && c.at(end, 1) != "of"
	case "for", "over", "during":
		return c.spanEnd(i) > 0 && c.hasBefore(i, "has have hasn't haven't i've you've we've they've been")
	}
	return false
}

// spanEnd is the place of the unit of a span of time that begins behind the i-th token; 0 if there is none.
func (c *clock) spanEnd(i int) int {
	amount := false
	for k := 1; k <= 6; k++ {
		word := c.at(i, k)
		switch {
		case units[word] && amount, short(word):
			return i + k
		case isAmount(word):
			amount = true
		case !fillers[word]:
			return 0
		}
	}
	return 0
}

func isAmount(word string) bool {
	tens, _, _ := strings.Cut(word, "-") // of "thirty-four"
	return number(word) || amounts[tens]
}

// hasBefore reports whether one of some words stands before the i-th token in its sentence.
func (c *clock) hasBefore(i int, words string) bool {
	const far = 16
	for k := -1; k >= -far && c.at(i, k) != ""; k-- {
		if oneOf(c.at(i, k), words) {
			return true
		}
	}
	return false
}

// isAge finds "aged 8", "is 8", "turns 8", "8-year-old", and quarters without a year.
func (c *clock) isAge(i int) bool {
	word, before := c.tokens[i].lower, c.at(i, -1)
	switch {
	case strings.HasSuffix(word, "-old"), age(word):
		return true
	case len(word) == 2 && word[0] == 'q' && word[1] >= '1' && word[1] <= '4':
		return !year(c.at(i, 1))
	case !number(word) && !isAmount(word) || oneOf(word, "a an some"):
		return false
	case oneOf(before, "aged age"):
		return true
	}
	n, err := strconv.Atoi(word)
	verb := i - 1
	if oneOf(before, "almost nearly about only over") {
		verb--
	}
	isOrTurns := oneOf(c.at(i, verb-i), "is are am turn turns turned turning") && !quantities[c.at(i, verb-i-1)] || c.isContracted(verb)
	return isOrTurns && (c.ends(i) || isAmount(c.at(i, 1)) && c.ends(i+1)) && (err != nil || n <= 130)
}

// isContracted reports whether the i-th token ends in "'s", "'m" or "'re", as "Ann's" for "Ann is".
func (c *clock) isContracted(i int) bool {
	if i < 0 {
		return false
	}
	word := c.tokens[i].Text
	return strings.HasSuffix(word, "'s") || strings.HasSuffix(word, "'m") || strings.HasSuffix(word, "'re")
}

// isState finds "is away", "is on holiday" and "is moving".
func (c *clock) isState(i int) bool {
	switch c.tokens[i].lower {
	case "on":
		return oneOf(c.at(i, 1), "holiday holidays vacation leave strike hold") || c.at(i, 2) == "leave"
	case "is", "are", "am", "isn't", "aren't", "been":
	default:
		if !c.isContracted(i) {
			return false
		}
	}
	for k := 1; k <= 2; k++ {
		next := c.at(i, k)
		if states[next] || next == "about" && c.at(i, k+1) == "to" {
			return true
		}
		if len(next) > 4 && strings.HasSuffix(next, "ing") && !nouns[next] {
			return !isCapital(c.tokens[i+k].Text)
		}
		if !oneOf(next, "not also all both on in at") {
			return false
		}
	}
	return false
}

// isOpenDay finds weekdays without a date, "by the 15th" and "on 3/15".
func (c *clock) isOpenDay(i int) bool {
	t := c.tokens[i]
	before := c.at(i, -1)
	switch {
	case isWeekday(t.lower) || isShortWeekday(t.Text):
		return !c.recurs(i) && !c.isDated(i, 1) && !c.isDated(i, -1)
	case dayMonth(t.lower):
		return oneOf(before, "on by until till before after since from due")
	case ordinal(t.lower) && !number(t.lower) && before == "the":
		return oneOf(c.at(i, -2), "on by until till before after since from due") && !c.recurs(i) && !c.isDated(i, 1) &&
			(c.ends(i) || oneOf(c.at(i, 1), "at of to for in"))
	}
	return false
}

func isWeekday(lower string) bool {
	switch lower {
	case "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday":
		return true
	}
	return false
}

func isShortWeekday(written string) bool {
	return oneOf(written, "tue tues thu thur thurs fri") || len(written) <= 5 && isCapital(written) &&
		oneOf(strings.ToLower(written), "mon tue tues wed thu thur thurs fri sat sun")
}

// recurs reports whether the day at the i-th token comes again and again: "every Monday", "each second Monday", "the
// last Friday of every month".
func (c *clock) recurs(i int) bool {
	if i >= len(c.tokens) {
		return false
	}
	const each = "every each any"
	before := c.at(i, -1)
	isOneOfSome := oneOf(before, "other second third fourth first last single") && oneOf(c.at(i, -2), each)
	return oneOf(before, each) || isOneOfSome || c.at(i, 1) == "of" && oneOf(c.at(i, 2), each+" a")
}

// isDated reports whether a day of the calendar stands beside the i-th token: a whole date or a month, with nothing
// but "the", "of" and numbers between.
func (c *clock) isDated(i, step int) bool {
	for k := step; k >= -3 && k <= 3; k += step {
		word := c.at(i, k)
		_, isMonth := months[word]
		switch {
		case wholeDay(word), isMonth:
			return true
		case !oneOf(word, "the of") && !ordinal(word) && !year(word):
			return false
		}
	}
	return false
}

var months = func() map[string]time.Month {
	all := map[string]time.Month{"sept": time.September}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		all[name], all[name[:3]] = m, m
	}
	return all
}()

// datesWithoutYear are those of the line, but for what comes every year.
func (c *clock) datesWithoutYear() (found []date) {
	for i := range c.tokens {
		month, isMonth := c.monthAt(i)
		if isMonth && !c.hasYear(i) && !c.isYearly(i) {
			found = append(found, date{month, c.dayOf(i)})
		}
	}
	return found
}

// monthAt is the month that the i-th token names. "May", "march", "mar" and the like are months only beside a number or
// behind a preposition, or with a capital within a sentence.
func (c *clock) monthAt(i int) (time.Month, bool) {
	word := strings.TrimPrefix(strings.TrimPrefix(c.tokens[i].lower, "mid-"), "early-")
	month, ok := months[word]
	if !ok || len(word) > 5 || oneOf(word, "april july june") {
		return month, ok
	}
	named := isCapital(c.tokens[i].Text) && !c.begins(i)
	beside := ordinal(c.at(i, -1)) || ordinal(c.at(i, 1)) || year(c.at(i, 1))
	return month, named || beside || oneOf(c.at(i, -1), "in by since until till of from before after during late early")
}

// hasYear reports whether a year stands behind the month at the i-th token, with nothing but a day between.
func (c *clock) hasYear(i int) bool {
	next := c.at(i, 1)
	isBetween := ordinal(next) || next == "of"
	return year(next) || isBetween && year(c.at(i, 2)) || year(c.at(i, -1))
}

// isYearly reports whether the sentence of the i-th token tells of every year.
func (c *clock) isYearly(i int) bool {
	const far, yearly = 16, "every each birthday birthdays anniversary annual annually yearly"
	for k := -far; k <= far; k++ {
		if oneOf(c.at(i, k), yearly) {
			return true
		}
	}
	return false
}

// dayOf is the day beside the month at the i-th token, 1 if there is none.
func (c *clock) dayOf(i int) int {
	for _, word := range []string{c.at(i, 1), c.at(i, -1), c.at(i, -2)} {
		day, _ := strconv.Atoi(strings.TrimRight(word, "stndrh"))
		if ordinal(word) && day >= 1 && day <= 31 {
			return day
		}
		if word != c.at(i, 1) && word != "of" {
			break
		}
	}
	return 1
}
