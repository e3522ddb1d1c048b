package redact

import (
	"slices"
	"strings"
	"testing"
)

// TestSubstrings_LikeOneByOne adds and removes texts that share much, and asks after each what all of
// them say when they are searched one by one.
func TestSubstrings_LikeOneByOne(t *testing.T) {
	rnd := newRand(61)
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab]"[rnd.IntN(3)]
		}
		return string(b)
	}
	var s substrings
	var texts []string
	chunks := 0
	for range 4000 {
		if len(texts) > 0 && rnd.IntN(5) < 2 {
			i := rnd.IntN(len(texts))
			s.remove(texts[i])
			texts = slices.Delete(texts, i, i+1)
		} else {
			texts = append(texts, word(1+rnd.IntN(20)))
			s.add(texts[len(texts)-1])
		}
		chunks = max(chunks, len(s.chunks))
		for _, chunk := range s.chunks {
			if len(chunk) == 0 || len(chunk) > fullChunk {
				t.Fatalf("a chunk of %d", len(chunk))
			}
		}
		text := word(1 + rnd.IntN(12))
		want := slices.ContainsFunc(texts, func(in string) bool { return strings.Contains(in, text) })
		if got := s.holds([]byte(text)); got != want {
			t.Fatalf("holds(%q) is %v\ntexts %q", text, got, texts)
		}
	}
	if chunks < 4 {
		t.Errorf("at most %d chunks: tells little", chunks)
	}
	for _, text := range texts {
		s.remove(text)
	}
	if len(s.chunks) > 0 {
		t.Errorf("%d chunks are left", len(s.chunks))
	}
}
