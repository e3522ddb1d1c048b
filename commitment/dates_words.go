package commitment

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxWords bounds what is read of an entry; a date stands near its beginning.
const maxWords = 400

// words splits a text into words in lower case. A full stop, a semicolon and the like
// that end a clause are words too. A date or a time of day is one word.
func words(text string) []string {
	var out []string
	var b strings.Builder
	flush := func() {
		w := strings.Trim(b.String(), "-+:./'")
		b.Reset()
		if w != "" {
			out = append(out, w)
		}
	}
	for _, r := range text {
		if len(out) >= maxWords {
			break
		}
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-+:./'", r):
			b.WriteRune(unicode.ToLower(r))
			continue
		case r == '’':
			b.WriteByte('\'')
			continue
		}
		ended := strings.HasSuffix(b.String(), ".")
		flush()
		if ended || strings.ContainsRune(";!?\n", r) {
			out = append(out, ".")
		}
	}
	flush()
	return out
}

// word returns the word at i, or "" beyond the ends.
func (t *reading) word(i int) string {
	if i < 0 || i >= len(t.words) {
		return ""
	}
	return t.words[i]
}

var numbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
	"eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}

// number reads a count of up to four digits, or a word for one.
func number(w string) (int, bool) {
	if n, ok := numbers[w]; ok {
		return n, true
	}
	if len(w) > 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(w, 10, 16)
	return int(n), err == nil
}

// ordinal reads the day of a month: 5th, first, or where bare is set 5.
func ordinal(w string, bare bool) (int, bool) {
	if w == "first" {
		return 1, true
	}
	digits := strings.TrimRight(w, "dhnrst")
	suffix := w[len(digits):]
	n, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || n < 1 || n > 31 {
		return 0, false
	}
	switch suffix {
	case "st", "nd", "rd", "th":
		return int(n), true
	case "":
		return int(n), bare
	}
	return 0, false
}

// weekday reads the name of a day, in full or its first three letters.
func weekday(w string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := strings.ToLower(d.String()); w == name || w == name[:3] {
			return d, true
		}
	}
	return 0, false
}

// month reads the name of a month, in full or its first three letters.
func month(w string) (time.Month, bool) {
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); w == name || w == name[:3] {
			return m, true
		}
	}
	return 0, false
}

// unit reads a unit of time, in the singular or the plural, as its first letter; a
// minute is 'n'.
func unit(w string) (byte, bool) {
	switch strings.TrimSuffix(w, "s") {
	case "minute", "min":
		return 'n', true
	case "hour":
		return 'h', true
	case "day":
		return 'd', true
	case "week":
		return 'w', true
	case "month":
		return 'm', true
	case "year":
		return 'y', true
	}
	return 0, false
}
