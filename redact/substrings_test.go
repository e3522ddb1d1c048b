package redact

import (
	"slices"
	"strings"
	"testing"
)

// TestSubstrings_LikeOneByOne adds and removes texts that share much, and asks after each what all of
// them say when they are searched one by one.
func TestSubstrings_LikeOneByOne(t *testing.T) {
	rnd := newRand(t, 61)
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab]"[rnd.IntN(3)]
		}
		return string(b)
	}
	s := newSubstrings()
	var texts []string
	for range 4000 {
		if len(texts) > 0 && rnd.IntN(5) < 2 {
			i := rnd.IntN(len(texts))
			s.remove([]byte(texts[i]))
			texts = slices.Delete(texts, i, i+1)
		} else {
			texts = append(texts, word(1+rnd.IntN(20)))
			s.add([]byte(texts[len(texts)-1]))
		}
		text := word(1 + rnd.IntN(12))
		want := slices.ContainsFunc(texts, func(in string) bool { return strings.Contains(in, text) })
		if got := s.holds([]byte(text)); got != want {
			t.Fatalf("holds(%q) is %v\ntexts %q", text, got, texts)
		}
	}
	for _, text := range texts {
		s.remove([]byte(text))
	}
	for suffix := range s.suffixes.From(nil) {
		t.Errorf("%q is left", suffix)
	}
}
