package facts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/text"
)

// When tells whether what a text says depends on the day on which it was written (C8). The zero value is that of a
// text that says the same on every day.
type When struct {
	// Relative reports words such as "tomorrow", "in three days" or "is 8 years old".
	Relative bool
	// Unknown reports a text that is not known to be English, so that it may have such words unseen.
	Unknown bool
	dates   []date // without a year
}

// date is a day of a month in every year.
type date struct {
	month time.Month
	day   int
}

// ISODay is the form in which days are written.
const ISODay = "2006-01-02"

var dayHead = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(?:/\d{4}-\d{2}-\d{2})?: `)

// CutDay splits a line that begins with the day on which it was written, or the first and last of several, such as
// "2026-03-02: " or "2026-03-02/2026-03-05: ". head is "" for any other line.
func CutDay(line string) (head, rest string) {
	head = dayHead.FindString(line)
	return head, line[len(head):]
}

// ReadWhen reads a text line by line, and once more across the ends of its lines, where a phrase may be broken. A line
// that begins with its day depends on no other. The cost is near-linear.
func ReadWhen(content string) (w When) {
	if strings.ContainsFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }) {
		content = Form(content)
	}
	var lines []string
	for line := range strings.Lines(content) {
		if head, _ := CutDay(line); head == "" && strings.TrimSpace(line) != "" {
			w.add(readClock(line))
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) > 1 && !w.Relative {
		w.Relative = readClock(strings.Join(lines, " ")).isRelative()
	}
	return w
}

func (w *When) add(c *clock) {
	w.Relative = w.Relative || c.isRelative()
	if !c.isEnglish() {
		w.Unknown = true
		return
	}
	w.dates = append(w.dates, c.datesWithoutYear()...)
}

// Day names the days of writing on which the text says the same as at the given instant: "" if on all of them, the
// date in UTC if on that one only. A date without a year is the same until it comes round again.
func (w When) Day(at time.Time) string {
	at = at.UTC()
	if w.Relative || w.Unknown {
		return at.Format(ISODay)
	}
	var since []string
	for _, d := range w.dates {
		last := time.Date(at.Year(), d.month, d.day, 0, 0, 0, 0, time.UTC)
		if last.After(at) {
			last = last.AddDate(-1, 0, 0)
		}
		since = append(since, fmt.Sprint("since ", last.Format(ISODay)))
	}
	slices.Sort(since)
	return strings.Join(slices.Compact(since), " ")
}

// DependsOnDay reports whether the text does not say the same on every day, as far as is known.
func (w When) DependsOnDay() bool { return w.Relative || w.Unknown || len(w.dates) > 0 }

// isEnglish reports whether a line has words of English, one of them no noun with a capital and three for each two that
// are of no known language. Names and what may be either do not count; a line of numbers and codes passes.
func (c *clock) isEnglish() bool {
	words, small, english, others := 0, 0, 0, 0
	for i, t := range c.tokens {
		switch {
		case t.Kind == text.Pair || strings.ContainsFunc(t.Text, isOfAnotherScript):
			return false
		case t.Kind != text.Word:
			continue
		}
		words++
		capital := isCapital(t.Text)
		switch {
		case ambiguous[t.lower] || capital && !c.begins(i):
		case isEnglishWord(t.lower):
			english++
			if !capital || oneOf(t.lower, "the this that these those she they we you our their") {
				small++
			}
		case !capital && !mayBeEnglish(t.lower):
			others++
		}
	}
	return words == 0 || small > 0 && 3*others <= 2*english
}

func isCapital(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(first)
}

// mayBeEnglish reports whether a word has an ending of many words of English, and of some of other languages.
func mayBeEnglish(lower string) bool {
	const endings = "tion tions sion sions ment ments ing ings ed ly ness ful less ity ship able ible ance ence ous ive"
	for ending := range strings.FieldsSeq(endings) {
		if len(lower) > 5 && strings.HasSuffix(lower, ending) {
			return true
		}
	}
	return false
}

func isOfAnotherScript(r rune) bool {
	return r >= utf8.RuneSelf && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r)
}

func isEnglishWord(lower string) bool {
	if english[text.Stem(lower)] {
		return true
	}
	for part := range strings.FieldsFuncSeq(lower, func(r rune) bool { return r == '-' || r == '\'' }) {
		if len(part) > 1 && !english[text.Stem(part)] && !ambiguous[part] {
			return false
		}
	}
	return strings.ContainsAny(lower, "-'")
}

var (
	ambiguous = listed("ambiguous")
	english   = func() map[string]bool {
		stems := map[string]bool{}
		for w := range listed("english") {
			stems[text.Stem(w)] = true
		}
		return stems
	}()
)
