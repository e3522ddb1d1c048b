package redact

import (
	"slices"
	"sort"
)

// substrings finds a text within any of a changing set of texts. It keeps all their suffixes,
// sorted: one of them begins with the text, if any does. They are kept in chunks, so that adding one
// moves few others.
type substrings struct{ chunks [][]string }

// fullChunk is how many suffixes a chunk has at most.
const fullChunk = 512

// add adds a text.
func (s *substrings) add(text string) {
	for i := range len(text) {
		s.insert(text[i:])
	}
}

func (s *substrings) insert(suffix string) {
	c, i := find(s, suffix)
	switch {
	case len(s.chunks) == 0:
		s.chunks = [][]string{nil}
	case c == len(s.chunks):
		c, i = c-1, len(s.chunks[c-1])
	}
	chunk := slices.Insert(s.chunks[c], i, suffix)
	if s.chunks[c] = chunk; len(chunk) > fullChunk {
		half := len(chunk) / 2
		s.chunks[c] = slices.Clone(chunk[:half])
		s.chunks = slices.Insert(s.chunks, c+1, slices.Clone(chunk[half:]))
	}
}

// remove takes away a text that was added.
func (s *substrings) remove(text string) {
	for i := range len(text) {
		c, at := find(s, text[i:])
		if s.chunks[c] = slices.Delete(s.chunks[c], at, at+1); len(s.chunks[c]) == 0 {
			s.chunks = slices.Delete(s.chunks, c, c+1)
		}
	}
}

// holds reports whether one of the texts holds text.
func (s *substrings) holds(text []byte) bool {
	c, i := find(s, text)
	if c == len(s.chunks) {
		return false
	}
	first := s.chunks[c][i]
	return len(first) >= len(text) && first[:len(text)] == string(text)
}

// find returns where the first suffix is that is not less than text: its chunk, and its place there.
// If there is none, the chunk is the one behind the last.
func find[T string | []byte](s *substrings, text T) (chunk, at int) {
	chunk = sort.Search(len(s.chunks), func(c int) bool { return s.chunks[c][len(s.chunks[c])-1] >= string(text) })
	if chunk < len(s.chunks) {
		at = sort.Search(len(s.chunks[chunk]), func(i int) bool { return s.chunks[chunk][i] >= string(text) })
	}
	return chunk, at
}
