package distill

import (
	"cmp"
	"iter"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/facts"
)

// maxPassage is how many bytes of whole sentences are one passage.
const maxPassage = 240

// passages splits a text into what can stand by itself: its lines, and of a line that is longer
// than maxPassage as many whole sentences as have room in that, or one that is longer alone. So a
// sentence keeps its numbers, dates, names and negations, and most notes stay whole. day is what stands before a
// passage: the day that its line begins with, or that of writing if the passage, or the heading above it, is relative
// to it.
func passages(text string, written time.Time) iter.Seq2[string, string] {
	return func(yield func(day, passage string) bool) {
		under := "" // the day of the heading
		for line := range linesOf(text) {
			own, line := facts.CutDay(line)
			if own != "" || isHeading(line) {
				under = ""
			}
			if own == "" && isHeading(line) && facts.ReadWhen(line).Relative {
				under = headOf(written)
			}
			for line != "" {
				n := len(line)
				if n > maxPassage {
					n = sentence(line)
					for n < len(line) {
						next := sentence(line[n:])
						if n+next > maxPassage {
							break
						}
						n += next
					}
				}
				if p := strings.TrimSpace(line[:n]); p != "" && !yield(cmp.Or(own, under, dayOf(p, written)), p) {
					return
				}
				line = line[n:]
			}
		}
	}
}

// isHeading reports whether a line tells what those below it are about: "## Today", "Tomorrow:".
func isHeading(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasSuffix(strings.TrimRight(line, "*_ "), ":")
}

// dayOf is what stands before a text that is relative to the day on which it was written; "" before another one.
func dayOf(text string, written time.Time) string {
	if !facts.ReadWhen(text).DependsOnDay() {
		return ""
	}
	return headOf(written)
}

// headOf is how a line begins that was written at an instant.
func headOf(written time.Time) string { return written.UTC().Format(facts.ISODay) + ": " }

// sentenceEnd is where a sentence ends and another one begins. Where it is in doubt, as behind "Dr."
// and "U.S.", it is not.
var sentenceEnd = regexp.MustCompile(`((?:\s\p{Ll}\p{Ll}|[\pL\pM\pN]{3}|[)\]"”’»])[.!?]+[)"”’»]*\s+)[\p{Lu}\p{Lt}\p{Lo}("“„«]|([。！？।؟۔]+[」』”）]*)`)

// sentence is the length of the first sentence of a line.
func sentence(line string) int {
	if at := sentenceEnd.FindStringSubmatchIndex(line); at != nil {
		return max(at[3], at[5])
	}
	return len(line)
}

// samePassage is equal for passages that differ in white space or a full stop only.
// Anything else, were it only the case of a letter, may be another fact.
func samePassage(s string) string {
	return strings.Join(strings.Fields(strings.TrimRight(s, ".。 ")), " ")
}

const markerHead = "[REDACTED:"

// cut returns the longest start of text of at most limit bytes that ends neither within a rune
// nor within a marker.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	i := strings.LastIndexByte(text[:limit], '[')
	if i >= 0 && strings.HasPrefix(text[i:], markerHead) && !strings.Contains(text[i:limit], "]") {
		return text[:i]
	}
	return text[:limit]
}
