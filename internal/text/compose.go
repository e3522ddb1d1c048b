package text

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Compose puts letters and the marks after them together, as far as Unicode composes them
// in the Latin, Greek, Cyrillic and Arabic scripts, in Kana and in Hangul: "e" and a
// combining acute become "é". Marks in another order than Unicode's are put in order
// first. A composed letter is not taken apart. The cost is near-linear.
func Compose(text string) string {
	at := strings.IndexFunc(text, joins)
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	_, size := utf8.DecodeLastRuneInString(text[:at])
	b.WriteString(text[:at-size])
	var marks []rune
	for rest := text[at-size:]; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError { // also a byte that is no text
			b.WriteString(rest[:size])
			rest = rest[size:]
			continue
		}
		rest = rest[size:]
		marks = marks[:0]
		for rest != "" {
			next, n := utf8.DecodeRuneInString(rest)
			if syllable, ok := hangul(r, next); ok && len(marks) == 0 {
				r = syllable
			} else if joins(next) && !jamo(next) {
				marks = append(marks, next)
			} else {
				break
			}
			rest = rest[n:]
		}
		r, marks = composeOne(r, marks)
		b.WriteRune(r)
		for _, m := range marks {
			b.WriteRune(m)
		}
	}
	return b.String()
}

// composeOne composes a letter with the marks after it, which it puts into Unicode's
// order, and returns the marks that are left.
func composeOne(r rune, marks []rune) (rune, []rune) {
	if len(marks) == 0 {
		return r, marks
	}
	t := compositionTable()
	slices.SortStableFunc(marks, func(a, b rune) int { return int(t.class[a]) - int(t.class[b]) })
	left := marks[:0]
	for _, m := range marks {
		one, ok := t.pair[[2]rune{r, m}]
		blocked := len(left) > 0 && t.class[left[len(left)-1]] == t.class[m]
		if ok && !blocked {
			r = one
		} else {
			left = append(left, m)
		}
	}
	return r, left
}

type composed struct {
	class map[rune]uint8
	pair  map[[2]rune]rune
}

var compositionTable = sync.OnceValue(func() composed {
	t := composed{map[rune]uint8{}, map[[2]rune]rune{}}
	for _, c := range compositions {
		t.class[c.mark] = c.class
		letters := []rune(c.pairs)
		for i := 0; i < len(letters); i += 2 {
			t.pair[[2]rune{letters[i], c.mark}] = letters[i+1]
		}
	}
	return t
})

// joins reports whether a character may become one with that before it.
func joins(r rune) bool {
	if r < 0x300 {
		return false
	}
	if jamo(r) {
		return true
	}
	return (r <= 0x345 || r >= 0x653 && r <= 0x655 || r == 0x3099 || r == 0x309a) && compositionTable().class[r] != 0
}

// jamo reports whether a character is a vowel or a final consonant of Hangul.
func jamo(r rune) bool { return r >= 0x1161 && r <= 0x1175 || r >= 0x11a8 && r <= 0x11c2 }

// hangul composes two parts of a Hangul syllable.
func hangul(a, b rune) (rune, bool) {
	const first, initials, vowels, finals = 0xac00, 19, 21, 28
	if l, v := a-0x1100, b-0x1161; l >= 0 && l < initials && v >= 0 && v < vowels {
		return first + (l*vowels+v)*finals, true
	}
	s, t := a-first, b-0x11a7
	if s >= 0 && s < initials*vowels*finals && s%finals == 0 && t > 0 && t < finals {
		return a + t, true
	}
	return 0, false
}
